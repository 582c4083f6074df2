"""The Triton kernels against the reference, in Triton's interpreter where there is no GPU."""

import os
import subprocess
import sys

import pytest

pytest.importorskip(
    "triton", reason="triton is not installed; it comes with torch for CUDA"
)

CODE = """
import torch
from siamese_news.sparsity.entmax import entmax
from siamese_news.sparsity import AdaptiveEntmax

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
for shape, dim in (((2, 3, 7, 50), 2), ((2, 3, 1, 300), 3), ((1, 3, 6, 1), 2), ((2, 3, 1), 2)):
    scores = torch.randn(shape, device=device) * 1.5
    if shape[dim] > 2:
        scores.select(dim, 1).fill_(float("-inf"))
    scores[0, 0] = float("-inf")
    scores.requires_grad_()
    alpha = torch.tensor([1.1, 1.5, 1.9], device=device).view(1, 3, *[1] * (len(shape) - 2))
    alpha.requires_grad_()
    upstream = torch.randn(shape, device=device)
    results = []
    for backend in ("triton", "entmax"):
        weights = entmax(scores, alpha, None, dim, backend)
        grads = torch.autograd.grad((weights * upstream).sum(), (scores, alpha), allow_unused=True)
        results.append((weights, *grads))
    for (ours, theirs), bound in zip(zip(*results), (1e-6, 1e-3, 1e-3)):
        torch.testing.assert_close(ours, theirs.nan_to_num(), rtol=bound, atol=bound)
    for fixed in (1.5, 2.0):
        ours, theirs = (entmax(scores, fixed, None, dim, name) for name in ("triton", "entmax"))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)
assert AdaptiveEntmax(heads=3, backend="triton").to(device)(scores.detach()).isfinite().all()
try:
    entmax(scores.double(), 1.5, None, -1, "triton")
except ValueError as error:
    assert "newton" in str(error)
else:
    raise AssertionError("float64 was accepted")
print("agree")
"""


def test_kernels_agree_with_the_reference():
    import torch

    interpret = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, **interpret},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "agree"
