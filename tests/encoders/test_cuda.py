"""On a GPU every encoder gives the vectors and gradients that it gives on the CPU."""

import copy

import pytest
import torch

from .test_torch_modules import NAMES, SHAPES, make

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch sees no CUDA device"
)


def vectors_and_gradients(encoder, batch):
    embeddings, *rest = batch
    embeddings = embeddings.detach().requires_grad_()
    vectors = encoder(embeddings, *rest)
    weights = torch.linspace(-1, 1, vectors.numel(), device=vectors.device)
    if vectors.requires_grad:  # a GRU gives empty texts constants
        (vectors * weights.view_as(vectors)).sum().backward()
    gradients = {
        name: parameter.grad
        for name, parameter in encoder.named_parameters()
        if parameter.grad is not None
    }
    return vectors, embeddings.grad, gradients


@needs_cuda
@pytest.mark.parametrize("kind", ["softmax", "adaptive"])
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_computes_what_the_cpu_computes(name, kind, config, texts):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    on_cpu = make(name, config, kind)
    on_gpu = copy.deepcopy(on_cpu).cuda()
    for number, lengths in enumerate(SHAPES):
        batch = texts(lengths, dtype=torch.float32, seed=number)
        expected = vectors_and_gradients(on_cpu, batch)
        there = [None if part is None else part.cuda() for part in batch]
        # torch trains recurrent layers on a GPU only in training mode.
        computed = vectors_and_gradients(on_gpu.train(), there)
        torch.testing.assert_close(
            computed, expected, rtol=1e-3, atol=1e-4, check_device=False
        )
        on_cpu.zero_grad()
        on_gpu.zero_grad()


@needs_cuda
@pytest.mark.parametrize("kind", ["softmax", "adaptive"])
@pytest.mark.parametrize("name", ["star", "star_feed_forward", "transformer"])
def test_half_precision_stays_near_full_precision(name, kind, config, texts):
    encoder = make(name, config, kind).cuda()
    batch = [
        None if part is None else part.cuda()
        for part in texts([30, 4], dtype=torch.float32)
    ]
    with torch.no_grad():
        full = encoder(*batch)
        with torch.autocast("cuda", torch.bfloat16):
            half = encoder(*batch)
    cosine = torch.cosine_similarity(full, half.float(), dim=-1)
    assert cosine.min() > 0.99
