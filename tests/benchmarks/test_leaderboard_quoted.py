"""README and the documentation quote the leaderboard as it is, with one source for every figure."""

from benchmarks.leaderboard.csv_tables import RESULTS, SUMMARY, by_system, read_tables
from benchmarks.leaderboard.picture import PICTURE, ROOT, draw, mean_of, points

TABLES = read_tables(RESULTS)

ROWS = {
    "**what `rank` does**: the star reads the best posts again": (
        "**shipped model, the star reads the best posts again** (`rank`, each article alone)"
    ),
    "its first look (`--second-look none`)": "**shipped model**",
    "its words + all-mpnet-base-v2 (`--model`)": "words of the shipped model + mpnet (`--model`)",
    "its words + all-MiniLM-L6-v2 (`--model`)": "words of the shipped model + MiniLM (`--model`)",
    "its words + the distilled star (`--model models/star`)": (
        "words of the shipped model + distilled star (`--model models/star`)"
    ),
    "the distilled star, its vectors alone": "distilled star, its vectors alone",
    "TF-IDF (background IDF, lead) + .3 all-mpnet-base-v2": (
        ".3 mpnet + TF-IDF (background, 600 words + lead)"
    ),
    "TF-IDF (background IDF, lead) + .3 all-MiniLM-L6-v2": (
        ".3 MiniLM + TF-IDF (background, 600 words + lead)"
    ),
    "the same TF-IDF + .1 all-MiniLM-L6-v2": ".1 MiniLM + TF-IDF (background, 600 words + lead)",
    "TF-IDF, background IDF + the article's lead": (
        "TF-IDF, background IDF, + score of the first 100 words"
    ),
    "TF-IDF, IDF of the pool": "TF-IDF, IDF of the pool",
    "TF-IDF of 3 to 5 characters": "TF-IDF of 3 to 5 characters inside words, IDF of the pool",
    "the same with a second look by all-MiniLM-L6-v2": (
        "shipped model, second look by MiniLM (`--second-look`)"
    ),
    "the same with a second look by all-mpnet-base-v2": (
        "shipped model, second look by mpnet (`--second-look`)"
    ),
    "BM25, IDF of the pool": "BM25 (.9, .4), IDF of the pool",
    "all-mpnet-base-v2, first 150 words": "all-mpnet-base-v2, first 150 words",
    "all-MiniLM-L6-v2, first 150 words": "all-MiniLM-L6-v2, first 150 words",
    "Adaptive Star Transformer, ours (`usatoday_best`, 20 epochs; 3 seeds)": "AST, our training",
    "Bi-GRU, the paper's training (3 seeds)": "Bi-GRU, the paper's training",
    "Adaptive Star Transformer, heads projected, the paper's training (3 seeds)": (
        "AST, projected heads, the paper's training"
    ),
    "CNN, the paper's training (3 seeds)": "CNN, the paper's training",
    "GRU, the paper's training (3 seeds)": "GRU, the paper's training",
    "Adaptive Star Transformer, the released code's training (3 seeds)": (
        "AST, the released code's training"
    ),
    "CNN, the released code's training (3 seeds)": "CNN, the released code's training",
    "mean of GloVe vectors": "mean GloVe",
}
"""What a page calls a row -> what the leaderboard calls it."""

COLUMNS = {
    "posts/s": "posts/s",
    "one seed": "crisislex-boston one seed (lowest)",
    "boston": "crisislex-boston AP",
    "micro AP": "signal1m micro AP",
    "signal1m": "signal1m MAP",
    "usatoday-cnn": "usatoday-cnn MAP",
    "events-dev": "events-dev MAP",
    "politifact-dev": "politifact-dev MAP",
    "factcheck-dev": "factcheck-dev MAP",
    "claims-dev": "claims-dev MAP",
    "mean": "mean",
}
"""What stands in the head of a page's column, first match first -> the leaderboard's column."""


def table_of(text, heading):
    """The first Markdown table after a heading: first cell -> column -> cell."""
    lines = text[text.index(heading) :].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}


def test_a_quoted_figure_is_the_leaderboards():
    board, speeds = by_system(TABLES[SUMMARY]), by_system(TABLES["signal1m"])
    quoted = table_of(
        (ROOT / "docs" / "quality-methods.md").read_text(encoding="utf-8"),
        "## Every system",
    )
    assert len(quoted) >= 5
    for title, cells in quoted.items():
        row = board[ROWS[title]] | {"posts/s": speeds[ROWS[title]]["posts/s"]}
        row["mean"] = f"{mean_of(row):.3f}".removeprefix("0")
        for head, cell in list(cells.items())[1:]:
            column = next(COLUMNS[key] for key in COLUMNS if key in head)
            said = cell.replace("**", "")
            truth = row[column].removesuffix(" †")
            truth = truth if "(" in said else truth.partition(" (")[0]
            assert said == truth, (title, head)


PEERS = {
    "TF-IDF + .3 mpnet": ".3 mpnet + TF-IDF (background, 600 words + lead)",
    "TF-IDF + .1 mpnet": ".1 mpnet + TF-IDF (background, 600 words + lead)",
    "TF-IDF of characters": "TF-IDF of 3 to 5 characters inside words, IDF of the pool",
    "scikit-learn": (
        "scikit-learn's `TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)`, "
        "fitted on posts and articles"
    ),
    "MiniLM, corrected": (
        "all-MiniLM-L6-v2 alone with the star's corrections (whitened, less half of a post's "
        "density)"
    ),
}
"""What the first table calls a peer -> what the leaderboard calls it."""
STAR = ROWS["**what `rank` does**: the star reads the best posts again"]
VERDICTS = {1: "ahead", 0: "level", -1: "behind"}


def test_the_first_table_compares_the_shipped_model_with_the_strongest_peer():
    board = by_system(TABLES[SUMMARY])
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    # The peers end where our rows begin; those with several seeds are ours, too.
    rows = list(board)
    peers = rows[: rows.index("AST, projected heads, the paper's training")]
    compared = table_of(page, "# How good")
    assert len(compared) == 11
    for title, cells in compared.items():
        pool = cells["pool"].strip("`*")
        column = f"{pool} {'AP' if pool == 'crisislex-boston' else 'MAP'}"
        if "one article" in title:
            column = "crisislex-boston one seed (lowest)"
        values = {row: board[row][column].split()[0] for row in board}
        shipped = values[STAR] if values[STAR] != "–" else values["**shipped model**"]
        figure, peer = cells["strongest peer, MAP"].removesuffix(")").split(" (")
        assert cells["shipped, MAP"] == shipped, title
        assert values[PEERS[peer]] == figure, title
        assert figure == max(values[row] for row in peers if values[row] != "–"), title
        difference = round(float(shipped) - float(figure), 3)
        verdict = VERDICTS[
            0 if abs(difference) <= 0.001 else 1 if difference > 0 else -1
        ]
        assert cells["the shipped model is"].endswith(verdict), title


def test_the_picture_is_drawn_from_the_leaderboard():
    assert draw(points(TABLES)) == PICTURE.read_bytes()
