"""Early stopping that is remembered."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping


class Patience(EarlyStopping):
    """`EarlyStopping`, also of a run that goes on from a checkpoint.

    Lightning restores how often nothing was gained, but would train another epoch where a run was
    cut off after its last one, while its figures were computed.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop before the first batch if the run that goes on had come to its end."""
        if self.wait_count >= self.patience:
            trainer.should_stop = True
