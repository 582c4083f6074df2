"""Exact matches between query, post and link."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.rerankers.matches import EXACT, LINK, exact_features, link_features
from siamese_news.text.patterns import first_link, link_matches

TEXT = st.lists(st.integers(0, 4), max_size=6)


def padded(ids, more):
    return torch.tensor([ids + [-1] * (more + (not ids))])


@given(TEXT, TEXT, st.lists(st.booleans(), min_size=7, max_size=7), st.integers(0, 2))
def test_features_are_shares_by_idf(query, post, found, more):
    idf = [0.5, 1.0, 2.0, 4.0, 8.0]
    query_ids, post_ids = padded(query, more), padded(post, 1)
    weights = torch.tensor(
        [[idf[i] for i in query] + [9.0] * (query_ids.shape[1] - len(query))]
    )
    links = torch.zeros(1, 1 + query_ids.shape[1], dtype=torch.bool)
    links[0, : 1 + len(query)] = torch.tensor(found[: 1 + len(query)])
    exact = exact_features(query_ids, post_ids, weights)[0]
    link = link_features(query_ids, post_ids, links, weights)[0]
    assert exact.shape == (EXACT,) and link.shape == (LINK,)
    total = sum(idf[i] for i in query) or 1.0
    often = [post.count(i) for i in query]
    expected = [
        sum(n > 0 for n in often) / max(1, len(query)),
        sum(idf[i] for i in query if i in post) / total,
        sum(n / (n + 1) * idf[i] for i, n in zip(query, often, strict=True)) / total,
        math.log1p(len(post)) / 4,
    ]
    torch.testing.assert_close(exact, torch.tensor(expected))
    in_link = found[1 : 1 + len(query)]
    expected = [
        float(found[0]),
        sum(idf[i] for i, there in zip(query, in_link, strict=True) if there) / total,
        sum(
            idf[i]
            for i, there in zip(query, in_link, strict=True)
            if there or i in post
        )
        / total,
    ]
    torch.testing.assert_close(link, torch.tensor(expected))


def test_a_link_holds_words_wherever_they_stand():
    found = link_matches(
        [["world", "cup", "oscars"], ["world"], []],
        ["http://x.org/WorldCup2014", "", "http://x.org"],
    )
    assert found.tolist() == [
        [True, True, True, False],
        [False, False, False, False],
        [True, False, False, False],
    ]
    assert link_matches([], []).shape == (0, 1)


def test_the_first_link_of_a_text():
    assert (
        first_link("cuts at the bbc HTTPS://bbc.in/x1 and http://b.org")
        == "HTTPS://bbc.in/x1"
    )
    assert first_link('"http://a.org/b"') == "http://a.org/b"
    assert first_link("no link: bbc.co.uk") == ""
