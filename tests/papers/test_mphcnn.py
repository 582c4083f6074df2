"""MP-HCNN against loops over the published description, and its contract."""

import pytest
import torch
from papers.mphcnn.mphcnn import MPHCNN, _match, word_trigrams

from siamese_news.rerankers import Pair

OPTIONS = {
    "input_dim": 5,
    "levels": 2,
    "filters": 4,
    "word_width": 2,
    "trigram_width": 4,
    "trigram_dim": 3,
    "buckets": 11,
    "max_query_words": 3,
    "max_query_trigrams": 6,
    "weighted_levels": 2,
    "url": True,
    "dropout": 0.0,
    "hidden": [7, 3],
}
LENGTHS = [(2, 3), (1, 5), (3, 1)]


def make_pair(lengths=LENGTHS, *, left=0, right=0, seed=1, fill=torch.nan, **more):
    generator = torch.Generator().manual_seed(seed)

    def words(sizes):
        rows = [torch.randn(n, 5, generator=generator) for n in sizes]
        width = max([1, *sizes]) + left + right
        values = torch.full((len(rows), width, 5), fill)
        mask = torch.zeros(len(rows), width) > 0
        for i, row in enumerate(rows):
            values[i, left : left + len(row)] = row
            mask[i, left : left + len(row)] = True
        return values, mask

    def trigrams(sizes):
        ids = torch.full((len(sizes), max([1, *sizes]) + left + right), -1)
        for i, n in enumerate(sizes):
            ids[i, left : left + n] = torch.randint(0, 11, (n,), generator=generator)
        return ids

    query, query_mask = words([q for q, _ in lengths])
    post, post_mask = words([p for _, p in lengths])
    weights = torch.rand(query_mask.shape, generator=torch.Generator().manual_seed(9))
    if left or right:
        base = torch.rand(
            (len(lengths), query_mask.shape[1] - left - right),
            generator=torch.Generator().manual_seed(9),
        )
        weights = torch.nn.functional.pad(base, (left, right), value=5.0)
    return Pair(
        query=query,
        query_mask=query_mask,
        post=post,
        post_mask=post_mask,
        query_weights=weights,
        pieces=(
            trigrams([2 * q for q, _ in lengths]),
            trigrams([3 * p for _, p in lengths]),
            trigrams([p for _, p in lengths]),
        ),
        **more,
    )


def make(**options):
    torch.manual_seed(0)
    return MPHCNN(**{**OPTIONS, **options})


def test_match_equals_the_loop():
    torch.manual_seed(0)
    query, text = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    query_mask = torch.tensor([[1, 1, 1], [1, 1, 0]]) > 0
    text_mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]) > 0
    for places in (3, 5):
        found = _match(query, query_mask, text, text_mask, places)
        check_matches(found, query, text, places)


def check_matches(found, query, text, places):
    for row, (q, t) in enumerate([(3, 5), (2, 2)]):
        rows = []
        for token in text[row, :t]:
            scores = [token @ query[row, i] for i in range(q)]
            # The released code pads its queries, and softmax gives the padding its share.
            scores += [torch.zeros(())] * (places - q)
            rows.append(torch.softmax(torch.stack(scores), 0)[:q])
        attention = torch.stack(rows)
        torch.testing.assert_close(found[row, 0, :q], attention.amax(0))
        torch.testing.assert_close(found[row, 1, :q], attention.mean(0))
        assert not found[row, :, q:].any()


def test_a_text_that_matches_nothing_attends_to_nothing():
    query = torch.tensor([[[4.0, 0.0]]])
    text = torch.tensor([[[4.0, 0.0], [0.0, 4.0]], [[0.0, 4.0], [-4.0, 0.0]]])
    one, two = torch.ones(2, 1) > 0, torch.ones(2, 2) > 0
    found = _match(query.expand(2, -1, -1), one, text, two, 10)
    assert found[0, 0, 0] > 0.99 and found[1, 0, 0] < 0.11


def test_perspective_equals_the_loop():
    model = make().eval()
    pair = make_pair([(3, 5)])
    part = model.words
    features = part(
        pair,
        (pair.query, pair.query_mask),
        (pair.post, pair.post_mask),
        pair.query_weights,
    )
    query, text, weight = pair.query[0], pair.post[0], pair.query_weights[0]
    expected = []
    for number in range(3):
        if number:
            level = part.levels[number - 1]
            half = level.linear.in_features // 2

            def convolve(values, level=level, half=half):
                after = torch.cat([values[1:], torch.zeros(1, half)])
                first = level.linear.weight[:, :half]
                second = level.linear.weight[:, half:]
                return torch.relu(
                    values @ first.T + after @ second.T + level.linear.bias
                )

            query, text = convolve(query), convolve(text)
        attention = torch.softmax(text @ query.T, dim=1)
        found = torch.stack([attention.amax(0), attention.mean(0)])
        if number == 0:
            found = found * weight
        if number == 1:
            a, b, c = weight.tolist()
            found = found * torch.tensor([(a + b) / 2, (b + c) / 2, c])
        expected.append(found.flatten())
    torch.testing.assert_close(features[0], torch.cat(expected))


def test_padding_on_either_side_changes_nothing():
    model = make().eval()
    base = model(make_pair())
    assert bool(base.isfinite().all())
    torch.testing.assert_close(base.exp().sum(1), torch.ones(3))
    for left, right in [(0, 3), (2, 0), (1, 4)]:
        torch.testing.assert_close(model(make_pair(left=left, right=right)), base)


def test_empty_and_long_texts_have_a_defined_score():
    assert bool(
        make().eval()(make_pair([(0, 3), (2, 0), (0, 0), (200, 2)])).isfinite().all()
    )


def test_every_parameter_gets_a_gradient():
    model = make(features=2)
    model(make_pair(features=torch.rand(3, 2)))[:, 1].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), (
            name
        )


def test_what_is_missing_is_named():
    pair = make_pair()
    plain = Pair(
        query=pair.query,
        query_mask=pair.query_mask,
        post=pair.post,
        post_mask=pair.post_mask,
    )
    with pytest.raises(ValueError, match="needs trigrams"):
        make()(plain)
    with pytest.raises(ValueError, match="built for 1"):
        make(features=1)(pair)


def test_trigrams_of_a_word():
    assert len(word_trigrams("oscars", 1000)) == 6
    assert len(word_trigrams("a", 1000)) == 1
    assert make().pieces_of(["a", "oscars"]) == [
        *word_trigrams("a", 11),
        *word_trigrams("oscars", 11),
    ]
    # Fixed values: ids must not depend on the process.
    assert word_trigrams("abc", 16384) == word_trigrams("abc", 16384)
