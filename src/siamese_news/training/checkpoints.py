"""Checkpoints that are there whole or not at all."""

from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO

from siamese_news.utils.files import atomic_write


class WholeCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint beside its place, and renames it when all of it is on the disk.

    Lightning writes it into the machine's folder of temporary files first. Where that is another
    disk, the move is a copy, and a process that is killed meanwhile leaves half a checkpoint in the
    place of the last one that was whole.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Save a checkpoint.

        Args:
            checkpoint: what Lightning keeps.
            path: a local file.
            storage_options: none are known.

        Raises:
            TypeError: options were given.
        """
        if storage_options is not None:
            raise TypeError(f"storage_options={storage_options!r}: expected none")
        with atomic_write(Path(path), "wb") as stream:
            torch.save(checkpoint, stream)
