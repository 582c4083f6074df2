"""The rankers against naive loops over the paper's equations, and their contract."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from siamese_news.rerankers.conv import (
    ConvEncoder,
    WindowMax,
    _all_windows,
    _in_slabs,
    window_valid,
)
from siamese_news.rerankers.pair import Pair, WordTexts
from siamese_news.rerankers.samcnn import BiCNN, PAtt, PredictionHead, QAtt

RANKERS = [BiCNN, QAtt, PAtt]
OPTIONS = {
    "input_dim": 6,
    "filters": 5,
    "widths": [2],
    "dropout": 0.0,
    "hidden": 4,
    "head_hidden": 3,
    "head_order": "relu-norm",
    "head_dropout": 0.0,
}


def make(ranker, **options):
    torch.manual_seed(0)
    return ranker(**{**OPTIONS, **options}).double()


def make_pair(
    lengths=((2, 3), (1, 5), (3, 1)), *, left=0, right=0, size=6, seed=1, **more
):
    """One row per (query length, post length), padded with NaN on both sides."""
    generator = torch.Generator().manual_seed(seed)
    queries = [torch.randn(q, size, generator=generator).double() for q, _ in lengths]
    posts = [torch.randn(p, size, generator=generator).double() for _, p in lengths]

    def padded(rows):
        width = max(len(row) for row in rows)
        values = torch.full((len(rows), left + width + right, size), torch.nan).double()
        mask = torch.zeros(values.shape[:2], dtype=torch.bool)
        for i, row in enumerate(rows):
            values[i, left : left + len(row)] = row
            mask[i, left : left + len(row)] = True
        return values, mask

    query, query_mask = padded(queries)
    post, post_mask = padded(posts)
    pair = Pair(
        query=query, query_mask=query_mask, post=post, post_mask=post_mask, **more
    )
    return pair, queries, posts


def naive_windows(length, width):
    return (
        [list(range(s, s + width)) for s in range(-(width - 1), length)]
        if length
        else []
    )


def naive_pool(encoder, tokens, kernel):
    """max over windows of ReLU(sum_j kernel(j, token) p + b), then the linear map.

    `kernel(W_j, token index)` is the kernel row used at that token: the equations' W'.
    """
    features = []
    for conv, bias, width in zip(
        encoder.kernels, encoder.biases, encoder.widths, strict=True
    ):
        rows = conv.weight.view(width, encoder.filters, -1)
        values = []
        for window in naive_windows(len(tokens), width):
            value = bias.clone()
            for j, t in enumerate(window):
                if 0 <= t < len(tokens):
                    value = value + kernel(rows[j], t) @ tokens[t]
            values.append(torch.relu(value))
        features.append(torch.stack(values).amax(0) if values else torch.relu(bias))
    return encoder.linear(torch.cat(features))


def naive_hidden(ranker, query, post):
    parts = [naive_pool(ranker.encoder, query, lambda w, t: w)]
    parts.append(naive_pool(ranker.encoder, post, lambda w, t: w))
    if hasattr(ranker, "query_context"):
        parts.append(
            torch.stack(
                [
                    naive_pool(ranker.query_context, post, lambda w, t, q=q: w * q)
                    for q in query
                ]
            ).mean(0)
        )
    if hasattr(ranker, "post_context"):
        parts.append(
            torch.stack(
                [
                    naive_pool(
                        ranker.post_context,
                        post,
                        lambda w, t, q=q: w * cosine_similarity(q, post[t], dim=0),
                    )
                    for q in query
                ]
            ).mean(0)
        )
    return torch.cat(parts)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("widths", [[2], [1, 2, 3]])
def test_equals_the_equations(ranker, widths):
    model = make(ranker, widths=widths)
    pair, queries, posts = make_pair()
    expected = torch.stack(
        [naive_hidden(model, q, p) for q, p in zip(queries, posts, strict=True)]
    )
    torch.testing.assert_close(model.encode(pair), expected)


@pytest.mark.parametrize("ranker", RANKERS)
def test_gradients_equal_those_of_the_naive_loop(ranker):
    model = make(ranker)
    pair, queries, posts = make_pair()
    probe = torch.randn(3, model.head.hidden.in_features).double()
    (model.encode(pair) * probe).sum().backward()
    ours = {
        n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None
    }
    model.zero_grad()
    naive = torch.stack(
        [naive_hidden(model, q, p) for q, p in zip(queries, posts, strict=True)]
    )
    (naive * probe).sum().backward()
    assert set(ours) == {
        n for n, _ in model.named_parameters() if not n.startswith("head")
    }
    for name, parameter in model.named_parameters():
        if name in ours:
            torch.testing.assert_close(ours[name], parameter.grad)


@pytest.mark.parametrize("ranker", RANKERS)
def test_padding_on_either_side_changes_nothing(ranker):
    model = make(ranker, widths=[2, 3]).eval()
    base = model(make_pair()[0])
    assert bool(base.isfinite().all())
    for left, right in [(0, 4), (3, 0), (2, 5)]:
        torch.testing.assert_close(model(make_pair(left=left, right=right)[0]), base)


@pytest.mark.parametrize("ranker", RANKERS)
def test_one_query_for_all_posts_equals_one_per_post_and_groups(ranker):
    model = make(ranker).eval()
    pair, *_ = make_pair(((2, 3), (2, 4), (2, 2)))
    rows = Pair(
        query=pair.query[:1].expand(3, -1, -1),
        query_mask=pair.query_mask[:1].expand(3, -1),
        post=pair.post,
        post_mask=pair.post_mask,
    )
    one = Pair(
        query=pair.query[:1],
        query_mask=pair.query_mask[:1],
        post=pair.post,
        post_mask=pair.post_mask,
    )
    grouped = Pair(
        query=pair.query[:2],
        query_mask=pair.query_mask[:2],
        post=pair.post,
        post_mask=pair.post_mask,
        group=torch.zeros(3, dtype=torch.int64),
    )
    torch.testing.assert_close(model(one), model(rows))
    torch.testing.assert_close(model(grouped), model(rows))


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("group", [None, torch.tensor([1, 0, 1])])
def test_words_that_posts_share_are_computed_once_with_the_same_gradients(
    ranker, group
):
    model = make(ranker, widths=[2, 3])
    torch.manual_seed(3)
    table = torch.randn(4, 6).double()
    table[3] = 0.0  # padding
    rows = torch.tensor([[0, 1, 0, 2, 0], [1, 1, 3, 3, 3], [3, 3, 2, 1, 2]])
    query = torch.randn(1 if group is None else 2, 2, 6).double()
    query_mask = torch.tensor([[True, True], [True, False]])[: len(query)]

    def gradients(shared):
        words = table.clone().requires_grad_()
        texts = WordTexts(words, rows, rows < 3)
        pair = Pair(
            query=query,
            query_mask=query_mask,
            post=texts.vectors(words),
            post_mask=texts.mask,
            post_words=texts if shared else None,
            group=group,
        )
        model.zero_grad()
        model(pair)[:, 1].sum().backward()
        trained = [parameter.grad.clone() for parameter in model.parameters()]
        return [words.grad[:3], *trained]

    torch.testing.assert_close(gradients(True), gradients(False))


@pytest.mark.parametrize("ranker", RANKERS)
def test_texts_without_tokens_have_a_defined_score(ranker):
    model = make(ranker).eval()
    pair, *_ = make_pair(((0, 3), (2, 0), (0, 0), (200, 1)))
    result = model(pair)
    assert bool(result.isfinite().all())
    torch.testing.assert_close(result.exp().sum(1), torch.ones(4).double())


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("order", ["relu-norm", "norm-tanh"])
def test_every_parameter_gets_a_gradient(ranker, order):
    model = make(ranker, head_order=order, features=2)
    pair, *_ = make_pair(features=torch.rand(3, 2).double())
    model(pair)[:, 1].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), (
            name
        )


def test_the_hidden_layer_is_what_the_paper_calls_o():
    # Worked by hand: W x + b = (3 - 2 + 0, -3 + 1) = (1, -2); o is its ReLU, before batch
    # normalization, whose running mean of 5 would show.
    head = PredictionHead(input_dim=2, hidden=2, order="relu-norm", dropout=0.0).eval()
    head.hidden.weight.data = torch.tensor([[1.0, -1.0], [-1.0, 0.0]])
    head.hidden.bias.data = torch.tensor([0.0, 1.0])
    head.norm.running_mean.fill_(5.0)
    encoded = torch.tensor([[3.0, 2.0]])
    assert head.hidden_layer(encoded).tolist() == [[1.0, 0.0]]
    released = PredictionHead(
        input_dim=2, hidden=2, order="norm-tanh", dropout=0.0
    ).eval()
    released.load_state_dict(head.state_dict())
    expected = torch.tanh(torch.tensor([[1.0 - 5, -2.0 - 5]]) / (1 + 1e-5) ** 0.5)
    torch.testing.assert_close(released.hidden_layer(encoded), expected)


@pytest.mark.parametrize("order", ["relu-norm", "norm-tanh"])
def test_the_score_is_read_from_the_hidden_layer(order):
    model = make(PAtt, head_order=order).eval()
    pair, *_ = make_pair()
    hidden = model.hidden_layer(pair)
    assert hidden.shape == (3, OPTIONS["head_hidden"])
    if order == "relu-norm":
        hidden = model.head.norm(hidden)
    expected = torch.log_softmax(model.head.output(hidden), dim=1)
    torch.testing.assert_close(model(pair), expected)


def test_patt_weights_a_post_by_cosines():
    model = make(PAtt)
    pair, queries, posts = make_pair()
    values = []
    for query, post in zip(queries, posts, strict=True):
        for_tokens = []
        for q in query:
            weight = post @ q / (q.norm() * post.norm(dim=1))
            for_tokens.append(
                naive_pool(model.post_context, post, lambda w, t, c=weight: w * c[t])
            )
        values.append(torch.stack(for_tokens).mean(0))
    torch.testing.assert_close(model.encode(pair)[:, 8:], torch.stack(values))


def vectors_by_word(model, query, post):
    """The post's vector h_i for each query word i, by a loop over Eq. 1 or Eq. 2 to 4: (Q, D)."""

    def by_query(word):
        return lambda rows, token: rows * word

    def by_position(word):
        return lambda rows, token: rows * cosine_similarity(word, post[token], dim=0)

    kernel = by_query if model.query_attention else by_position
    encoder = model.query_context if model.query_attention else model.post_context
    return torch.stack([naive_pool(encoder, post, kernel(word)) for word in query])


@pytest.mark.parametrize("ranker", [QAtt, PAtt])
def test_the_sum_is_a_softmax_over_one_number_and_equals_a_loop(ranker):
    """The gate of the authors' log: softmax over dimension 1 of scores of the shape (B Q, 1)."""
    model = make(ranker, aggregation="sum")
    gate = nn.Linear(4, 1).double()
    pair, queries, posts = make_pair()
    loop, gated = [], []
    for query, post in zip(queries, posts, strict=True):
        vectors = vectors_by_word(model, query, post)
        loop.append(sum(vectors))
        gated.append((torch.softmax(gate(vectors), dim=1) * vectors).sum(dim=0))
    computed = model.encode(pair)[:, 8:]
    torch.testing.assert_close(computed, torch.stack(loop))
    torch.testing.assert_close(computed, torch.stack(gated))
    torch.stack(gated).sum().backward()
    assert not gate.weight.grad.any()  # which is why the log's gate never learned


@pytest.mark.parametrize("ranker", [QAtt, PAtt])
def test_the_sum_is_the_mean_times_the_number_of_query_words(ranker):
    pair, queries, _ = make_pair()
    by_sum, by_mean = (make(ranker, aggregation=kind) for kind in ("sum", "mean"))
    words = torch.tensor([len(query) for query in queries])[:, None]
    torch.testing.assert_close(
        by_sum.encode(pair)[:, 8:], words * by_mean.encode(pair)[:, 8:]
    )


def test_window_max_gradcheck():
    torch.manual_seed(0)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [False] * 4])
    for width in (1, 2, 3):
        # Five words for twelve places, so that words are shared.
        projected = torch.randn(5, width, 3).double().requires_grad_()
        rows = torch.randint(5, (3, 4))
        weights = torch.randn(3, 2, 4).double() * mask[:, None]
        weights.requires_grad_()
        valid = window_valid(mask, width)
        torch.autograd.gradcheck(WindowMax.apply, (projected, rows, weights, valid))


def test_conv_encoder_equals_conv1d():
    torch.manual_seed(0)
    encoder = ConvEncoder(input_dim=6, output_dim=4, filters=5, widths=[3], dropout=0.0)
    texts = torch.randn(2, 7, 6)
    conv = nn.Conv1d(6, 5, 3, padding=2)
    weight = encoder.kernels[0].weight.view(3, 5, 6)
    conv.weight.data = weight.permute(1, 2, 0).contiguous()
    conv.bias.data = encoder.biases[0].data
    expected = encoder.linear(torch.relu(conv(texts.transpose(1, 2))).amax(2))
    mask = torch.ones(2, 7, dtype=torch.bool)
    torch.testing.assert_close(encoder(WordTexts.of(texts, mask)), expected)


def test_errors_name_what_came():
    with pytest.raises(ValueError, match="widths is \\[\\]"):
        make(BiCNN, widths=[])
    with pytest.raises(ValueError, match="order is 'tanh'"):
        make(BiCNN, head_order="tanh")
    with pytest.raises(ValueError, match="aggregation is 'max'"):
        make(QAtt, aggregation="max")
    with pytest.raises(ValueError, match="without `group`"):
        Pair(
            query=torch.zeros(2, 1, 6),
            query_mask=torch.ones(2, 1, dtype=torch.bool),
            post=torch.zeros(3, 1, 6),
            post_mask=torch.ones(3, 1, dtype=torch.bool),
        )


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("rows, tokens, queries", [(3, 5, 2), (4, 1, 1), (600, 9, 3)])
def test_all_windows_at_once_are_those_of_the_slabs(
    width, rows, tokens, queries, monkeypatch
):
    monkeypatch.setattr("siamese_news.rerankers.conv._SLAB", 4096)
    generator = torch.Generator().manual_seed(width)
    mask = torch.rand(rows, tokens, generator=generator) > 0.3
    mask[0] = False
    projected = torch.randn(rows, width, 4, generator=generator)
    words = torch.randint(rows, (rows, tokens), generator=generator)
    weights = torch.randn(rows, queries, tokens, generator=generator)
    weights *= mask[:, None]
    valid = window_valid(mask, width)
    best, winner = _all_windows(projected, words, weights, valid)
    expected, expected_winner = _in_slabs(
        projected, words, weights, valid, winners=True
    )
    torch.testing.assert_close(best, expected)
    assert (winner == expected_winner).all()
