"""An index of posts: read, tokenised and encoded once, then asked again and again.

A folder of segments; each holds posts in their order: the posts themselves (Arrow), their token
ids, the lengths of their lexical vectors, and their dense vectors as bytes. Scores come from the
one scorer (`siamese_news.scoring`) that scans posts too: what the index adds is an upper bound on
every post's score (`bounds.py`), so that only posts that can matter are scored.
"""
