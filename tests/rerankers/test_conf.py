"""The closed table of rankers equals what conf/ offers, and every option builds."""

from importlib.resources import files
from pathlib import Path

import pytest
from tests.composed import option

import siamese_news.rerankers
from siamese_news.rerankers import RANKERS, build_ranker

OPTIONS = sorted(Path(str(files("siamese_news.conf"))).glob("ranker/*.yaml"))


def test_the_table_equals_conf():
    targets = {option("ranker", path.stem)["_target_"] for path in OPTIONS}
    assert targets == {f"siamese_news.rerankers.{name}" for name in RANKERS}
    assert all(hasattr(siamese_news.rerankers, name) for name in RANKERS)


@pytest.mark.parametrize("path", OPTIONS, ids=lambda path: path.stem)
def test_every_option_builds_and_has_its_line_of_explanation(path):
    options = option("ranker", path.stem)
    name = options.pop("_target_").rpartition(".")[2]
    assert (
        type(build_ranker({"class": name, "input_dim": 8, **options})) is RANKERS[name]
    )
    assert path.read_text().startswith("# ")


def test_build_ranker_names_the_choices():
    with pytest.raises(ValueError, match="'Star'; expected one of BiCNN, QAtt, PAtt"):
        build_ranker({"class": "Star"})
    with pytest.raises(ValueError, match="correct the ranker's options"):
        build_ranker({"class": "PAtt", "sizes": 3})
