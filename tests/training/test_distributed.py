"""Two processes train as one does on the global batch, and log the same loss."""

import os
import socket

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from pytorch_metric_learning import distances, losses, miners
from tests.commands import prepared

from siamese_news.training.distributed import gather_rows
from siamese_news.training.objective import SiameseObjective


def _objective(gather=True):
    return SiameseObjective(
        gather_across_devices=gather,
        loss=losses.TripletMarginLoss(
            margin=1.0,
            distance=distances.LpDistance(p=2, power=2, normalize_embeddings=False),
        ),
        miner=miners.MultiSimilarityMiner(epsilon=0.1),
    )


def _network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 4)
    ).double()


def _global_batch():
    generator = torch.Generator().manual_seed(1)
    articles = torch.randn(6, 5, generator=generator, dtype=torch.float64)
    labels = torch.arange(6) + 100
    post_labels = labels.repeat_interleave(2)
    posts = articles.repeat_interleave(2, 0) + torch.randn(
        12, 5, generator=generator, dtype=torch.float64
    )
    return articles, posts, labels, post_labels


# Uneven on purpose: articles 0-3 and their posts on one rank, 4-5 on the other.
SHARES = [(slice(0, 4), slice(0, 8)), (slice(4, 6), slice(8, 12))]


def _loss(network, share, gather=True):
    articles, posts, labels, post_labels = _global_batch()
    a, p = share
    objective = _objective(gather)
    return objective(network(articles[a]), network(posts[p]), labels[a], post_labels[p])


def _rank(rank, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    try:
        network = torch.nn.parallel.DistributedDataParallel(_network())
        loss = _loss(network, SHARES[rank])
        loss.backward()
        grads = [p.grad.clone() for p in network.parameters()]
        network.zero_grad()
        own = _loss(network, SHARES[rank], gather=False)
        own.backward()
        rows = gather_rows(torch.full((rank + 1, 2), float(rank)))
        torch.save(
            {
                "loss": loss.detach(),
                "grads": grads,
                "rows": rows,
                "own": own.detach(),
                "own_grads": [p.grad for p in network.parameters()],
            },
            f"{folder}/{rank}.pt",
        )
        # Both have what they wait for. The interpreter's end is skipped: there gloo's threads were
        # seen to abort the process now and then, long after the work that is tested here.
        dist.barrier()
        os._exit(0)
    finally:
        dist.destroy_process_group()


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_two_gloo_processes_give_the_gradient_of_the_global_batch(tmp_path):
    given, method = (_free_port(), str(tmp_path)), prepared().get_start_method()
    mp.start_processes(_rank, args=given, nprocs=2, start_method=method)
    network = _network()
    loss = _loss(network, (slice(None), slice(None)))
    loss.backward()
    assert loss.item() > 0
    apart = _network()
    shares = [_loss(apart, share) for share in SHARES]
    (sum(shares) / 2).backward()
    for rank in range(2):
        saved = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        # The value too: not world_size times it.
        assert saved["loss"].item() == pytest.approx(loss.item(), rel=1e-12)
        for ours, theirs in zip(saved["grads"], network.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs.grad, rtol=1e-10, atol=1e-12)
        # Mined by device: each its own loss, and the mean of the devices' gradients.
        assert saved["own"].item() == pytest.approx(shares[rank].item(), rel=1e-12)
        for ours, theirs in zip(saved["own_grads"], apart.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs.grad, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(
            saved["rows"], torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
        )


def test_without_a_process_group_nothing_is_gathered():
    rows = torch.randn(3, 2, requires_grad=True)
    assert gather_rows(rows) is rows
