"""Does the paper's encoder gain anything as a student of the lists that the shipped model learned?

    python -m benchmarks.ablation_lists [--steps 600] [--seeds 0,1,2]

Every run starts from the table of words that ships, which is trained with the encoder over it, on
the shipped model's own lists (`models.pretrained.lists`). The encoders are the bag, and the
paper's star with softmax and with learned alpha, which starts as the bag. Judged on dev pools,
first pass: the vectors alone, and in the mixture that ships, without smoothing and feedback. Needs
SIAMESE_NEWS_DATA, SIAMESE_NEWS_VECTORS and the extra [bench] for its teacher. Each run is a line of
the results file; when it is started again, the script does the missing runs. Prints Markdown.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from models.pretrained.list_student import Lists, StudentModule, list_loader
from models.pretrained.lists import read_corpus, training_lists
from papers.training_runs import compose_training
from torch import Tensor, nn

from benchmarks.ablation import completed
from benchmarks.dev_collections import labeled_pools
from benchmarks.dev_pools import shared_dev_pools
from benchmarks.dev_table import dev_figures
from benchmarks.pools import Pool
from siamese_news.data.collate import pad
from siamese_news.encoders import (
    BagEncoder,
    Encoder,
    StarEncoder,
    TokenEmbedding,
    lead_weights,
)
from siamese_news.model import Model
from siamese_news.sparsity import AdaptiveEntmax, Softmax
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.teacher import taught
from siamese_news.training.trainer import make_trainer
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

CONFIG = ("experiment=pretrained", "task.teacher.bf16=true")
LR = 1e-3  # half of what the table that ships was trained with, falling linearly; not tuned
FIGURES = ("links", "topic", "teasers", "headlines", "crises", "fact_checks", "webis")
LEAD = 20.0  # as `task.lead` of the model that ships


class LeadStar(StarEncoder):
    """The paper's star whose tokens weigh the less the later they stand, as in the bag.

    The weights of the words are left aside: they are in the words' vectors here.
    """

    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """See `Encoder`."""
        return super().forward(embeddings, mask, _lead(mask))

    def encode_words(
        self, words: Any, rows: Tensor, mask: Tensor, weights: Any = None
    ) -> Tensor:
        """See `Encoder`."""
        return super().encode_words(words, rows, mask, _lead(mask))


def _lead(mask: Tensor) -> Tensor:
    return lead_weights(torch.arange(mask.shape[1]), LEAD).expand(mask.shape)


def star(sparsity: Any) -> Callable[[int], Encoder]:
    """The star over D-dimensional words: one cycle, c = 2, four heads."""
    return lambda dim: LeadStar(
        input_dim=dim, heads=4, head_dim=dim // 4, sparsity=sparsity
    )


ENCODERS: dict[str, Callable[[int], Encoder]] = {
    "bag": lambda dim: BagEncoder(input_dim=dim, weighting="idf", lead=LEAD),
    "star, softmax": star(Softmax),
    "star, learned alpha": star(AdaptiveEntmax),
}


class ListStudent(nn.Module):
    """A model's table and encoder behind the interface of the distilling loss.

    Args:
        model: its table and encoder are trained in place.
        teacher_dim: size of the teacher's vectors.
    """

    def __init__(self, model: Model, teacher_dim: int) -> None:
        super().__init__()
        self.embedding = model.embedding
        self.encoder = model.encoder
        self.to_teacher = nn.Linear(model.output_dim, teacher_dim, bias=False)

    def forward(self, ids: Tensor, starts: Tensor) -> Tensor:
        """Unit vectors (B, D) of texts laid end to end: ids (N,), starts (B,)."""
        texts = np.split(ids.numpy(), starts[1:].tolist())
        return nn.functional.normalize(self.encoder(*self.embedding(pad(texts))), dim=1)


class ListModule(StudentModule):
    """The distilling loss, every parameter at one learning rate; the losses are kept."""

    def __init__(self, student: Any, *, steps: int, temperature: float) -> None:
        super().__init__(student, lr=LR, steps=steps, temperature=temperature)
        self.losses: list[float] = []

    def training_step(self, batch: Lists, batch_idx: int) -> Tensor:
        """One step."""
        loss = super().training_step(batch, batch_idx)
        self.losses.append(float(loss.detach()))
        return loss

    def configure_optimizers(self) -> Any:
        """Adam, falling linearly."""
        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        schedule = torch.optim.lr_scheduler.LinearLR(
            optimizer, 1.0, 0.02, total_iters=self.steps
        )
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


class Bench:
    """Lists and pools, read once."""

    def __init__(self) -> None:
        config = compose_training(CONFIG)
        self.task = config["task"]
        self.trainer = config["trainer"]
        texts = read_corpus(SiameseDataModule(data=config["data"], seed=0), self.task)
        model = Model.pretrained()
        assert model.terms is not None
        articles, posts = ([model.ids(text) for text in side] for side in texts)
        said = taught(*texts, self.task["teacher"])
        self.lists = training_lists(config, articles, posts, said, model.terms)
        self.pools: list[Pool] = [*shared_dev_pools(), *labeled_pools()]

    def run(self, name: str, seed: int, steps: int) -> dict[str, Any]:
        """Train one encoder and measure it; without steps the start is measured."""
        pl.seed_everything(seed, workers=True, verbose=False)
        model = _start(ENCODERS[name])
        started = time.process_time()
        losses = self._train(model, seed, steps) if steps else []
        minutes = (time.process_time() - started) / 60
        plain = {"smooth": False, "expand": False}
        return {
            "encoder": name,
            "seed": seed,
            "steps": steps,
            "minutes": round(minutes, 1),
            "loss": float(np.mean(losses[-100:])) if losses else None,
            "alone": dev_figures(model, self.pools, fusion="vectors", **plain),
            "mixed": dev_figures(model, self.pools, **plain),
        }

    def _train(self, model: Model, seed: int, steps: int) -> list[float]:
        lists = self.task["lists"]
        student = ListStudent(model, self.lists.teacher[0].shape[1])
        module = ListModule(student, steps=steps, temperature=lists["temperature"])
        trainer = make_trainer(
            self.trainer,
            max_steps=steps,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
        )
        batches = list_loader(
            self.lists,
            batch=self.task["batch"],
            candidates=lists["candidates"],
            seed=seed,
        )
        trainer.fit(module.train(), batches)
        model.eval()
        return module.losses


def _start(make: Callable[[int], Encoder]) -> Model:
    """The model that ships, its table trainable under an encoder."""
    model = Model.pretrained()
    # A word's weight goes into its vector, so that it is trained, too.
    table = (model.embedding.matrix * model.embedding.token_weights[:, None]).clone()
    model.embedding = TokenEmbedding(table, trainable=True, unknown_weight=0.0)
    model.encoder = make(table.shape[1])
    return model.eval()


def table(runs: list[dict[str, Any]], steps: int) -> str:
    """The runs as Markdown: means over seeds, and the lowest and highest mean of the figures."""
    rows = []
    for name in ENCODERS:
        for length in (0, steps):
            kept = [
                run for run in runs if run["encoder"] == name and run["steps"] == length
            ]
            for what in ("alone", "mixed") if kept else ():
                each = [[run[what][figure] for figure in FIGURES] for run in kept]
                means = [float(np.mean(figures)) for figures in each]
                rows.append(
                    {
                        "encoder": name if length else f"{name}, untrained",
                        "vectors": what,
                        "seeds": len(kept),
                        **{
                            f: f"{v:.4f}"
                            for f, v in zip(FIGURES, np.mean(each, 0), strict=True)
                        },
                        "mean": f"{np.mean(means):.4f}",
                        "over seeds": f"{min(means):.4f} to {max(means):.4f}",
                        "loss": f"{np.mean([r['loss'] for r in kept]):.4f}"
                        if length
                        else "",
                        "minutes": f"{np.mean([r['minutes'] for r in kept]):.1f}"
                        if length
                        else "",
                    }
                )
    return markdown_table(rows)


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ablation_lists",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument(
        "--results", type=Path, default=Path("bench-results/ablation_lists.jsonl")
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    wanted = [("bag", 0, 0)]
    wanted += [
        (n, int(s), arguments.steps)
        for s in arguments.seeds.split(",")
        for n in ENCODERS
    ]
    runs = completed(arguments.results, wanted, "encoder", Bench)
    print(table(runs, arguments.steps))
    about = provenance()
    print(
        about["command"], about["date"], about["revision"], about["machine"], sep=" · "
    )


if __name__ == "__main__":
    main()
