"""Several rerankers as one: the mean of their probabilities of relevance."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.model.reranker import TextRanker
from siamese_news.text.tokens import Tokenizer
from siamese_news.text.vocabulary import Vocabulary


def log_of_mean(log_probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logarithm of the mean probability over the rows: (rankers, n) -> (n,).

    Example:
        >>> import numpy as np
        >>> halves = np.log(np.array([[0.5, 0.1], [0.3, 0.1]], np.float32))
        >>> np.exp(log_of_mean(halves)).round(4).tolist()
        [0.4000000059604645, 0.10000000149011612]
    """
    wide = log_probabilities.astype(np.float64)
    total = np.logaddexp.reduce(wide, axis=0)
    mean: NDArray[np.float32] = (total - np.log(len(wide))).astype(np.float32)
    return mean


class RankerEnsemble:
    """Rankers that were trained alike, from different seeds, scored by their mean probability.

    Raises:
        InputError: they do not read texts in the same way.
    """

    def __init__(self, rankers: Sequence[TextRanker]) -> None:
        reference = rankers[0]
        for ranker in rankers:
            if (
                ranker.tokenizer_config != reference.tokenizer_config
                or ranker.vocabulary != reference.vocabulary
            ):
                raise InputError(
                    "the rankers of an ensemble differ in their vocabulary or tokenizer; expected "
                    "seeds of one training"
                )
        self.rankers = tuple(rankers)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that all rankers share."""
        return self.rankers[0].vocabulary

    def tokenizer(self) -> Tokenizer:
        """The tokenizer for raw text."""
        return self.rankers[0].tokenizer()

    def score(
        self,
        query: Sequence[str],
        posts: Sequence[Sequence[str]],
        *,
        urls: Sequence[str] | None = None,
    ) -> NDArray[np.float32]:
        """Log of the mean p(relevant) (n,) of tokenized posts; see `TextRanker.score`."""
        scores = [ranker.score(query, posts, urls=urls) for ranker in self.rankers]
        return log_of_mean(np.stack(scores))


def open_ranker(path: str | Path) -> TextRanker | RankerEnsemble:
    """Read a ranker's model folder, or a folder with one folder for each ranker of an ensemble.

    The latter are model folders, or folders of trainings, whose ``model`` is read.

    Raises:
        InputError: no ranker is there, or the rankers do not belong together.
    """
    folder = Path(path)
    if folder.is_dir() and not (folder / "config.json").exists():
        settings = (*folder.glob("*/config.json"), *folder.glob("*/model/config.json"))
        models = sorted(path.parent for path in settings)
        if models:
            return RankerEnsemble([TextRanker.load(model) for model in models])
    return TextRanker.load(folder)
