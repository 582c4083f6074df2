"""The negatives task: hard negatives of a set of pairs as a table, for other libraries."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from siamese_news.errors import InputError
from siamese_news.training import job
from siamese_news.training.build import instantiate
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.hard_negatives import hard_negatives
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.files import atomic_write

log = logging.getLogger(__name__)


class NegativesOptions(TypedDict):
    """``conf/task/negatives.yaml`` has no key: ``data.hard_negatives`` says what is found."""


@job.task(NegativesOptions, "data")
def run(config: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Write ``negatives.csv``: an article, a post of it and a hard negative a row.

    Such triplets are what other libraries train on. Every post and every negative is in a row.
    """
    data: SiameseDataModule = instantiate(config["data"], "data", seed=config["seed"])
    train, options = data.train_set, config["data"]["hard_negatives"]
    if not options["per_article"]:
        raise InputError(
            "data.hard_negatives.per_article is 0; expected how many to find for each article"
        )
    negatives = hard_negatives(
        train.articles, train.posts, train.posts_of, options, seed=config["seed"]
    )
    rows = []
    for article, positives, mined in zip(
        train.articles, train.posts_of, negatives, strict=True
    ):
        for row in range(max(len(positives), len(mined))):
            post = train.posts[positives[row % len(positives)]]
            negative = train.posts[mined[row % len(mined)][1]]
            texts = (post.id, post.text, negative.id, negative.text)
            rows.append((article.id, article.full_text, *texts))
    header = "article_id article post_id post negative_id negative".split()
    with atomic_write(out / "negatives.csv") as stream:
        write_csv(stream, header, rows)
    log.info("negatives: %s", out / "negatives.csv")
    name = data.data["name"]
    return {"data": name, "articles": len(train.articles), "rows": len(rows)}
