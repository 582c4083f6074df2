"""Draw docs/quality.svg from the tables of the leaderboard: mean quality against speed.

``python -m benchmarks.leaderboard.picture``
"""

import statistics
from collections.abc import Mapping
from pathlib import Path

from benchmarks.leaderboard.csv_tables import (
    RESULTS,
    SUMMARY,
    Tables,
    by_system,
    read_tables,
)

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "quality.svg"
OURS, PEER, PAPER = "#b3321c", "#4a5560", "#76828c"
PLACES = {
    "above": ((0, 9), "center"),
    "below": ((0, -16), "center"),
    "left": ((-9, -4), "right"),
    "right": ((9, -4), "left"),
}
MINILM = "all-MiniLM-L6-v2, first 150 words"
CORRECTED = (
    "all-MiniLM-L6-v2 alone with the star's corrections (whitened, less half of a post's "
    "density)"
)
ROWS: dict[str, tuple[str, str, str]] = {
    "**shipped model, the star reads the best posts again** (`rank`, each article alone)": (
        "what ships",
        OURS,
        "above",
    ),
    "**shipped model**": ("its first look", OURS, "right"),
    "words of the shipped model + mpnet (`--model`)": (
        "its words + mpnet",
        OURS,
        "left",
    ),
    "words of the shipped model + distilled star (`--model models/star`)": (
        "its words + star",
        OURS,
        "below",
    ),
    "distilled star, its vectors alone": (
        "star, distilled from MiniLM",
        OURS,
        "right",
    ),
    ".3 mpnet + TF-IDF (background, 600 words + lead)": (
        "TF-IDF + .3 mpnet",
        PEER,
        "left",
    ),
    ".3 MiniLM + TF-IDF (background, 600 words + lead)": (
        "TF-IDF + .3 MiniLM",
        PEER,
        "right",
    ),
    "TF-IDF, background IDF, + score of the first 100 words": (
        "TF-IDF + lead",
        PEER,
        "above",
    ),
    "TF-IDF, IDF of the pool": ("TF-IDF", PEER, "above"),
    "BM25 (.9, .4), IDF of the pool": ("BM25", PEER, "below"),
    "all-mpnet-base-v2, first 150 words": ("mpnet", PEER, "left"),
    MINILM: ("MiniLM", PEER, "right"),
    CORRECTED: ("MiniLM, corrected", PEER, "left"),
    "AST, our training": ("AST, our training", PAPER, "above"),
    "AST, projected heads, the paper's training": (
        "AST, the paper's training",
        PAPER,
        "below",
    ),
    "Bi-GRU, the paper's training": ("Bi-GRU", PAPER, "above"),
    "mean GloVe": ("mean of GloVe", PAPER, "above"),
}
"""The leaderboard's row -> its label, color, and where the label goes."""
COLUMNS = (
    "usatoday-cnn MAP",
    "signal1m MAP",
    "crisislex-boston AP",
    "crisislex-boston one seed (lowest)",
    "events-dev MAP",
    "politifact-dev MAP",
)


def mean_of(row: Mapping[str, str]) -> float:
    """The mean over the columns for which every row that is drawn has a figure."""
    return statistics.mean(float(row[column].split()[0]) for column in COLUMNS)


def points(tables: Tables) -> dict[str, tuple[float, float]]:
    """Posts per second and mean quality of the rows that are drawn.

    The corrected MiniLM was timed on another machine. It has the speed of the plain one here, as both
    read the same posts with the same model.
    """
    board, speeds = by_system(tables[SUMMARY]), by_system(tables["signal1m"])
    return {
        row: (
            float(
                speeds[MINILM if row == CORRECTED else row]["posts/s"].replace(",", "")
            ),
            mean_of(board[row]),
        )
        for row in ROWS
    }


def draw(found: Mapping[str, tuple[float, float]]) -> bytes:
    """The picture as SVG; the same bytes from the same figures."""
    import io

    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    style = {
        "svg.hashsalt": "quality",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
    }
    with matplotlib.rc_context(style):
        figure, axes = plt.subplots(figsize=(8.6, 4.6))
        for row, (label, color, place) in ROWS.items():
            (speed, quality) = found[row]
            (offset, align) = PLACES[place]
            axes.plot(
                speed, quality, "o", color=color, markersize=9 if color == OURS else 7
            )
            axes.annotate(
                f"{label} {quality:.3f}".replace(" 0.", " ."),
                (speed, quality),
                offset,
                textcoords="offset points",
                ha=align,
                color=color,
                weight="bold" if label == "what ships" else "normal",
            )
        axes.set_xscale("log")
        axes.set_xlim(1.5, 200_000)
        axes.set_ylim(0.08, 0.88)
        axes.set_xlabel("posts per second on one core (92 articles at once)")
        axes.set_ylabel("mean average precision over six columns")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e3e6e8", linewidth=0.7)
        axes.set_axisbelow(True)
        figure.tight_layout()
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        plt.close(figure)
    return buffer.getvalue()


if __name__ == "__main__":
    PICTURE.write_bytes(draw(points(read_tables(RESULTS))))
    print(PICTURE)
