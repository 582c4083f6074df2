"""The siamese objective: losses over vectors and over words, triplets mined in the batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead
from siamese_news.lexical_head.term_ids import bigram_ids
from siamese_news.lexical_head.weights import TermWeights
from siamese_news.text import PAD
from siamese_news.training.distributed import gather_rows
from siamese_news.utils.choices import check_choice

Anchors = Literal["articles", "posts", "both"]


class Mined(NamedTuple):
    """How many positives and negatives of anchors the miner selected in a batch.

    A miner of triplets selects as many of each.
    """

    positives: int
    negatives: int


# Losses that take a second side (ref_emb) and do not read it.
_ONE_SIDE = {"ThresholdConsistentMarginLoss"}


class SiameseObjective(nn.Module):
    """Joins both sides of a batch, mines it, and returns the loss.

    A post's label is the label of its article, so an anchor's positives are the posts (or the
    article) of the same label and its negatives all others. The losses of
    pytorch-metric-learning fit, not all of them with each choice of anchors: the page Train on
    your data lists them. Eq. 7 of the AST paper is
    ``TripletMarginLoss(distance=LpDistance(p=2, power=2, normalize_embeddings=False))``.

    Under DDP the loss is that of the global batch, the same on every rank, or with
    ``gather_across_devices=False`` that of each rank's own rows.

    Args:
        loss: of pytorch-metric-learning.
        miner: of pytorch-metric-learning, or None for all pairs or triplets.
        anchors: the side that has the anchors: ``"articles"`` against posts (the paper),
            ``"posts"`` against articles, or ``"both"``: every embedding against every
            other (the released code).
        gather_across_devices: mine the global batch of all devices; if False every device mines
            its own rows, as the released code did on several devices.
        cache: keep the vectors of a batch alone until the backward pass, and encode each part of it
            again there. The gradient is the same; the memory is that of one part, the time about a
            quarter more (gradient caching; Gao et al. 2021, arXiv 2101.06983).
        matryoshka: sizes up to D; the loss is the mean of those of the whole vectors and of their
            beginnings of these sizes, so that `Model.truncate` loses little (Kusupati et al. 2022,
            arXiv 2205.13147).

    Attributes:
        mined: counts of the miner's selection in the last batch; None without a miner.
    """

    def __init__(
        self,
        *,
        loss: nn.Module,
        miner: nn.Module | None = None,
        anchors: Anchors = "articles",
        gather_across_devices: bool = True,
        cache: bool = False,
        matryoshka: Sequence[int] = (),
    ) -> None:
        super().__init__()
        check_choice("anchors", anchors, Anchors)
        self.loss = loss
        self.miner = miner
        self.anchors = anchors
        self.gather_across_devices = gather_across_devices
        self.cache = cache
        self.matryoshka = matryoshka
        if any(type(size) is not int or size < 1 for size in matryoshka):
            raise InputError(
                f"objective.matryoshka={list(matryoshka)}: expected sizes from 1 on, such as [64, 128]"
            )
        if matryoshka and any(weight.dim() > 1 for weight in loss.parameters()):
            raise InputError(
                f"objective.loss={type(loss).__name__}: has weights for whole vectors alone; expected "
                "another loss with objective.matryoshka"
            )
        self.mined: Mined | None = None
        if type(loss).__name__ in _ONE_SIDE and anchors != "both":
            raise InputError(
                f"objective.loss={type(loss).__name__}: compares the vectors of one side alone "
                f"with objective.anchors={anchors}; take objective.anchors=both"
            )

    def forward(
        self,
        articles: Tensor,
        posts: Tensor,
        article_labels: Tensor,
        post_labels: Tensor,
    ) -> Tensor:
        """The loss of the global batch, or of this rank's rows; its gradient is for DDP to average.

        This rank has articles (A, D) and posts (P, D). The labels (of a post: its article's) are
        global over ranks, or unrelated pairs would match.

        Raises:
            InputError: all labels are equal, so that no post has a negative, or the loss or the
                miner cannot compare two sides.
        """
        if self.gather_across_devices:
            articles = gather_rows(articles)
            posts = gather_rows(posts)
            article_labels = gather_rows(article_labels)
            post_labels = gather_rows(post_labels)
        if bool((article_labels == article_labels[:1]).all()):
            raise InputError(
                f"a batch has {len(posts)} posts of one article, so none has a negative; expected "
                "posts of two articles or more: see data.batching"
            )
        whole_size = articles.shape[1]
        if max(self.matryoshka, default=0) > whole_size:
            raise InputError(
                f"objective.matryoshka={list(self.matryoshka)}: the vectors have {whole_size} numbers; "
                "expected smaller sizes"
            )
        sizes = [size for size in self.matryoshka if size < whole_size]
        losses = [
            self._loss_of(
                articles[:, :size], posts[:, :size], article_labels, post_labels
            )
            for size in (*sizes, whole_size)
        ]
        return torch.stack(losses).mean() if sizes else losses[0]

    def _loss_of(
        self,
        articles: Tensor,
        posts: Tensor,
        article_labels: Tensor,
        post_labels: Tensor,
    ) -> Tensor:
        if self.anchors == "both":
            sides = [
                torch.cat([articles, posts]),
                torch.cat([article_labels, post_labels]),
            ]
        else:
            # A copy: the library takes the same label object on both sides for self-comparison and
            # drops the diagonal, which here is every true pair.
            sides = [articles, article_labels, posts, post_labels.clone()]
        if self.anchors == "posts":
            sides = sides[2:] + sides[:2]
        with self._explained("miner"):
            mined = self.miner(*sides) if self.miner else None
        # Pairs (a, p, a, n) or triplets (a, p, n).
        self.mined = None if mined is None else Mined(len(mined[1]), len(mined[-1]))
        with self._explained("loss"):
            loss: Tensor = self.loss(*sides[:2], mined, *sides[2:])
        return loss

    @contextmanager
    def _explained(self, component: Literal["loss", "miner"]) -> Iterator[None]:
        """Name the option if a loss or a miner cannot take what it gets."""
        try:
            yield
        except (
            ValueError,
            NotImplementedError,
            AssertionError,
            TypeError,
            IndexError,
        ) as error:
            name = type(getattr(self, component)).__name__
            remedy = (
                f"objective.anchors={self.anchors} compares articles with posts (ref_emb), which "
                "it may not support: take objective.anchors=both"
                if self.anchors != "both"
                else "with objective.anchors=both"
            )
            raise InputError(
                f"objective.{component}={name}: {' '.join(str(error).split())} ({remedy}; "
                "the page Train on your data lists the losses)"
            ) from error


Ids = np.ndarray


class TermVectors:
    """Turns token ids and factors into the vectors that the lexical head compares.

    A vector has one place for each distinct word of the batch, and one for each distinct pair. Its
    weights are those of `lexical_head`, times the factors; the words and the pairs each have their
    share of the squared length 1, so that the cosine of two vectors is the score without the
    part of the posts' length normalization that is not the post's own (``pivot`` = 1). The weights
    are by the background IDF.
    """

    def __init__(self, terms: TermHead) -> None:
        self._weights: TermWeights = terms.background()

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # distinct words are found in numpy
    def __call__(
        self,
        articles: Tensor,
        posts: Tensor,
        article_factors: Tensor,
        post_factors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Vectors (A, C) and (P, C) of a batch; ranks of a process group have the same places.

        The token ids (A, S) and (P, S') are padded with -1 on the right; factors are shaped alike.
        """
        share = self._weights.options.bigram_weight
        texts = [
            [row[row != PAD] for row in ids.cpu().numpy()] for ids in (articles, posts)
        ]
        flat = [article_factors[articles != PAD], post_factors[posts != PAD]]
        words = self._group(texts, flat, 1 - share)
        if not share:
            return words
        pairs = [[bigram_ids(text) for text in side] for side in texts]
        products = [
            (factors[:, :-1] * factors[:, 1:])[ids[:, 1:] != PAD]
            for ids, factors in ((articles, article_factors), (posts, post_factors))
        ]
        word_and_pair_vectors = zip(
            words, self._group(pairs, products, share), strict=True
        )
        joined = [torch.cat(sides, 1) for sides in word_and_pair_vectors]
        return joined[0], joined[1]

    def _group(
        self, texts: Sequence[Sequence[Ids]], factors: Sequence[Tensor], share: float
    ) -> tuple[Tensor, Tensor]:
        """Articles and posts by their words alone, or by their pairs alone."""
        # The sorted distinct ids over all ranks.
        local = torch.from_numpy(np.unique(np.concatenate([*texts[0], *texts[1]])))
        columns: Ids = gather_rows(local.to(factors[0].device)).unique().cpu().numpy()
        articles, posts = (
            nn.functional.normalize(self._dense(rows, flat, columns, lead), dim=1)
            * share**0.5
            for rows, flat, lead in zip(texts, factors, (True, False), strict=True)
        )
        return articles, posts

    def _dense(
        self, texts: Sequence[Ids], factors: Tensor, columns: Ids, lead: bool
    ) -> Tensor:
        """(B, C) from B texts and the factors of all their features, end to end."""
        factors = factors.to(torch.promote_types(factors.dtype, torch.float32))
        lengths = [len(text) for text in texts]
        rows = np.repeat(np.arange(len(texts)), lengths)
        column_indices = np.searchsorted(
            columns, np.concatenate([*texts, np.zeros(0, np.int64)])
        )
        keys, first_occurrence, inverse, counts = np.unique(
            rows * max(len(columns), 1) + column_indices,
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        weights = self._weights.of(columns)[keys % max(len(columns), 1)] / counts
        if lead:
            position = (
                first_occurrence
                - (np.cumsum(lengths) - lengths)[rows[first_occurrence]]
            )
            weights *= (1 + np.log(counts)) / (
                1 + position / self._weights.options.lead_half_life
            )

        def tensor(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values).to(factors.device)

        sums = factors.new_zeros(len(keys)).index_add(0, tensor(inverse), factors)
        vectors = factors.new_zeros(len(texts) * len(columns))
        vectors = vectors.index_put(
            (tensor(keys),), sums * tensor(weights).to(factors.dtype)
        )
        return vectors.view(len(texts), len(columns))
