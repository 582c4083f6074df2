"""One IDF and one way to cut a text."""

import math

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from siamese_news.text.content_words import smoothed_idf
from siamese_news.text.token_ids import truncate


def test_the_idf_is_scikit_learns_and_the_same_for_arrays_tensors_and_numbers():
    texts = ["flood river", "flood", "fire flood", "river fire smoke"]
    reference = TfidfVectorizer().fit(texts)
    counts = [
        sum(word in text.split() for text in texts) for word in reference.vocabulary_
    ]
    expected = [reference.idf_[place] for place in reference.vocabulary_.values()]
    np.testing.assert_allclose(
        smoothed_idf(np.array(counts), 4, add=1.0), expected, rtol=1e-12
    )
    found = smoothed_idf(torch.tensor(counts), 4)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy() + 1, expected, rtol=1e-6)
    assert smoothed_idf(0.0, 4) == math.log(5)


@pytest.mark.parametrize(
    ("keep", "limit", "expected"),
    [
        ("first", 2, [1, 2]),
        ("last", 2, [2, 3]),
        ("first", None, [1, 2, 3]),
        ("last", 9, [1, 2, 3]),
    ],
)
def test_the_first_or_the_last_tokens_are_kept(keep, limit, expected):
    limits = {"article_tokens": limit, "post_tokens": 1, "keep": keep}
    assert truncate(np.array([1, 2, 3]), limits, "article").tolist() == expected
    assert truncate(["a", "b"], limits, "post") == (["a"] if keep == "first" else ["b"])
