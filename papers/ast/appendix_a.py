"""AST paper, Appendix A: the expected denominator of softmax over S keys."""

import math
from typing import Any

import numpy as np
from scipy.special import gamma, iv

from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Results
from papers.style import new_figure, series

CONSTANT = math.sinh(1.0)
"""E[exp(x)] for x uniform over [-1, 1]: (e - 1/e) / 2 = 1.1752."""

LENGTHS = (5, 25, 100, 1000)
DRAWS = 20_000
HEAD_DIM = 30
SEED = 0


def simulate(kind: str, keys: int, draws: int, seed: int) -> np.ndarray:
    """The sum of exp(score) over S random keys, divided by S: (draws,).

    ``uniform``: scores uniform over [-1, 1]; ``cosine``: cosines of standard normal vectors of the
    size of a head; ``dot``: their dot products over sqrt(d).
    """
    rng = np.random.default_rng([seed, keys])
    sums = np.empty(draws)
    block = max(1, 2_000_000 // (keys * HEAD_DIM))  # rows at a time: bounded memory
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        if kind == "uniform":
            scores = rng.uniform(-1.0, 1.0, (rows, keys))
        else:
            query = rng.standard_normal((rows, 1, HEAD_DIM))
            key = rng.standard_normal((rows, keys, HEAD_DIM))
            scores = (query * key).sum(-1) / math.sqrt(HEAD_DIM)
            if kind == "cosine":
                lengths = np.linalg.norm(query, axis=-1) * np.linalg.norm(key, axis=-1)
                scores *= math.sqrt(HEAD_DIM) / lengths
        sums[start : start + rows] = np.exp(scores).mean(-1)
    return sums


def expected(kind: str) -> float:
    """E[exp(score)] of one key, in closed form.

    The cosine of random directions in d dimensions has E[exp(c)] = Gamma(d/2) 2^(d/2-1)
    I_(d/2-1)(1); the scaled dot product of standard normal vectors has (1 - 1/d)^(-d/2), which
    tends to sqrt(e).
    """
    if kind == "uniform":
        return CONSTANT
    half = HEAD_DIM / 2
    if kind == "dot":
        return (1 - 1 / HEAD_DIM) ** -half
    return float(gamma(half) * 2 ** (half - 1) * iv(half - 1, 1.0))


KINDS = {
    "uniform": "cosine, uniform over [-1, 1] (the paper's assumption)",
    "cosine": f"cosine of random {HEAD_DIM}-d vectors",
    "dot": f"scaled dot product of random {HEAD_DIM}-d vectors",
}


def _lay_out(results: Results) -> Content:
    rows: list[dict[str, Any]] = []
    for kind, label in KINDS.items():
        for keys in LENGTHS:
            # The vectors are d times the work, so there are fewer draws.
            draws = DRAWS if kind == "uniform" else max(100, DRAWS * 5 // keys // 2)
            sums = simulate(kind, keys, draws, SEED)
            rows.append(
                {
                    "scores": label,
                    "S": keys,
                    "simulated / S": float(sums.mean()),
                    "± (standard error)": float(sums.std(ddof=1) / math.sqrt(draws)),
                    "expected / S": expected(kind),
                    "relative spread of a sum": float(sums.std(ddof=1) / sums.mean()),
                    "draws": draws,
                }
            )
    simulated = next(row for row in rows if row["S"] == LENGTHS[-1])["simulated / S"]
    return Content(
        tables=[
            Table(
                "The sum of exp(score) over S keys, divided by S",
                rows,
                note="Relative spread: standard deviation over mean of one sum.",
            )
        ],
        figures=[
            Figure(
                "The sum of exp(score) over S keys, divided by S",
                lambda: _draw(rows),
                "Three level lines: the sum grows in proportion to S, whatever the scores; the "
                "factor is 1.18 for uniform scores, 1.02 for cosines of random vectors and 1.66 "
                "for scaled dot products.",
            )
        ],
        outcome="The sum of the exponentials is linear in the number of keys, as the paper says; "
        f"its constant of {CONSTANT:.4f} holds only for uniform scores.",
        details=(
            f"1.1752·S holds for scores uniform over [-1, 1] (simulated {simulated:.4f}·S, exact "
            f"sinh(1) = {CONSTANT:.4f}·S). Cosines of random vectors are not uniform: "
            f"{expected('cosine'):.4f}·S at {HEAD_DIM} dimensions; scaled dot products give "
            f"{expected('dot'):.4f}·S. The sum is linear in S in every case, which is the point."
        ),
    )


def _draw(rows: list[dict[str, Any]]) -> Any:
    figure, axis = new_figure(height=2.2)
    for place, label in enumerate(KINDS.values()):
        own = [row for row in rows if row["scores"] == label]
        values = [row["simulated / S"] for row in own]
        errors = [1.96 * row["± (standard error)"] for row in own]
        axis.errorbar(
            [row["S"] for row in own], values, errors, label=label, **series(place)
        )
    axis.axhline(CONSTANT, color="0.5", linewidth=0.6)
    axis.set(
        xscale="log", xlabel="S (keys)", ylabel="sum of exp(score) / S", ylim=(0.9, 2.3)
    )
    axis.legend(loc="upper left")
    return figure


EXHIBIT = Exhibit(
    paper="ast",
    kind="figure",
    key="appendix_a",
    title="Appendix A: the expected sum of exponentials",
    published=Published(
        source="Danovitch 2020, Appendix A",
        text="With cosine scores the expected sum of exp(score) over S keys is 1.1752·S, so that "
        "the weight of any one key vanishes as S grows.",
        tables=[Table("Published", [{"scores": "cosine", "sum / S": 1.1752}])],
    ),
    remark="The constant assumes cosines that are uniform over [-1, 1]. Cosines of independent "
    "random vectors concentrate around 0 as the dimension grows, and the released code has scaled "
    "dot products, whose exponential is unbounded: both are simulated as well. For dot products "
    "without the scale the expectation is infinite.",
    lay_out=_lay_out,
)
