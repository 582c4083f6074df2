"""An index of posts: read, tokenized and encoded once, then searched many times.

An index is a folder of segments. Each holds posts in their order: their texts and metadata, token
ids, the lengths of their lexical vectors, and their dense vectors as bytes. The scores come from
the same scorer (`siamese_news.scoring`) as in a scan; the index adds upper bounds on the scores
(`bounds.py`), so that only posts that can be in the results are scored.
"""
