"""The ranges that pages name, against the saved results and the published figures."""

import json
import re
from pathlib import Path

import pytest
from papers import Setting, choose
from papers.ast import case_study
from papers.ast.encoders import AST_METRICS
from papers.jobs import Store
from papers.samcnn import authors, figure4, table4
from papers.samcnn.published import ENSEMBLES, SINGLES, SYSTEMS, YEARS
from papers.samcnn.runs import RANKERS
from papers.samcnn.table3 import mean_of, ranker_systems
from papers.samcnn.variants import ATTENTIVE, CHOSEN

ROOT = Path(__file__).parents[2]
SETTING = Setting("shared")
AST = "star_projected"  # the option of the encoder behind the figures of AST


def saved(paper, **names):
    """The exhibit that some names choose, and its saved results."""
    store = Store(saved=ROOT / "papers" / "saved", made=Path("nowhere"), paper=paper)
    (exhibit,) = choose(paper, **names)
    return exhibit, store.results(SETTING, exhibit.jobs(SETTING))


def text_of(name):
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8"))


def between(above, below):
    """How far one list of AP is from the other, from the nearest year to the furthest."""
    gaps = [
        abs(a - b)
        for a, b in zip(above, below, strict=True)
        if a is not None and b is not None
    ]
    ends = (
        min(gaps),
        max(gaps),
    )  # of figures with four places, so a half is rounded up
    return " to ".join(f"{end + 1e-9:.3f}".removeprefix("0") for end in ends)


@pytest.fixture(scope="module")
def ap():
    """Source -> system -> AP of the four years."""
    _, results = saved("samcnn", table="authors")
    _, table3 = saved("samcnn", table=3)

    def ours(systems):
        return {
            name: [mean_of(systems, name, year, "AP") for year in YEARS]
            for name in systems
        }

    def theirs(systems):
        return {
            name: [figures[year, "AP"] for year in YEARS]
            for name, figures in systems.items()
        }

    return {
        "printed": {
            name: [figures[year, "AP"].value for year in YEARS]
            for name, figures in SYSTEMS.items()
        },
        "singles": theirs(SINGLES),
        "ensembles": theirs(ENSEMBLES),
        "chosen": ours(authors.single_systems(results, ATTENTIVE, CHOSEN)),
        "recipe": ours(authors.single_systems(results, RANKERS, authors.EXPERIMENT)),
        "our ensembles": ours(authors.ensemble_systems(results)),
        "table 3": ours(ranker_systems(table3, RANKERS, experiment="rerank_samcnn")),
    }


def test_the_page_says_how_far_each_row_is_from_print_and_from_the_log(ap):
    page = text_of("docs/papers.md")

    def below(name, source="chosen", reference="printed"):
        return between(ap[reference][name.removesuffix(authors.SUM)], ap[source][name])

    def from_log(name):
        return between(ap["singles"][name], ap["chosen"][name])

    qatt, patt = (f"{name}{authors.SUM}" for name in ("QAtt", "PAtt"))
    for sentence in (
        f"| BiCNN | no: {below('BiCNN', 'table 3')} below |",
        f"| QAtt | no: {below('QAtt')} below by mean, {below(qatt)} by sum |",
        f"| PAtt | no: {below('PAtt')} below by mean, {below(patt)} by sum |",
        f"| PAtt +QL | no: {below('PAtt +QL')} below by mean |",
        f"Printed QAtt is {below(qatt, 'singles')} from the log's single models by sum and "
        f"{below('QAtt', 'singles')} from those by mean",
        f"our QAtt is {from_log(qatt)} below the log and our PAtt {from_log(patt)}",
    ):
        assert sentence in page, sentence
    furthest = [
        max(below(name, source).split(" to ")[1] for name in ("PAtt", patt))
        for source in ("singles", "ensembles")
    ]
    assert (
        f"Printed PAtt is within {furthest[0]} of the log's single models and within "
        f"{furthest[1]} of their ensembles" in page
    )
    years = [year for year in range(len(YEARS)) if ap["ensembles"]["BiCNN"][year]]
    assert all(
        ap["ensembles"]["BiCNN"][year] > ap["printed"]["BiCNN"][year] for year in years
    )


def test_the_methods_say_what_ensembles_and_the_recipe_are_worth(ap):
    page = text_of("docs/papers-methods.md")
    printed, singles, ensembles = (
        ap[source] for source in ("printed", "singles", "ensembles")
    )
    chosen, recipe, own = (ap[s] for s in ("chosen", "recipe", "our ensembles"))
    patt, sums = "PAtt", f"PAtt{authors.SUM}"
    for sentence in (
        f"{between(printed[patt], chosen[patt])} of AP remain for PAtt and "
        f"{between(printed['QAtt'], chosen['QAtt'])} for QAtt",
        f"gain {between(own[patt], recipe[patt])} of AP over their mean for PAtt and "
        f"{between(own['QAtt'], recipe['QAtt'])} for QAtt, and the authors' ten "
        f"{between(ensembles[patt], singles[patt])} for PAtt",
        f"an ensemble has {between(ensembles[patt], singles[patt])} more AP than its single "
        f"models for PAtt and {between(ensembles['QAtt'], singles['QAtt'])} more for QAtt",
        f"Printed PAtt is {between(printed[patt], singles[patt])} from the single models by mean "
        f"and {between(printed[patt], ensembles[patt])} from their ensembles; from those by sum, "
        f"{between(printed[patt], singles[sums])} and {between(printed[patt], ensembles[sums])}",
        f"the choice below is ahead of the recipe by {between(chosen[patt], recipe[patt])}",
        f"Our ensemble of PAtt is {between(printed[patt], own[patt])} below the printed PAtt",
        f"QAtt {between(printed['QAtt'], own['QAtt'])} below the printed QAtt",
    ):
        assert sentence in page, sentence


def test_the_methods_say_who_is_above_ql(ap):
    ql = ap["printed"]["QL"]

    def years_above(source, name):
        return [
            year
            for year, ours, peer in zip(YEARS, ap[source][name], ql, strict=True)
            if ours > peer
        ]

    assert years_above("chosen", "PAtt") == list(YEARS)
    assert years_above("chosen", "QAtt") == years_above("table 3", "PAtt") == [2014]
    assert years_above("table 3", "QAtt") == []
    assert (
        "As chosen (below), our PAtt is above QL in all four years, as in the paper, and QAtt "
        "only in 2014; with the settings of Table 2, PAtt is above QL only in 2014, and QAtt never."
    ) in text_of("docs/papers-methods.md")


def results_row(paper, exhibit):
    """The cell of an exhibit in the table of the results page."""
    path = ROOT / "benchmarks" / "results" / f"{paper}_paper.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    (row,) = (row for row in rows if row[0] == exhibit)
    return row[2]


def test_the_results_page_has_the_figures_of_the_exhibits():
    _, results = saved("samcnn", figure=4)
    shares = {
        RANKERS[option]: figure4.separation(
            results[job]["places"], results[job]["relevant"]
        )
        for job, option in figure4.JOBS.items()
    }
    listed = (f"{shares[name]:.2f}".removeprefix("0") for name in RANKERS.values())
    row = results_row("samcnn", "Fig. 4")
    assert "is {} for BiCNN, {} for QAtt, {} for PAtt".format(*listed) in row

    _, results = saved("samcnn", table=4)
    top = results[table4.JOB]["topics"]["125"]["top"]
    counts = ", ".join(str(sum(top[pattern])) for pattern in table4.PATTERNS)
    assert f"PAtt as chosen, seed 0: {counts};" in results_row("samcnn", "Table 4")

    exhibit, results = saved("ast", figure="effort")
    rows = exhibit.lay_out(results).tables[0].rows
    (reads,) = (row for row in rows if row["relevant found"] == "1000")
    cell = results_row("ast", "effort")
    for title, read in reads.items():
        if title != "relevant found" and read is not None:
            name = title.removeprefix("the ")
            assert f"{name} {read:,}" in cell, title

    _, results = saved("ast", table=3)
    cell = results_row("ast", "Table 3")
    for _, title, values in case_study._scored(results):
        count = sum(post["relevant"] for post in values["most similar"])
        assert f"{title.removeprefix('the ')} {count}" in cell


def short(value, deviation=None):
    """A figure as the pages print it: ``.769 ± .018``."""
    numbers = [value] if deviation is None else [value, deviation]
    return " ± ".join(f"{number:.3f}".removeprefix("0") for number in numbers)


def test_the_pages_have_the_figures_of_the_released_codes_settings():
    exhibit, results = saved("ast", table="authors")
    event, pair = exhibit.lay_out(results).tables
    methods = text_of("docs/papers-methods.md")
    for rows in zip(event.rows, pair.rows, strict=True):
        cells = [rows[0]["encoder"]]
        for row in rows:
            cells.append(short(row["mAP"], row["± over seeds"]))
            cells += [short(row[name]) for name in ("AUC", "MAP by article")]
        assert f"| {' | '.join(cells)} |" in methods
    by_pair = {row["encoder"]: row for row in pair.rows}
    printed = (
        short(by_pair[name]["mAP"], by_pair[name]["± over seeds"])
        for name in ("AST (released code)", "CNN")
    )
    assert f"{', '.join(printed)}: another order |" in text_of("docs/papers.md")


def test_the_page_has_the_figures_of_table_2_and_of_figures_3_and_4():
    page = text_of("docs/papers.md")
    exhibit, results = saved("ast", table=2)
    (ten,) = (t for t in exhibit.lay_out(results).tables if t.name == "ten_epochs")
    rows = {row["encoder"]: row for row in ten.rows}
    for title, name in (("AST", "AST, projected heads"), ("the CNN", "CNN")):
        ours = short(float(rows[name]["mAP"]), float(rows[name]["± over seeds"]))
        printed = short(AST_METRICS[title.removeprefix("the ")][0])
        assert f"| Table 2, mAP of {title} | {printed} | {ours} (3 seeds)" in page

    _, results = saved("ast", figure=4)
    (values,) = (v for option, _, v in case_study._scored(results) if option == AST)
    (row,) = (r for r in case_study.threshold_rows(values) if r["threshold"] == "0.7")
    assert f"| {short(row['precision'])} (recall {short(row['recall'])}) |" in page

    exhibit, results = saved("ast", figure=3)
    moved = max(
        row["largest change"] for row in exhibit.lay_out(results).tables[0].rows
    )
    assert f"moved by {short(moved)} at most" in page
