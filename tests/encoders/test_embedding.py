"""Token ids to vectors."""

import pytest
import torch

from siamese_news.encoders import TokenEmbedding
from siamese_news.encoders.embedding import PAD, _splitmix64, unknown_vectors


def splitmix64(value):
    value = (value + 0x9E3779B97F4A7C15) % 2**64
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) % 2**64
    return value ^ value >> 31


@pytest.mark.parametrize("value", [0, 1, 2**31, 2**62 - 1, -1, -(2**63)])
def test_splitmix64_is_that_of_unsigned_integers(value):
    got = _splitmix64(torch.tensor(value)).item()
    assert got % 2**64 == splitmix64(value % 2**64)


def test_looks_up_masks_and_weighs():
    matrix = torch.arange(12.0).view(4, 3)
    embedding = TokenEmbedding(
        matrix,
        trainable=False,
        token_weights=torch.tensor([1.0, 2, 3, 4]),
        unknown_weight=9.0,
    )
    vectors, mask, weights = embedding(torch.tensor([[2, 0, 77], [3, PAD, PAD]]))
    assert mask.tolist() == [[True] * 3, [True, False, False]]
    assert weights.tolist() == [[3, 1, 9], [4, 0, 0]]
    assert torch.equal(vectors[0, :2], matrix[[2, 0]])
    assert (vectors[1, 1:] == 0).all()
    torch.testing.assert_close(vectors[0, 2].norm(), torch.tensor(1.0))


def test_hashed_vectors_are_unit_and_nearly_orthogonal():
    vectors = unknown_vectors(torch.arange(400_000, 400_500), 300, None)
    cosines = vectors @ vectors.T
    torch.testing.assert_close(cosines.diagonal(), torch.ones(500))
    assert (cosines - torch.eye(500)).abs().max() < 0.35
    assert abs(vectors.sum(1).mean()) < 0.1


def test_uniform_vectors_fill_their_range_evenly():
    vectors = unknown_vectors(torch.arange(400_000, 400_500), 300, 0.05)
    assert vectors.min() >= -0.05 and vectors.max() <= 0.05
    # The moments of U[-r, r]: mean 0, deviation r / sqrt(3); 150,000 draws, so within 1%.
    assert abs(vectors.mean()) < 0.05 / 100
    torch.testing.assert_close(
        vectors.std(), torch.tensor(0.05 / 3**0.5), rtol=0.01, atol=0
    )
    counts = torch.histc(vectors, bins=10, min=-0.05, max=0.05)
    assert (counts / 15_000 - 1).abs().max() < 0.05
    assert torch.equal(
        vectors[7:9], unknown_vectors(torch.tensor([400_007, 400_008]), 300, 0.05)
    )
    cosines = (
        torch.nn.functional.normalize(vectors)
        @ torch.nn.functional.normalize(vectors).T
    )
    assert (cosines - torch.eye(500)).abs().max() < 0.35


def test_an_unknown_word_comes_from_the_given_range():
    embedding = TokenEmbedding(torch.zeros(4, 70), trainable=False, unknown_range=0.05)
    word = torch.tensor([[4 + 2**61, 1]])
    found = embedding(word)[0][0]
    assert torch.equal(found[0], unknown_vectors(word[0, :1], 70, 0.05)[0])
    assert not found[1].any() and embedding.config()["unknown_range"] == 0.05
    with pytest.raises(ValueError, match="unknown_range=0"):
        TokenEmbedding(torch.zeros(4, 70), trainable=False, unknown_range=0)


def test_a_hashed_word_has_one_vector_wherever_it_stands():
    embedding = TokenEmbedding(torch.zeros(4, 70), trainable=True)
    word = 4 + 2**61
    first = embedding(torch.tensor([[word, 1]]))[0][0, 0]
    second = embedding(torch.tensor([[0], [word]]))[0][1, 0]
    assert torch.equal(first, second)
    assert first.norm() > 0.99


def test_trainable_table_gets_a_gradient_and_frozen_has_no_parameter():
    matrix = torch.randn(4, 3)
    trained = TokenEmbedding(matrix, trainable=True)
    trained(torch.tensor([[2, 9, PAD]]))[0].sum().backward()
    assert trained.matrix.grad.abs().sum(1).bool().tolist() == [
        False,
        False,
        True,
        False,
    ]
    frozen = TokenEmbedding(matrix, trainable=False)
    assert not list(frozen.parameters())
    assert (
        set(frozen.state_dict())
        == set(trained.state_dict())
        == {"matrix", "token_weights"}
    )


def test_projection_keeps_cosines_at_the_start():
    matrix = torch.randn(9, 5)
    embedding = TokenEmbedding(matrix, trainable=False, project_to=12)
    assert embedding.output_dim == 12
    vectors = embedding(torch.arange(9)[None])[0][0]
    torch.testing.assert_close(
        vectors @ vectors.T, matrix @ matrix.T, rtol=0, atol=1e-5
    )
    assert (embedding(torch.tensor([[PAD]]))[0] == 0).all()


def test_config_rebuilds_it():
    embedding = TokenEmbedding(
        torch.randn(4, 3),
        trainable=False,
        unknown_weight=2.0,
        project_to=5,
        dropout=0.1,
    )
    options = dict(embedding.config())
    twin = TokenEmbedding(torch.zeros(4, options.pop("size")), **options).eval()
    twin.load_state_dict(embedding.state_dict())
    ids = torch.tensor([[0, 3, 99, PAD]])
    for one, other in zip(embedding.eval()(ids), twin(ids), strict=True):
        assert torch.equal(one, other)


def test_empty_batches():
    embedding = TokenEmbedding(torch.randn(4, 3), trainable=False)
    for shape in ((0, 5), (2, 0)):
        vectors, mask, weights = embedding(torch.zeros(shape, dtype=torch.int64))
        assert vectors.shape == (*shape, 3)
        assert mask.shape == weights.shape == shape


@pytest.mark.parametrize(
    ("matrix", "weights", "words"),
    [
        (torch.zeros(3), None, r"\(3,\)"),
        (torch.zeros(0, 3), None, r"\(0, 3\)"),
        (torch.zeros(4, 3), torch.ones(5), r"4 words"),
    ],
)
def test_wrong_tables_say_what_is_right(matrix, weights, words):
    with pytest.raises(ValueError, match=words):
        TokenEmbedding(matrix, trainable=False, token_weights=weights)
