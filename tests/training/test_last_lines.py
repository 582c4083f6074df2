"""What a training run refuses at its start and says at its end."""

import pytest

from siamese_news.errors import InputError
from siamese_news.train import check_name, last_lines

DATA = {
    "name": "stories",
    "train": [{"folder": "stories", "split": "train"}],
    "dev": None,
}


def test_a_name_that_chooses_nothing_is_refused():
    check_name(DATA, ["data=stories", "seed=1"])
    # A file of one's own may call itself so.
    check_name(DATA | {"name": "other"}, ["seed=1"])
    check_name(DATA, ["data.name=stories"])
    with pytest.raises(
        InputError, match="data.name=reuters: is not one of the data's folders.*stories"
    ):
        check_name(DATA | {"name": "reuters"}, ["data.name=reuters"])


def test_the_last_lines_are_figures_model_and_the_next_command(tmp_path):
    (tmp_path / "model").mkdir()
    row = {"encoder": "star", "minutes": 0.5, "dev MAP": 0.2, "MAP": 0.43210, "seed": 1}
    assert last_lines(tmp_path, row) == [
        "figures: MAP 0.4321",
        f"model: {tmp_path / 'model'}",
        f"next: siamese-news rank --articles ARTICLES --model {tmp_path / 'model'} --posts POSTS",
    ]


def test_a_folder_with_a_space_is_quoted_in_the_next_command(tmp_path):
    (tmp_path / "my run" / "model").mkdir(parents=True)
    *_, line = last_lines(tmp_path / "my run", {"AP": 0.5})
    assert f"--model '{tmp_path / 'my run' / 'model'}' --posts" in line
