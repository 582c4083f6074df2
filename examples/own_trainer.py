"""The module and the data under your own Lightning Trainer; needs siamese-news[train,glove]."""

import sys

import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

from siamese_news import SiameseDataModule, SiameseModule

if __name__ == "__main__":
    pl.seed_everything(0)
    data = SiameseDataModule("stories")
    module = SiameseModule(encoder="star", sparsity="adaptive", vectors="glove50")
    best = ModelCheckpoint(dirpath=sys.argv[1], monitor="dev/map", mode="max")
    trainer = pl.Trainer(
        max_epochs=5,
        accelerator="cpu",
        logger=False,
        gradient_clip_val=1.0,
        callbacks=[best, EarlyStopping("dev/map", mode="max", patience=2)],
    )
    trainer.fit(module, datamodule=data)
    figures = trainer.test(module, datamodule=data)[0]
    print(f"MAP {figures['test/map']:.3f}")
    SiameseModule.load_from_checkpoint(best.best_model_path).save(
        f"{sys.argv[1]}/model"
    )
