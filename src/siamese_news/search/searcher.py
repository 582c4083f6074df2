"""The search from Python: lists, data frames or any iterator of posts in, plain records out."""

import math
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from siamese_news.errors import InputError
from siamese_news.model.loading import AnyModel, explainable, open_model
from siamese_news.scoring import Fusion, open_scorer
from siamese_news.search.explain.explainer import explain_nearest
from siamese_news.search.explain.output import record_of
from siamese_news.search.export import ExportOptions, ranking_rows
from siamese_news.search.filter import filter_posts, filtered_rows
from siamese_news.search.inputs import Articles, Posts, articles_of, posts_of
from siamese_news.search.languages import SearchLanguages
from siamese_news.search.partial_results import PartialResults
from siamese_news.search.rank import search
from siamese_news.search.scan import ReplayablePosts
from siamese_news.search.seeds import Aggregate, Seeds

Records = list[dict[str, Any]]


class Searcher:
    """Finds the posts about articles.

    Articles and posts are lists of texts, lists of dicts, pandas or polars frames, or iterables of
    `Article` and `Post`, such as `siamese_news.data.readers.open_posts` gives. Of a dict or a row
    the fields are found by their names as in a CSV file; where there is no id, it is the place,
    from 0. A missing text is an empty post.

    Args:
        model: a `Model`, a `ExternalModel`, or the path of a folder of ours, of
            sentence-transformers or of model2vec; None is the model that ships with the package.

    Raises:
        InputError: no such folder, or a library that is not installed.

    Example:
        >>> from siamese_news import Searcher
        >>> article = "A river floods a town. Cellars are full of water."
        >>> posts = ["new phone today", "the river is in my cellar"]
        >>> [row["text"] for row in Searcher().rank([article], posts, top=1)]
        ['the river is in my cellar']
    """

    def __init__(self, model: AnyModel | str | PathLike[str] | None = None) -> None:
        if model is None or isinstance(model, str | PathLike):
            model = open_model(model)
        self.model: AnyModel = model

    def rank(
        self,
        articles: Articles,
        posts: Posts,
        *,
        top: int = 100,
        negatives: Articles = (),
        over_seeds: bool = False,
        aggregate: Aggregate = "max",
        fusion: Fusion | None = None,
        expand: bool | None = None,
        dedupe: bool = False,
        map: bool = False,
    ) -> Records:
        """The `top` posts of each article, best first.

        Args:
            articles: the seeds.
            posts: any number of posts; an iterator is read once and kept on disk meanwhile.
            top: how many posts of each article.
            negatives: articles of stories that are not meant: they push away.
            over_seeds: one list over all seeds, not one for each.
            aggregate: how the scores over several seeds become one.
            fusion: how words and vectors come together; None: as the model says (`open_scorer`).
            expand: whether the best posts speak for the articles as well; None: as the model says.
            dedupe: of near-duplicates only the best.
            map: add a place on a map, ``x`` and ``y``, where posts alike lie together.

        Returns:
            A record a row with the columns of ``siamese-news rank``, made for
            ``pandas.DataFrame(...)``.

        Raises:
            InputError: no article, no post, an id twice, what is no text, or a fusion that needs
                words of a model that has vectors alone.
        """
        seeds = _seeds(articles, negatives, over_seeds, aggregate)
        languages = SearchLanguages(seeds.articles)
        model = languages.read_as(self.model)
        scorer = open_scorer(
            model, seeds.texts, positives=len(seeds.articles), fusion=fusion, expand=expand
        )
        ranking = search(scorer, seeds, ReplayablePosts(posts_of(posts)), top=top)
        share = ExportOptions(map=map)
        rows = ranking_rows(
            ranking,
            share,
            dedupe=dedupe,
            matched=scorer.matched_terms,
            encode=model.encode_posts,
            language=languages.of_post,
            one_name=False,
            bare=False,
        )
        return [{name: row.get(name) for name in share.columns} for row in rows]

    def filter(
        self,
        articles: Articles,
        posts: Posts,
        *,
        threshold: float,
        negatives: Articles = (),
        aggregate: Aggregate = "max",
        fusion: Fusion | None = None,
        expand: bool | None = None,
        dedupe: bool = False,
        map: bool = False,
    ) -> Records:
        """Every post whose score over the seeds reaches a threshold, best first.

        Args:
            articles: the seeds.
            posts: see `rank`.
            threshold: the least score.
            negatives: see `rank`.
            aggregate: see `rank`.
            fusion: see `rank`.
            expand: see `rank`.
            dedupe: see `rank`.
            map: see `rank`.

        Returns:
            See `rank`; empty where no post reaches the threshold.

        Raises:
            InputError: see `rank`; a threshold that is no finite number.
        """
        if not math.isfinite(threshold):
            raise InputError(f"threshold is {threshold}; expected a finite number")
        seeds = _seeds(articles, negatives, True, aggregate)
        languages = SearchLanguages(seeds.articles)
        model = languages.read_as(self.model)
        source, share = ReplayablePosts(posts_of(posts)), ExportOptions(map=map)
        with TemporaryDirectory() as folder:
            part = PartialResults(Path(folder) / "found", {}, resume=False)
            try:
                scorer = open_scorer(
                    model,
                    seeds.texts,
                    positives=len(seeds.articles),
                    fusion=fusion,
                    expand=expand,
                )
                found = filter_posts(scorer, seeds, source, part, threshold=threshold, share=share)
                if not found.scored:
                    raise InputError("there is no post to filter: expected at least one")
                rows = filtered_rows(
                    part.path,
                    dedupe=dedupe,
                    encode=model.encode_posts if map else None,
                    language=languages.of_post,
                )
                return [{name: row.get(name) for name in share.columns} for row in rows]
            finally:
                part.close()

    def explain(self, articles: Articles, posts: Posts) -> Records:
        """Why posts have their scores, each for the article that it is nearest to.

        The scores are those of these posts alone, without a pool around them.

        Args:
            articles: the seeds.
            posts: a few posts.

        Returns:
            A record a post with its sentences, its words and the test, as ``siamese-news explain
            --format jsonl`` writes it.

        Raises:
            InputError: see `rank`; the model is another library's, which cannot be explained.
        """
        seeds = _seeds(articles, (), True, "max")
        model = SearchLanguages(seeds.articles).read_as(explainable(self.model))
        scorer = open_scorer(model, seeds.texts, positives=len(seeds.articles))
        few = list(ReplayablePosts(posts_of(posts)))
        return [record_of(one) for one in explain_nearest(model, seeds.articles, few, scorer)]


def _seeds(articles: Articles, negatives: Articles, over: bool, aggregate: Aggregate) -> Seeds:
    return Seeds(articles_of(articles), articles_of(negatives), over, aggregate)
