"""When one process is lost all others end, so that no rank waits for it for ever.

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
# A rank that fails because another was lost waits this long, so that the lost one is named.
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
        # torch.multiprocessing ends its processes itself and reports which one failed.
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
            connection = socket.create_connection((host or "127.0.0.1", port), timeout=60)
            connection.settimeout(None)
            _keep_alive(connection)
            connection.sendall(token + struct.pack("!I", rank))
            self._sockets = [connection]
            watch, arguments = self._watch_first, (connection,)  # type: ignore[assignment]
        threading.Thread(target=watch, args=arguments, daemon=True, name="rank-monitor").start()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Tell the other side that this process ended normally."""
        self._part()

    def _part(self) -> None:
        for connection in self._sockets:
            _send(connection, _DONE)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Report which rank failed, here and to the other ranks, and end this process."""
        if not self._sockets:
            return
        if isinstance(exception, Requeued):  # on every rank alike
            self._part()
            return
        rank = dist.get_rank() if dist.is_initialized() else trainer.global_rank
        # If another rank is the cause, the watching thread learns of it and ends this process.
        time.sleep(_WAIT_FOR_CAUSE)
        reason = f"rank {rank} failed: {type(exception).__name__}: {exception}".splitlines()[0]
        expected = isinstance(exception, InputError | KeyboardInterrupt)
        log.error("the traceback of rank %d:", rank, exc_info=None if expected else exception)
        for connection in self._sockets:
            _send(connection, f"{reason}\n".encode())
        _end(reason)

    def __getstate__(self) -> dict[str, Any]:
        """Sockets are not pickled when the trainer starts processes (``ddp_spawn``)."""
        return {"_sockets": []}

    def _watch_ranks(self, ranks: dict[int, socket.socket]) -> None:
        """On rank 0, wait for the first connection that ends without `_DONE` and tell all ranks."""
        with selectors.DefaultSelector() as selector:
            for rank, peer in ranks.items():
                selector.register(peer, selectors.EVENT_READ, rank)
            while selector.get_map():
                for key, _ in selector.select():
                    message = _receive(key.fileobj)  # type: ignore[arg-type]
                    if message == _DONE:
                        selector.unregister(key.fileobj)
                        continue
                    reason = message.decode().strip() or _lost(key.data)
                    for peer in ranks.values():
                        _send(peer, f"{reason}\n".encode())
                    _end(reason)

    def _watch_first(self, first: socket.socket) -> None:
        """On any other rank, wait for a message from rank 0 or for the end of its connection."""
        message = _receive(first)
        if message != _DONE:
            _end(message.decode().strip() or _lost(0))


def _listen(nodes: int) -> socket.socket:
    """Open a server, which other machines can reach only if there are several nodes."""
    return socket.create_server(("0.0.0.0" if nodes > 1 else "127.0.0.1", 0), backlog=4096)


def _accept(server: socket.socket, token: bytes, count: int) -> list[socket.socket]:
    """The connections of ranks 1 to `count` in this order; others are refused."""
    by_rank: dict[int, socket.socket] = {}
    server.settimeout(60)
    while len(by_rank) < count:
        connection, _ = server.accept()
        connection.settimeout(10)
        try:
            hello = connection.recv(_TOKEN + 4, socket.MSG_WAITALL)
        except OSError:
            hello = b""
        if len(hello) < _TOKEN + 4 or not secrets.compare_digest(hello[:_TOKEN], token):
            connection.close()
            continue
        connection.settimeout(None)
        _keep_alive(connection)
        by_rank[struct.unpack("!I", hello[_TOKEN:])[0]] = connection
    return [by_rank[rank] for rank in sorted(by_rank)]


def _keep_alive(connection: socket.socket) -> None:
    """Detect within a minute a machine that is gone without closing its connections."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _receive(connection: socket.socket) -> bytes:
    """The line that the other end sent; empty if it is gone."""
    message = b""
    try:
        while not message.endswith(b"\n"):
            part = connection.recv(4096)
            if not part:
                return b""
            message += part
    except OSError:
        return b""
    return message


def _send(connection: socket.socket, message: bytes) -> None:
    try:
        connection.sendall(message)
    except OSError:
        pass  # the other end is gone, which its own connection reports


def _lost(rank: int) -> str:
    return (
        f"rank {rank} was lost: its process ended without a message (killed, out of memory, or its "
        "machine is gone)"
    )


def _end(reason: str) -> NoReturn:
    """End this process at once: it may hang in a collective, which no exception interrupts."""
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
