"""Rerank posts for one keyword query with a saved ranker."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from siamese_news.baselines import BM25
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.metrics import ranked
from siamese_news.model.ranker_ensemble import RankerEnsemble
from siamese_news.model.reranker import TextRanker
from siamese_news.search.ranked_posts import RankedPost
from siamese_news.text.patterns import first_link

FirstStage = Literal["none", "bm25"]


def rerank_posts(
    model: TextRanker | RankerEnsemble,
    query: str,
    posts: Sequence[Post],
    *,
    top: int | None = None,
    first_stage: FirstStage = "none",
    candidates: int = 1000,
) -> list[RankedPost]:
    """Posts in the order of their probability of relevance to a query of raw keywords.

    A post without a known word has a score like any other. Ties go by post id, descending. The
    link of a post is its metadata's ``url``, else the first one in its text. With the first stage
    "bm25", only the best `candidates` posts of BM25 are reranked.
    """
    tokenizer = model.tokenizer()
    words = tokenizer(query)
    words_known = [word for word in words if any(map(str.isalnum, word))]
    if not len(model.vocabulary.ids(words_known)):
        raise InputError(
            f"query {query!r} has no word that the model knows (tokens: {words}); "
            "expected keywords such as 'oscars snub affleck'"
        )
    if not posts:
        raise InputError("no posts to rerank; expected at least one")
    tokens = [tokenizer(post.text) for post in posts]
    chosen = list(range(len(posts)))
    if first_stage == "bm25" and len(posts) > candidates:
        lexical = BM25()
        lexical.fit(tokens, None)
        scores = lexical.scores([words], 0, len(posts))[0]
        chosen = np.argsort(-scores, kind="stable")[:candidates].tolist()
    by_id = {posts[i].id: posts[i] for i in chosen}
    if len(by_id) != len(chosen):
        raise InputError("two posts have the same id; expected distinct ids")
    urls = [
        str(posts[i].metadata.get("url") or first_link(posts[i].text)) for i in chosen
    ]
    values = model.score(words, [tokens[i] for i in chosen], urls=urls)
    scored = dict(zip((posts[i].id for i in chosen), values.tolist(), strict=True))
    order = ranked(scored, depth=top)
    seed = Article("query", query, title=query)
    return [
        RankedPost(seed, rank, score, by_id[post])
        for rank, (post, score) in enumerate(order, 1)
    ]
