"""Losses that learn parameters of their own: the same gradients in one process and in two."""

import inspect
import os
import socket

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from pytorch_metric_learning import losses, regularizers
from tests.commands import prepared

from siamese_news.training.objective import SiameseObjective

CLASSES, DIM = 8, 4
pytestmark = pytest.mark.filterwarnings("ignore")


def _made(name):
    """A loss of the library with a part that is learned, or None where it has none."""
    cls = getattr(losses, name)
    names = {
        name
        for each in cls.__mro__
        if "__init__" in vars(each)
        for name in inspect.signature(each.__init__).parameters
    }
    options = {"num_classes": CLASSES, "embedding_size": DIM, "learn_beta": True}
    torch.manual_seed(3)
    try:
        loss = cls(**{key: options[key] for key in options if key in names})
    except TypeError:  # it needs something else, none of which is learned
        return None
    return loss.double() if list(loss.parameters()) else None


def _learned():
    names = [
        name
        for name, each in vars(losses).items()
        if isinstance(each, type) and issubclass(each, torch.nn.Module)
    ]
    made = {name: loss for name in names if (loss := _made(name)) is not None}
    torch.manual_seed(3)
    made["regularized"] = losses.NormalizedSoftmaxLoss(
        CLASSES,
        DIM,
        temperature=0.3,
        weight_regularizer=regularizers.RegularFaceRegularizer(),
    ).double()
    return made


class _Step(torch.nn.Module):
    """Encoder and objective as one module, which is what DDP averages over the processes."""

    def __init__(self, loss, anchors="both"):
        super().__init__()
        torch.manual_seed(5)
        self.encoder = torch.nn.Linear(3, DIM).double()
        self.objective = SiameseObjective(loss=loss, anchors=anchors)

    def forward(self, articles, posts, labels, post_labels):
        vectors = self.encoder(articles), self.encoder(posts)
        return self.objective(*vectors, labels, post_labels)


def _batch(rank=0, world=1):
    """Two of six articles on the first rank, the others on the second; three posts of each."""
    generator = torch.Generator().manual_seed(11)
    articles = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    posts = torch.randn(18, 3, generator=generator, dtype=torch.float64)
    labels = torch.tensor([7, 0, 3, 1, 6, 2])
    rows = slice(0, 6) if world == 1 else (slice(0, 2), slice(2, 6))[rank]
    of_posts = slice(rows.start * 3, rows.stop * 3)
    return (
        articles[rows],
        posts[of_posts],
        labels[rows],
        labels.repeat_interleave(3)[of_posts],
    )


def _gradients(step, batch):
    loss = step(*batch)
    loss.backward()
    return {
        "loss": loss.detach(),
        **{
            name.removeprefix("module."): parameter.grad.clone()
            for name, parameter in step.named_parameters()
            if parameter.grad is not None
        },
    }


def _rank(rank, port, path):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    saved = {}
    for name, loss in _learned().items():
        step = torch.nn.parallel.DistributedDataParallel(
            _Step(loss), find_unused_parameters=True
        )
        saved[name] = _gradients(step, _batch(rank, 2))
    torch.save(saved, f"{path}/{rank}.pt")
    dist.barrier()
    os._exit(0)


@pytest.mark.ddp
def test_every_loss_with_parameters_has_the_gradients_of_one_process(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    learned = _learned()
    expected = {
        *("ArcFaceLoss", "CosFaceLoss", "LargeMarginSoftmaxLoss", "MarginLoss"),
        *("NormalizedSoftmaxLoss", "ProxyAnchorLoss", "ProxyNCALoss", "SoftTripleLoss"),
        *("SphereFaceLoss", "SubCenterArcFaceLoss"),
    }
    assert expected <= set(learned)
    method = prepared().get_start_method()
    mp.start_processes(_rank, (port, str(tmp_path)), nprocs=2, start_method=method)
    for name, loss in learned.items():
        alone = _gradients(_Step(loss), _batch())
        assert any(key.startswith("objective") for key in alone), name
        for rank in (0, 1):
            together = torch.load(tmp_path / f"{rank}.pt", weights_only=True)[name]
            assert together.keys() == alone.keys()
            for key, gradient in alone.items():
                torch.testing.assert_close(
                    together[key], gradient, rtol=1e-8, atol=1e-10, msg=f"{name} {key}"
                )
