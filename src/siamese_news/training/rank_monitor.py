"""One lost process ends all: no rank waits for ever in a collective for one that is gone.

Every process keeps a connection to rank 0 open. When a process dies, whatever kills it, the kernel
closes its end, and the others know at once which rank it was; the backend alone would wait for its
timeout (NCCL) or name no rank (gloo).
"""

import logging
import os
import secrets
import selectors
import socket
import struct
import sys
import threading
import time
from typing import Any, NoReturn

import pytorch_lightning as pl
import torch.distributed as dist
from pytorch_lightning.strategies.launchers import _MultiProcessingLauncher

from siamese_news.errors import InputError
from siamese_news.training.requeue import Requeued

log = logging.getLogger(__name__)

_DONE = b"done\n"
# A rank that fails because another was lost says so a moment after; the lost one is the cause.
_WAIT_FOR_CAUSE = 2.0
_TOKEN = 16


class RankMonitor(pl.Callback):
    """Ends every process when one of them is lost or fails, with its rank in the message.

    Place it first, before callbacks whose `on_exception` waits for the other ranks.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Connect; the process group exists by now."""
        # torch.multiprocessing ends its processes itself, and says which failed.
        spawned = isinstance(trainer.strategy.launcher, _MultiProcessingLauncher)
        if trainer.world_size == 1 or spawned or not dist.is_initialized():
            return
        rank, size = dist.get_rank(), dist.get_world_size()
        server = _listen(trainer.num_nodes) if rank == 0 else None
        address: list[Any] = [None]
        if server is not None:
            address = [(server.getsockname()[1], secrets.token_bytes(_TOKEN))]
        dist.broadcast_object_list(address, src=0)
        port, token = address[0]
        if server is not None:
            self._sockets = _accept(server, token, size - 1)
            server.close()
            watch, arguments = self._watch_ranks, (dict(enumerate(self._sockets, 1)),)
        else:
            host = os.environ.get("MASTER_ADDR", "127.0.0.1") if trainer.num_nodes > 1 else None
            own = socket.create_connection((host or "127.0.0.1", port), timeout=60)
            own.settimeout(None)
            _keep_alive(own)
            own.sendall(token + struct.pack("!I", rank))
            self._sockets = [own]
            watch, arguments = self._watch_first, (own,)  # type: ignore[assignment]
        threading.Thread(target=watch, args=arguments, daemon=True, name="rank-monitor").start()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Part in peace."""
        self._part()

    def _part(self) -> None:
        for own in self._sockets:
            _send(own, _DONE)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Say which rank failed, to the others as well, and end."""
        if not self._sockets:
            return
        if isinstance(exception, Requeued):  # on every rank alike
            self._part()
            return
        rank = dist.get_rank() if dist.is_initialized() else trainer.global_rank
        # The cause may be another rank, of which the thread hears; then it ends this process.
        time.sleep(_WAIT_FOR_CAUSE)
        reason = f"rank {rank} failed: {type(exception).__name__}: {exception}".splitlines()[0]
        expected = isinstance(exception, InputError | KeyboardInterrupt)
        log.error("the traceback of rank %d:", rank, exc_info=None if expected else exception)
        for own in self._sockets:
            _send(own, f"{reason}\n".encode())
        _end(reason)

    def __getstate__(self) -> dict[str, Any]:
        """Nothing of a process goes to another one (``ddp_spawn``)."""
        return {"_sockets": []}

    def _watch_ranks(self, ranks: dict[int, socket.socket]) -> None:
        """Rank 0: wait for the first connection that ends without a good-bye, and tell all."""
        with selectors.DefaultSelector() as selector:
            for rank, own in ranks.items():
                selector.register(own, selectors.EVENT_READ, rank)
            while selector.get_map():
                for key, _ in selector.select():
                    said = _receive(key.fileobj)  # type: ignore[arg-type]
                    if said == _DONE:
                        selector.unregister(key.fileobj)
                        continue
                    reason = said.decode().strip() or _lost(key.data)
                    for own in ranks.values():
                        _send(own, f"{reason}\n".encode())
                    _end(reason)

    def _watch_first(self, first: socket.socket) -> None:
        """Another rank: wait for what rank 0 says, or for its end."""
        said = _receive(first)
        if said != _DONE:
            _end(said.decode().strip() or _lost(0))


def _listen(nodes: int) -> socket.socket:
    """A server; it can be reached from other machines only where there are several nodes."""
    return socket.create_server(("0.0.0.0" if nodes > 1 else "127.0.0.1", 0), backlog=4096)


def _accept(server: socket.socket, token: bytes, count: int) -> list[socket.socket]:
    """The connections of ranks 1 to `count`, in this order; strangers are turned away."""
    found: dict[int, socket.socket] = {}
    server.settimeout(60)
    while len(found) < count:
        own, _ = server.accept()
        own.settimeout(10)
        try:
            hello = own.recv(_TOKEN + 4, socket.MSG_WAITALL)
        except OSError:
            hello = b""
        if len(hello) < _TOKEN + 4 or not secrets.compare_digest(hello[:_TOKEN], token):
            own.close()
            continue
        own.settimeout(None)
        _keep_alive(own)
        found[struct.unpack("!I", hello[_TOKEN:])[0]] = own
    return [found[rank] for rank in sorted(found)]


def _keep_alive(own: socket.socket) -> None:
    """Notice within a minute a machine that is gone without closing anything."""
    own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            own.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _receive(own: socket.socket) -> bytes:
    """The line that the other end says; nothing where it is gone."""
    said = b""
    try:
        while not said.endswith(b"\n"):
            part = own.recv(4096)
            if not part:
                return b""
            said += part
    except OSError:
        return b""
    return said


def _send(own: socket.socket, said: bytes) -> None:
    try:
        own.sendall(said)
    except OSError:
        pass  # it is gone, which is what its own line or the others' say


def _lost(rank: int) -> str:
    return (
        f"rank {rank} was lost: its process ended without a word (killed, out of memory, or its "
        "machine is gone)"
    )


def _end(reason: str) -> NoReturn:
    """End this process, which may hang in a collective that no exception reaches."""
    log.error(
        "%s; all processes stop. Go on with resume=<run folder>/checkpoints/last.ckpt "
        "hydra.run.dir=<run folder>",
        reason,
    )
    for handler in logging.getLogger().handlers:
        handler.flush()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
