"""Relevance that becomes the user's own: which posts to label for it, and the map that they give.

The labels choose a shift a and a slope b of the logits, with priors a ~ N(0, 4) and log b ~ N(0, 1)
(Platt 1999, with priors in place of his targets), and whether the logits are those of relevance or
of scores. The first posts to label are spread evenly over the logarithm of their ranks, because the
best posts say nothing about the others; the next ones are those that the labels leave open. No random
order chose them, so no certificate follows from these labels.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from siamese_news.data.label_map import LabelMap, Mapped, logits_of
from siamese_news.data.results import result_meta
from siamese_news.errors import InputError
from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.sealed_files import sibling
from siamese_news_desk.labels.journal import SKIP
from siamese_news_desk.labels.matching import FOR_RELEVANCE, Labels, SampledPosts

# Posts to label in all, half of them before the labels choose the others. A sheet has at least and
# at most so many, and a map needs the least.
LABELS, FEWEST, MOST = 20, 10, 100

Floats = NDArray[np.float64]

# The maps to choose from, and the standard deviations of the priors.
_SHIFTS, _SLOPES = np.linspace(-9, 9, 361)[:, None], np.exp(np.linspace(-2.4, 2.1, 181))
_SHIFT, _SLOPE = 4.0, 1.0
_DRAWS = 200  # maps that fit the labels, for the ranges
_CUTS = (0.5, 0.2, 0.1, 0.05)

# The posts of results, and (N,) what the search says of each: its relevance, if it is known, and its
# score. The first of the two orders the posts.
Estimates = tuple[Population, Mapping[Mapped, Floats]]


def estimates_of(results: Path) -> Estimates:
    """The posts of results, and what the search says of each.

    Raises:
        InputError: for another file, and one whose relevance is by labels already.
    """
    if result_meta(results).get("relevance_map"):
        raise InputError(
            f"{results}: its relevance is by labels already; expected the results of the search"
        )
    population = Population(results)
    relevance = population.relevance(len(population))
    estimate: dict[Mapped, Floats] = (
        {} if relevance is None else {"relevance": relevance}
    )
    return population, {**estimate, "score": population.scores}


def spread(
    values: Floats,
    count: int,
    seed: int,
    *,
    drawn: Collection[int] = (),
    unclear: Floats | None = None,
) -> list[int]:
    """The places of `count` of (N,) values: a random one of each stretch of log ranks.

    Where (N,) `unclear` numbers are given, the stretches are of log ranks times these. The places
    come in random order, so that their order tells the annotator nothing. None of them is `drawn`
    already, so there are fewer where no more are left.
    """
    generator = np.random.default_rng(seed)
    order = np.argsort(-values, kind="stable")
    free = np.flatnonzero(~np.isin(order, list(drawn)))
    weights = np.log1p(1 / (free + 1))
    if unclear is not None:
        weights *= unclear[order[free]]
    ends = np.cumsum(weights)
    count = min(count, len(free))
    points = (np.arange(count) + generator.uniform(size=count)) / count * ends[-1]
    columns = np.arange(len(free))
    chosen: list[int] = []
    for column in np.searchsorted(ends, points):
        # Stretches at the top have no post of their own.
        nearest = np.abs(columns - column).argmin()
        chosen.append(int(order[free[columns[nearest]]]))
        columns = np.delete(columns, nearest)
    return generator.permutation(chosen).tolist()


def own_sample(sheet: Path) -> SampledPosts:
    """The posts that were drawn for a sheet; no plan of a certificate knows them."""
    return SampledPosts(sibling(sheet, "drawn.jsonl"), FOR_RELEVANCE)


@dataclass(frozen=True, slots=True)
class OwnRelevance:
    """The relevance of a list by labels.

    Attributes:
        map: of all labels.
        values: (N,) what it maps.
        drawn: (draws,) shifts and slopes that fit the labels, one as likely as the other.
    """

    map: LabelMap
    values: Floats
    drawn: tuple[Floats, Floats]

    @classmethod
    def of(cls, estimates: Estimates, labels: Labels) -> "OwnRelevance":
        """The map of the labels of results (`estimates_of`); skipped posts teach nothing.

        Of relevance and score it maps the one under which the labels are likelier, over all maps.

        Raises:
            InputError: fewer than ten labels.
        """
        population, values_of = estimates
        ranks = population.ranks_of(
            [name for name, label in labels.of.items() if label.verdict != SKIP]
        )
        if len(ranks) < FEWEST:
            raise InputError(
                f"{population.path}: {counted(len(ranks), 'label')} of its posts; expected {FEWEST} or "
                "more, without skipped ones"
            )
        truth = np.array([labels.of[name].relevant for name in ranks])
        fit_of = {
            mapped: _fit(logits_of(values[list(ranks.values())], mapped), truth)
            for mapped, values in values_of.items()
        }
        mapped = max(fit_of, key=lambda name: float(special.logsumexp(fit_of[name][0])))
        total, wrong = fit_of[mapped]
        row, column = np.unravel_index(total.argmax(), total.shape)
        drawn_cells = np.random.default_rng(0).choice(
            total.size, _DRAWS, p=special.softmax(total).ravel()
        )
        label_map = LabelMap(
            mapped,
            float(_SHIFTS[row, 0]),
            float(_SLOPES[column]),
            len(truth),
            int(truth.sum()),
            wrong,
            tuple((result_meta(population.path).get("titles") or {}).values()),
        )
        drawn = (
            _SHIFTS[drawn_cells // len(_SLOPES), 0],
            _SLOPES[drawn_cells % len(_SLOPES)],
        )
        return cls(label_map, values_of[mapped], drawn)

    def sentences(self) -> list[str]:
        """What the map is worth, and what cuts keep."""
        label_map = self.map
        # As in a search: a score of 0 or less has a relevance of 0, whatever the labels say.
        relevance = label_map.relevance(self.values) * (self.values > 0)
        cuts = [cut for cut in _CUTS if (relevance >= cut).any()]
        nothing = ["At 0.5 nothing is kept."] * (0.5 not in cuts)
        return [
            f"By {label_map.labels} labels, {label_map.relevant} of them relevant. "
            f"Each label left out in turn, {label_map.labels - label_map.wrong} of "
            f"{label_map.labels} were on the right side of .5.",
            *nothing,
            *(
                f"At {cut:g}: {counted(int((relevance >= cut).sum()), 'post')}, about "
                f"{self._count(relevance >= cut)} of them relevant; about "
                f"{self._count(relevance < cut)} missed among the other "
                f"{(relevance < cut).sum():,} of these results."
                for cut in cuts[: 1 + len(nothing)]
            ),
            "It is an estimate; certify gives a guarantee.",
        ]

    def _count(self, posts: NDArray[np.bool_]) -> str:
        """How many of some posts are relevant, with the range of nine of ten maps."""
        logits = logits_of(self.values[posts], self.map.mapped)
        different, counts = np.unique(logits.round(2), return_counts=True)
        shifts, slopes = (values[:, None] for values in self.drawn)
        numbers = 1 / (1 + np.exp(-(shifts + slopes * different))) @ counts
        lower, upper = np.quantile(numbers, [0.05, 0.95])
        return f"{self.map.relevance(self.values[posts]).sum():,.0f} ({lower:,.0f} to {upper:,.0f})"


def next_places(
    estimates: Estimates, drawn: Collection[str], labels: Labels, count: int, seed: int
) -> list[int]:
    """The places of `count` posts to label after those that were `drawn`: `spread` over the list.

    With ten labels, over what they leave open: the variance p (1 - p) of a label.

    Raises:
        InputError: another number of first posts than 10 to 100, more than 100, or no post is left.
    """
    population, values_of = estimates
    values = next(iter(values_of.values()))
    drawn_ranks = population.ranks_of(list(drawn)).values()
    undrawn = len(values) - len(drawn_ranks)
    if not (1 if drawn else FEWEST) <= min(count, undrawn) or count > MOST:
        raise InputError(
            f"{count} posts to label for relevance, of {undrawn:,} that are not drawn yet; expected "
            f"{FEWEST} to {MOST}"
        )
    unclear = None
    if sum(not label.skipped for label in labels.of.values()) >= FEWEST:
        by_labels = OwnRelevance.of(estimates, labels)
        values = by_labels.map.relevance(by_labels.values)
        unclear = values * (1 - values)
    # Another seed than that of the posts that were drawn.
    return spread(values, count, seed + len(drawn), drawn=drawn_ranks, unclear=unclear)


def _fit(logits: Floats, truth: NDArray[np.bool_]) -> tuple[Floats, int]:
    """How well each map fits labels (shifts, slopes), and how many it has wrong, each left out."""
    totals = _SHIFTS + _SLOPES * logits[:, None, None]
    log_likelihoods = -np.logaddexp(0, np.where(truth[:, None, None], -totals, totals))
    priors = (_SHIFTS / _SHIFT) ** 2 + (np.log(_SLOPES) / _SLOPE) ** 2
    total = log_likelihoods.sum(axis=0) - priors / 2
    wrong = sum(
        (logits_by_map.flat[(total - fit).argmax()] >= 0) != relevant
        for fit, logits_by_map, relevant in zip(
            log_likelihoods, totals, truth, strict=True
        )
    )
    return total, int(wrong)
