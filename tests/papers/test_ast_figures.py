"""Fig. 1 and Appendix A of the AST paper."""

import numpy as np
import pytest
from papers.ast import appendix_a, figure2, figure3
from papers.ast.figure1 import draw_scores, largest_weights, self_attention, weigh
from papers.training_runs import SMALL, initial_alphas, last_alphas, train_link
from scipy.integrate import quad


def test_the_constant_of_the_appendix():
    assert round(appendix_a.CONSTANT, 4) == 1.1752
    integral, _ = quad(lambda x: np.exp(x) / 2, -1, 1)
    assert appendix_a.CONSTANT == pytest.approx(integral, abs=1e-12)


@pytest.mark.parametrize("kind", appendix_a.KINDS)
@pytest.mark.parametrize("keys", [5, 100])
def test_the_simulation_agrees_with_the_closed_form(kind, keys):
    sums = appendix_a.simulate(kind, keys, 3000, seed=1)
    error = sums.std(ddof=1) / np.sqrt(len(sums))
    assert abs(sums.mean() - appendix_a.expected(kind)) < 4 * error


def test_the_closed_forms_agree_with_integrals():
    d = appendix_a.HEAD_DIM
    # The cosine of random directions has density proportional to (1 - c^2)^((d - 3) / 2).
    weight, _ = quad(lambda c: (1 - c * c) ** ((d - 3) / 2), -1, 1)
    cosine, _ = quad(lambda c: np.exp(c) * (1 - c * c) ** ((d - 3) / 2), -1, 1)
    assert appendix_a.expected("cosine") == pytest.approx(cosine / weight, rel=1e-9)
    # Given |q|, the scaled product is normal with variance |q|^2 / d: the chi-square's transform.
    one, _ = quad(
        lambda x: np.exp(x * x / (2 * d) - x * x / 2) / np.sqrt(2 * np.pi), -40, 40
    )
    assert appendix_a.expected("dot") == pytest.approx(one**d, rel=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.5, 2.0])
def test_weights_sum_to_one(alpha):
    weights = weigh(draw_scores("dot", 40, 7, seed=0), alpha)
    assert weights.shape == (7, 40)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


def test_softmax_flattens_as_one_over_the_length_and_sparsemax_less():
    lengths = (10, 1000)
    soft = largest_weights("cosine", [1.0], lengths, draws=50, seed=0)
    sparse = largest_weights("cosine", [2.0], lengths, draws=50, seed=0)
    # The sum over the keys is known; of 1,000 cosines in 30 dimensions, the largest is about .55.
    total = 1000 * appendix_a.expected("cosine")
    assert soft[1] == pytest.approx(np.exp(0.55) / total, rel=0.05)
    assert sparse[1] / sparse[0] > 5 * soft[1] / soft[0]


def test_scores_are_those_of_random_embeddings():
    d = appendix_a.HEAD_DIM
    cosines = draw_scores("cosine", 50, 400, seed=1)
    assert abs(cosines).max() < 1
    # The cosine of two random directions has variance 1 / d, their scaled product variance 1.
    assert cosines.var() == pytest.approx(1 / d, rel=0.05)
    assert draw_scores("dot", 50, 400, seed=1).var() == pytest.approx(1, rel=0.1)
    np.testing.assert_array_equal(cosines, draw_scores("cosine", 50, 400, seed=1))


def test_self_attention_finds_the_query_among_25_with_sparsemax_alone():
    soft, sparse = (self_attention(25, alpha, seed=0) for alpha in (1.0, 2.0))
    assert (soft.argmax(1) == np.arange(25)).all()
    # e to the cosine 1, over e and 24 of the others' expectation.
    expected = np.e / (np.e + 24 * appendix_a.expected("cosine"))
    assert soft.diagonal().mean() == pytest.approx(expected, rel=0.05)
    assert sparse.diagonal().min() > 0.5 and (sparse == 0).mean() > 0.8


def test_alphas_come_in_the_order_of_the_heads():
    epochs = [
        {"epoch": 0, "alpha/stars.0.sparsity/0": 1.0},
        {"epoch": 1}
        | {f"alpha/stars.0.sparsity/{head}": 1 + head / 100 for head in range(11)},
    ]
    assert last_alphas(epochs, "stars") == [1 + head / 100 for head in range(11)]
    assert last_alphas([], "stars") == []


def test_the_most_shared_articles_and_their_posts():
    qrels = {"a": {"p": 1, "q": 1}, "b": {"q": 2, "r": 1, "s": 1}, "c": {"t": 0}}
    assert figure2.most_shared(qrels) == [
        ("b", ["q", "r", "s"]),
        ("a", ["p"]),
        ("c", []),
    ]


def test_purity_counts_neighbors_of_the_same_article():
    angles = np.concatenate([np.linspace(0, 0.1, 6), np.linspace(2, 2.1, 6)])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    apart = np.repeat([0, 1], 6)
    assert figure2.purity(vectors, apart) == 1.0
    assert figure2.purity(vectors, np.tile([0, 1], 6)) == pytest.approx(0.4)


def test_alphas_that_stay_are_told_from_alphas_that_move():
    stayed = figure3.movement([1.2, 1.5, 1.8], [1.21, 1.5, 1.79])
    assert (
        stayed["largest change"] == pytest.approx(0.01) and stayed["correlation"] > 0.99
    )
    assert figure3.movement([1.2, 1.5, 1.8], [1.7, 1.2, 1.3])["correlation"] < 0


@pytest.mark.slow
def test_the_initial_alphas_are_those_that_training_starts_from(tmp_path):
    options = ["experiment=ast_tables", *SMALL, "seed=3", "encoder=star_projected"]
    start = initial_alphas(options)
    frozen = [*options, "task.optimizer.lr=0.0", "task.epochs=1", "data.test=null"]
    values = train_link([*frozen, "data.limits.article_tokens=30"], tmp_path)
    assert len(start) == 20
    logged = {
        name: v for name, v in values["epochs"][-1].items() if name.startswith("alpha/")
    }
    assert logged == pytest.approx(start, abs=1e-5)
    assert "row" in values and "pooled" not in values


@pytest.mark.parametrize(
    ("sentence", "true_from"), list(zip(figure3.SENTENCES, (0, 0, 1), strict=True))
)
def test_the_paper_counts_the_heads_of_its_figure_in_two_ways(sentence, true_from):
    part, heads, says = sentence
    held = [
        figure3.sentence_holds(part, heads, says, first_head=first) for first in (0, 1)
    ]
    assert held == [first == true_from for first in (0, 1)]
    # The other heads of the part would make the sentence false.
    assert not figure3.sentence_holds(part, (8, 9), says, first_head=0)
