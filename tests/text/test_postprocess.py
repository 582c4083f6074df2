"""Unit length and all-but-the-top against scikit-learn and plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from siamese_news.text import remove_top_components, unit_length


@given(
    st.integers(0, 20),
    st.integers(1, 8),
    st.integers(0, 1000),
    st.sampled_from([1e-30, 1, 1e30]),
)
@settings(deadline=None)
def test_unit_length(rows: int, size: int, seed: int, scale: float) -> None:
    matrix = (np.random.default_rng(seed).normal(size=(rows, size)) * scale).astype(
        np.float32
    )
    matrix[::3] = 0
    result = unit_length(matrix)
    assert result.dtype == np.float32
    for row, found in zip(matrix.astype(np.float64), result, strict=True):
        length = np.sqrt((row * row).sum())
        expected = row / length if length > 0 else row
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_remove_top_components_against_pca(k: int) -> None:
    random = np.random.default_rng(3)
    matrix = (random.normal(size=(500, 12)) @ random.normal(size=(12, 12)) + 4).astype(
        np.float32
    )
    pca = PCA(n_components=k, svd_solver="full").fit(matrix.astype(np.float64))
    centered = matrix - pca.mean_
    expected = centered - centered @ pca.components_.T @ pca.components_
    result = remove_top_components(matrix, k)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, atol=2e-5)
    np.testing.assert_array_equal(result, remove_top_components(matrix.copy(), k))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(0).normal(size=(100, 7)).astype(np.float32)
    whole, unit = remove_top_components(matrix, 2), unit_length(matrix)
    monkeypatch.setattr("siamese_news.text.vectors._BLOCK", 13)
    np.testing.assert_allclose(remove_top_components(matrix, 2), whole, atol=1e-6)
    np.testing.assert_array_equal(unit_length(matrix), unit)


def test_extremes() -> None:
    matrix = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    kept = matrix.copy()
    np.testing.assert_array_equal(remove_top_components(matrix, 0), kept)
    np.testing.assert_allclose(remove_top_components(matrix, 3), 0, atol=1e-6)
    np.testing.assert_array_equal(matrix, kept)
    assert remove_top_components(np.zeros((0, 3), np.float32), 2).shape == (0, 3)


def test_the_source_may_be_read_only() -> None:
    matrix = np.eye(4, dtype=np.float32)
    matrix.flags.writeable = False
    assert unit_length(matrix).flags.writeable
    assert remove_top_components(matrix, 0).flags.writeable


@pytest.mark.parametrize("k", [-1, 4, 1.5, True, "1"])
def test_bad_k(k: object) -> None:
    with pytest.raises(ValueError, match="expected an integer from 0 to 3"):
        remove_top_components(np.ones((5, 3), np.float32), k)  # type: ignore[arg-type]


def test_bad_shape() -> None:
    with pytest.raises(ValueError, match=r"\(V, E\)"):
        unit_length(np.ones(3, np.float32))
