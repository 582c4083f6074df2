"""Every published figure, table number and caption, against the texts of the two papers."""

import os
import re
from pathlib import Path

import pytest
from papers import Setting, choose
from papers.ast import case_study, figure3
from papers.ast import encoders as ast
from papers.jobs import Store
from papers.layout import render
from papers.samcnn import authors
from papers.samcnn import published as samcnn

# How the captions of the papers begin.
CAPTIONS = {
    (
        "ast",
        "figure",
        "1",
    ): "self-attention applied to sequences of 5 and 25 random embeddings",
    (
        "ast",
        "figure",
        "2",
    ): "t-sne projection of tweets about the most shared news articles",
    ("ast", "figure", "3"): "learned α for each attention head",
    (
        "ast",
        "figure",
        "4",
    ): "of all tweets retrieved by our model, 36 were relevant while only 10",
    ("ast", "table", "1"): "r-precision for each model at various thresholds",
    ("ast", "table", "2"): "comparison of mean average precision, area under the",
    ("ast", "table", "3"): "the most and least similar tweets to a news article",
    (
        "samcnn",
        "figure",
        "3",
    ): "per-query ap differences between patt and ql on trec 2013",
    (
        "samcnn",
        "figure",
        "4",
    ): "t-sne visualizations of hidden states for the best-performing",
    ("samcnn", "table", "1"): "statistics of trec mb 2011–2014 datasets",
    ("samcnn", "table", "2"): "hyperparameters for our models",
    (
        "samcnn",
        "table",
        "3",
    ): "results of various models on the trec microblog tracks datasets",
    ("samcnn", "table", "4"): "matching patterns for the worst-performing query 127",
}
# What the exhibit under the same number is called.
TITLES = {
    ("ast", "figure", "1"): "softmax and sparsemax",
    ("ast", "figure", "2"): "most shared",
    ("ast", "figure", "3"): "alpha",
    ("ast", "figure", "4"): "case study",
    ("ast", "table", "1"): "r-precision",
    ("ast", "table", "2"): "map, auc and mrp",
    ("ast", "table", "3"): "most and the least similar",
    ("samcnn", "figure", "3"): "by topic",
    ("samcnn", "figure", "4"): "hidden layer",
    ("samcnn", "table", "1"): "collection",
    ("samcnn", "table", "2"): "settings",
    ("samcnn", "table", "3"): "effectiveness",
    ("samcnn", "table", "4"): "worst topic",
}


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder():
    """The folder of the papers' texts."""
    data = os.environ.get("SIAMESE_NEWS_DATA")
    named = os.environ.get("SIAMESE_NEWS_SEEDS")
    return Path(named or (Path(data).parent / "seeds" if data else "seeds"))


@pytest.fixture(scope="module")
def texts(folder):
    """Paper -> its text."""
    found = {}
    for name, start in (("ast", "000_"), ("reprint", "001_"), ("samcnn", "002_")):
        paths = sorted(folder.glob(f"{start}*.txt"))
        if not paths:
            pytest.skip(
                f"no text of the papers in {folder}; SIAMESE_NEWS_SEEDS names the folder"
            )
        found[name] = paths[0].read_text(encoding="utf-8")
    return found


def plain(text):
    """Without mathematics and with single spaces, in lower case."""
    text = text.replace(r"$\alpha$", "α").replace("$r$ -", "r-")
    return re.sub(r"\s+", " ", text.replace(r"\alpha", "α").replace("$", "")).lower()


def above(text, caption):
    """The rows of the table above a caption, each as its cells."""
    lines = text[: text.index(f"\n{caption}")].rstrip().splitlines()
    rows = []
    while lines and ("\t" in lines[-1] or not lines[-1].strip()):
        line = lines.pop()
        if line.strip():
            rows.append(
                [re.sub(r"<.*?>", "", cell).strip() for cell in line.split("\t")]
            )
    return rows[::-1]


@pytest.mark.parametrize("number", CAPTIONS)
def test_an_exhibit_has_the_number_of_its_caption(texts, number):
    paper, kind, key = number
    name = "Figure" if kind == "figure" else "Table"
    assert f"{name.lower()} {key}: {CAPTIONS[number]}" in plain(texts[paper])
    (exhibit,) = choose(paper, **{kind: key})
    short = "Fig." if paper == "samcnn" and kind == "figure" else name
    assert exhibit.title.startswith(f"{short} {key}: ")
    assert TITLES[number] in exhibit.title.lower()
    assert re.search(rf"(Table|Fig\.) {key}\b", exhibit.published.source)


def test_every_numbered_exhibit_is_held_to_its_caption():
    there = {
        (e.paper, e.kind, e.key) for paper in ("ast", "samcnn") for e in choose(paper)
    }
    assert {number for number in there if number[2].isdigit()} == set(CAPTIONS)


def test_r_precision_and_metrics_of_ast(texts):
    header, *rows = above(texts["ast"], "Table 1:")
    for place, row in enumerate(rows):
        assert int(row[0]) == ast.ALL_ROWS[place]
        printed = dict(
            zip(header[1:] if len(header) > 4 else header, row[1:], strict=True)
        )
        for name, value in printed.items():
            assert ast.AST_R_PRECISION[name][place] == pytest.approx(float(value) / 100)
    assert len(rows) == len(ast.ALL_ROWS) - 1  # the last one is in the released code
    rows = above(texts["ast"], "Table 2:")[1:]
    printed = {row[0]: [float(value) / 100 for value in row[1:]] for row in rows}
    assert printed == {n: pytest.approx(list(v)) for n, v in ast.AST_METRICS.items()}


def test_the_reprint_of_ast_has_the_same_figures_under_the_same_numbers(texts):
    text = texts["reprint"]
    first = text[text.index("Table 1.r-Precision") : text.index("Evaluation #1")]
    numbers = [float(word) for word in first.split() if re.fullmatch(r"[\d.]+", word)]
    names = ("CNN", "GRU", "Bi-GRU", "AST")
    expected = []
    for place, r in enumerate(ast.ALL_ROWS[:-1]):
        expected += [r, *(100 * ast.AST_R_PRECISION[name][place] for name in names)]
    assert numbers[-len(expected) :] == pytest.approx(expected)
    second = text[text.index("Table 2. Comparison of mAP") :].split()
    printed = second[second.index("GRU") :][:16]
    expected = [
        x
        for n, v in ast.AST_METRICS.items()
        for x in (n, *(f"{100 * f:.2f}" for f in v))
    ]
    assert printed == expected


def test_the_reprint_numbers_the_case_study_otherwise_and_leaves_out_its_last_row(
    texts,
):
    text = texts["reprint"]
    table = text[
        text.index("Table 4. The most and least similar") : text.index("6. CONCLUSION")
    ]
    scores = re.findall(r"\b0\.\d{4}\b", table)
    printed = (*case_study.AST_MOST_SIMILAR, *case_study.AST_LEAST_SIMILAR[:-1])
    assert sorted(map(float, scores)) == sorted(printed)


def test_the_sentences_on_learned_sparsity(texts):
    text = plain(texts["ast"])
    text = text[text.index("learned sparsity.**") :].split("**", 2)[1]
    for _, heads, says in figure3.SENTENCES:
        assert f"heads {heads[0]} and {heads[1]}" in text
        for word in says.split()[-1:]:
            assert word.removeprefix("1.5-") in text
    assert "the star attention heads were more tightly bound" in text.replace(
        "α values for ", ""
    )


def test_the_case_study_of_ast(texts):
    scores = [
        float(row[-1]) for row in above(texts["ast"], "Table 3:") if row[-1][:2] == "0."
    ]
    assert scores == [*case_study.AST_MOST_SIMILAR, *case_study.AST_LEAST_SIMILAR]
    text = plain(texts["ast"])
    assert (
        f"{case_study.AST_RELEVANT} were relevant while only {case_study.AST_IRRELEVANT}"
        in text
    )
    assert rf"\geq {case_study.AST_THRESHOLD}" in text


def test_the_sizes_of_the_collection_of_ast(texts):
    text = plain(texts["ast"])
    assert (
        f"{ast.AST_POSTS:,} tweets which link to {ast.AST_ARTICLES:,} unique articles"
        in text
    )
    assert f"approximately {ast.AST_HELD_OUT} samples" in text


def test_several_widths_are_said_of_bicnn(texts):
    text = plain(texts["samcnn"])
    sentence = text[text.index("model 1 illustrates") :].split(".")[0]
    assert (
        "bicnn model with a kernel window size of two; combining different window"
        in sentence
    )


def test_the_authors_log_against_the_notes_on_it(folder):
    """The table of section 0.1 of the notes on the papers, where they are."""
    notes = folder.parent / "facts" / "papers.md"
    if not notes.is_file():
        pytest.skip(f"no {notes}, with what the authors' repository logs")
    rows = {}
    for line in notes.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if cells[0] in ("PAtt", "QAtt", "BiCNN", "PAtt+QL") and len(cells) > 4:
            rows.setdefault(cells[0].replace("+", " +"), cells[1:])
        if cells[0] in ("PAtt", "QAtt") and len(cells) == 4:
            both = [cell.replace("*", "").split(";") for cell in cells[1:]]
            rows.setdefault(f"{cells[0]}, sum", [both[2][0], *both[1]])

    def numbers(cell):
        return [float(number) for number in re.findall(r"(?<!\d)\.\d{4}", cell)]

    assert len(rows) == 6
    for name, cells in rows.items():
        of_system = samcnn.SYSTEMS[name.removesuffix(authors.SUM)]
        printed = [of_system[year, "AP"].value for year in samcnn.YEARS]
        assert numbers(cells[0]) == printed
        for cell, logged in ((cells[1], samcnn.SINGLES), (cells[2], samcnn.ENSEMBLES)):
            ap = [logged.get(name, {}).get((year, "AP")) for year in samcnn.YEARS]
            expected = [value for value in ap if value is not None]
            assert numbers(cell) == expected, (name, cell)


def test_the_page_on_the_papers_prints_the_log_and_our_saved_results():
    text = (ROOT / "docs" / "papers-methods.md").read_text(encoding="utf-8")
    store = Store(
        saved=ROOT / "papers" / "saved", made=ROOT / "nowhere", paper="samcnn"
    )
    (exhibit,) = choose("samcnn", table="authors")
    setting = Setting("shared")
    content = exhibit.lay_out(store.results(setting, exhibit.jobs(setting)))
    columns = (
        "authors, mean of 10",
        "authors, ensemble of 10",
        "ours by their recipe, mean",
        "ours by their recipe, ensemble",
    )
    table = text[text.index("| | logged, mean of 10") :]
    for name in authors.NAMES:
        (line,) = [
            line
            for line in table.split("\n\n")[0].splitlines()
            if f"| {name} |" in line
        ]
        rows = [row for row in content.tables[0].rows if row["system"] == name]
        for cell, column in zip(
            line.strip("| ").split(" | ")[1:], columns, strict=True
        ):
            values = [row[column] for row in rows]
            shown = " / ".join(
                "–" if v is None else v.removeprefix("0") for v in values
            )
            assert cell == ("–" if not any(values) else shown), (name, column)
    # The picture at the top is that of the exhibit: its words, and as many marks.
    drawn = render(content.figures[0]).svg.decode()
    shown = (ROOT / "docs" / "papers.svg").read_text(encoding="utf-8")
    words = re.compile(r"<text[^>]*>([^<]*)</text>")
    assert words.findall(shown) == words.findall(drawn)
    assert shown.count("<use") == drawn.count("<use")


def test_the_collection_and_settings_of_samcnn(texts):
    lines = texts["samcnn"].splitlines()
    for start, values in (
        ("Year ", samcnn.YEARS),
        ("# queries ", samcnn.TOPICS.values()),
        ("# tweets ", samcnn.CANDIDATES.values()),
        ("# relevant ", samcnn.RELEVANT.values()),
    ):
        (line,) = [line for line in lines if line.startswith(start)]
        assert [int(n.replace(",", "")) for n in line[len(start) :].split()] == list(
            values
        )
    (line,) = [
        line for line in lines if "%" in line and "relevant" in line and line[0] == "%"
    ]
    assert [float(n) for n in re.findall(r"\d+\.\d+", line)] == [
        *samcnn.PERCENT_RELEVANT.values()
    ]
    text = plain(texts["samcnn"])
    settings = {k: v[0] for k, v in samcnn.SETTINGS.items()}
    assert settings["word vectors"] == "300-d GloVe, fine-tuned"
    assert (
        "embedding size 300 k 0.05" in text
        and "and fine- tuned during training" in text
    )
    assert settings["words without a vector"] == "U[-.05, .05]"
    for printed, name in (
        ("kernel number", "filters"),
        ("kernel size", "window width"),
        (" hidden size", "size of a text's vector"),
        ("final hidden size", "size of the hidden layer o"),
        ("dropout ratio", "dropout"),
        ("learning rate", "learning rate"),
    ):
        assert f"{printed} {settings[name]}" in text, name
    # What the settings say that the paper does not say.
    assert settings["epochs"] == samcnn.NOT_SAID and settings["optimizer"] == "SGD"
    for word in ("epoch", "early stopping", "momentum", "weight decay"):
        assert word not in text


def test_table_3_of_samcnn(texts):
    """All 64 figures with the rows that each differs from."""
    table = texts["samcnn"].split("Our Models\n")[1].split("Table 3:")[0]
    rows = re.split(
        r"\n(?=\d (?:BiCNN|QL|RM3|MP-HCNN))", "\n" + table.split("Existing Models")[0]
    )
    rows += re.split(r"\n(?=\d (?:QL|RM3|MP-HCNN))", table.split("Existing Models")[1])
    rows = [row.strip() for row in rows if row.strip()]
    assert [row[0] for row in rows] == list("12345678")
    for row, figures in zip(rows, samcnn.SYSTEMS.values(), strict=True):
        printed = re.findall(
            r"(0\.\d{4})((?:[\s\d,-]|(?<!\d)\n)*?)(?=\s+0\.\d{4}|$)", row
        )
        assert [float(value) for value, _ in printed] == [
            one.value for one in figures.values()
        ]
        for (value, marks), one in zip(printed, figures.values(), strict=True):
            marks = re.sub(
                r"(\d)-(\d)",
                lambda m: "".join(map(str, range(int(m[1]), int(m[2]) + 1))),
                marks,
            )
            assert tuple(int(m) for m in re.findall(r"\d", marks)) == one.rows, (
                row[:12],
                value,
            )


def test_the_topics_and_counts_of_samcnn(texts):
    text = plain(texts["samcnn"])
    assert f"best-performing query {samcnn.BEST} “lindsey vonn sidelined”" in text
    assert f"worst-performing query {samcnn.WORST} “oscars snub affleck”" in text
    assert (
        f"worst-performing query {samcnn.WORST_IN_CAPTION} “oscars snub affleck”"
        in text
    )
    assert f"lost {-samcnn.WORST_AP} in ap and {-samcnn.WORST_P30} in p30" in text
    assert f"{samcnn.TIMES_FASTER}× faster" in text
    words = ("oscars", "snub", "affleck")
    rows = text.split("match count")[1].split("table 4")[0]
    expected = [
        f"{' '.join(words[int(place)] for place in pattern.split())} {count}"
        for pattern, count in samcnn.PATTERNS.items()
    ]
    assert rows.split() == " ".join(expected).split()
