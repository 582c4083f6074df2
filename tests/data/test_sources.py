from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from tests.composed import option

import siamese_news.conf
from siamese_news.data.collate import GroupDataset, collate, pad
from siamese_news.data.sources import evaluation_set, open_source
from siamese_news.errors import InputError
from siamese_news.training.datamodule import check_options, data_options, training_set

CONF = Path(siamese_news.conf.__file__).parent / "data"
FILES = sorted(CONF.glob("*.yaml"))


def test_an_unset_variable_says_how_to_set_it(monkeypatch, tmp_path, small):
    monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)
    with pytest.raises(InputError, match="export SIAMESE_NEWS_DATA="):
        open_source("usatoday-cnn")
    monkeypatch.setenv("SIAMESE_NEWS_DATA", str(tmp_path / "no"))
    with pytest.raises(InputError, match="which is not a folder"):
        open_source("small")
    monkeypatch.setenv("SIAMESE_NEWS_DATA", str(tmp_path))
    with pytest.raises(InputError, match="holds: small"):
        open_source("large")
    assert open_source("small").name == "small"


def test_a_table_is_looked_for_in_the_current_folder_first(
    monkeypatch, tmp_path, small
):
    data, work = tmp_path, tmp_path / "work"
    (work / "tables").mkdir(parents=True)
    monkeypatch.chdir(work)
    for variable in (None, str(data)):
        if variable is None:
            monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)
        else:
            monkeypatch.setenv("SIAMESE_NEWS_DATA", variable)
        with pytest.raises(InputError, match=r"pairs\.csv: no such folder or file"):
            open_source("tables/pairs.csv")
    (work / "tables" / "pairs.csv").write_text(
        "article,post\na flood in the town,the river rose\n"
    )
    assert len(open_source("tables/pairs.csv").posts) == 1
    # A bare name is always a collection, so a folder that lies here by chance is not read.
    (work / "small").mkdir()
    assert open_source("small").posts


def test_pools(monkeypatch, tmp_path, small):
    monkeypatch.setenv("SIAMESE_NEWS_DATA", str(tmp_path))
    collection = open_source("small")
    linked = evaluation_set(collection, {"split": "dev"})
    assert linked.name == "small/dev"
    assert (len(linked.articles), len(linked.posts)) == (3, 9)
    noisy = evaluation_set(collection, {"split": "dev", "pool": "with_unlinked"})
    assert (len(noisy.articles), len(noisy.posts)) == (3, 13)
    seeds = evaluation_set(collection, {"split": "dev", "one_story": True})
    assert len(seeds.articles) == 12
    assert seeds.one_story
    with pytest.raises(InputError, match="pool is 'all'"):
        evaluation_set(collection, {"split": "dev", "pool": "all"})


def test_sources_mix_without_mixing_ids(monkeypatch, tmp_path, small):
    monkeypatch.setenv("SIAMESE_NEWS_DATA", str(tmp_path))
    c = open_source("small")
    train = training_set([("one", c, "train"), ("one", c, "dev"), ("two", c, "train")])
    assert len(train.articles) == 6 + 3 + 6
    assert sum(map(len, train.posts_of)) == len(train.posts) == 18 + 9 + 18
    again = training_set([("one", c, "train"), ("one", c, "train")])
    assert sum(map(len, again.posts_of)) == 18
    texts = list(train.texts())
    assert texts[0].startswith("T\n")
    assert len(texts) == 15 + 45


def test_collate_by_hand():
    dataset = GroupDataset(
        articles=[np.array([1, 2, 3]), np.array([4])],
        posts=[np.array([5]), np.array([], dtype=np.int32), np.array([2**40, 7])],
    )
    batch = collate([dataset[(1, (2, 0))], dataset[(0, (1,))]])
    assert batch["article_ids"].tolist() == [[4, -1, -1], [1, 2, 3]]
    assert batch["post_ids"].tolist() == [[2**40, 7], [5, -1], [-1, -1]]
    assert batch["article_labels"].tolist() == [1, 0]
    assert batch["post_labels"].tolist() == [1, 1, 0]
    assert {value.dtype for value in batch.values()} == {torch.int64}
    assert pad([np.array([], dtype=np.int64)]).tolist() == [[-1]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_configuration_is_complete_and_has_no_path(path):
    data = option("data", path.stem)
    check_options(data_options(data))
    assert data["name"] == path.stem
    assert "/home" not in path.read_text()
    for entry in [*data["train"], data["dev"], data["test"]]:
        assert entry is None or not entry["folder"].startswith(("/", "~", "."))


def test_configurations_are_there():
    assert len(FILES) >= 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"color": 1}, "data.color: is unknown; expected in data one of name, "),
        (
            {"limits": {"article_tokens": 1, "post_tokens": 1}},
            "data.limits: keep is missing; expected ",
        ),
        ({"limits.keep": "middle"}, "data.limits.keep=middle: expected first or last"),
        ({"limits.post_tokens": 0}, "post_tokens is 0"),
        (
            {"batching.kind": "words"},
            "data.batching.kind=words: expected articles or pairs",
        ),
        (
            {"train": [{"folder": "x"}]},
            r"data.train\[0\]: split is missing; expected folder, ",
        ),
        (
            {"train": [{"folder": 3, "split": "a"}]},
            r"data.train\[0\].folder=3: expected text",
        ),
        (
            {"dev": {"folder": "x"}},
            "data.dev: split is missing; expected folder, split, pool, ",
        ),
    ],
)
def test_wrong_options_are_named(change, message):
    data = OmegaConf.load(CONF / "stories.yaml")
    for key, value in change.items():
        OmegaConf.update(data, key, value, merge=False, force_add=True)
    with pytest.raises(InputError, match=message):
        check_options(data_options(OmegaConf.to_container(data)))
