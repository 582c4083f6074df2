"""Numbers in sentences."""

import pytest

from siamese_news.utils.terminal import counted, verb


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(0, "0 posts are"), (1, "1 post is"), (1200, "1,200 posts are")],
)
def test_a_noun_and_a_verb_agree_with_their_number(number, sentence):
    assert f"{counted(number, 'post')} {verb(number, 'are')}" == sentence
