"""Fig. 1 and Appendix A of the AST paper."""

import numpy as np
import pytest
from scipy.integrate import quad

from siamese_news.reproduction.ast import appendix_a
from siamese_news.reproduction.ast.weights import draw_scores, largest_weights, last_alphas, weigh


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
    one, _ = quad(lambda x: np.exp(x * x / (2 * d) - x * x / 2) / np.sqrt(2 * np.pi), -40, 40)
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
    assert soft[1] == pytest.approx(np.e / np.sinh(1) / 1000, rel=0.05)
    assert sparse[1] / sparse[0] > 5 * soft[1] / soft[0]


def test_alphas_come_in_the_order_of_the_heads():
    epochs = [
        {"epoch": 0, "alpha/stars.0.sparsity/0": 1.0},
        {"epoch": 1} | {f"alpha/stars.0.sparsity/{head}": 1 + head / 100 for head in range(11)},
    ]
    assert last_alphas(epochs, "stars") == [1 + head / 100 for head in range(11)]
    assert last_alphas([], "stars") == []
