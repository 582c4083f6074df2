"""Does sparse context help either head? The AST paper's question, on both heads.

``python -m benchmarks.ablation [--steps N] [--seeds 0,1,2]``

Every cell trains one head alone, for the same number of steps on the same batches, from the same
start: the lexical head from background IDF x lead prior, the dense head from the IDF-weighted mean
of centered GloVe. Judged on dev sets alone. Each run is a line of the results file; when it is
started again, the script does the missing runs and writes the table anew. It needs
SIAMESE_NEWS_DATA and SIAMESE_NEWS_VECTORS.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_module
from hydra.utils import instantiate
from omegaconf import OmegaConf

from benchmarks.ablation_table import table
from siamese_news.data.sources import EvaluationSet
from siamese_news.encoders import build_encoder
from siamese_news.evaluation.system_results import evaluate_model
from siamese_news.model import Model
from siamese_news.model.siamese import heads
from siamese_news.training.build import add_terms, build_model, build_text, plain_config
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.objective import TermVectors
from siamese_news.utils.files import atomic_write

CONFIG = (
    "data=mixed",
    "encoder=two_head",
    "objective=ntxent",
    "vectors=glove100",
    "vectors.unknown=hash",
    "vectors.remove_components=3",
    "data.limits.article_tokens=200",
)
DEVS = ("usatoday_cnn", "facebook_teasers", "fnc1")
KINDS = ("softmax", "entmax15", "sparsemax", "adaptive")
LR = 3e-3  # learning rate of every cell, falling linearly
Cell = tuple[str, str, str]  # head, context, sparsity


def cells() -> list[Cell]:
    """The cells that can differ; the notes of the table name the others."""
    cell_list = [("lexical", "bag", kind) for kind in KINDS]
    cell_list += [
        ("lexical", "bag, 10 x lr", "softmax"),
        ("lexical", "mean", "softmax"),
    ]
    cell_list += [("lexical", "star", kind) for kind in KINDS]
    cell_list += [("lexical", "star with e_i", "adaptive")]
    cell_list += [("dense", "bag", "none")]
    cell_list += [("dense", "star", kind) for kind in KINDS]
    return cell_list


def _plain(*overrides: str) -> dict[str, Any]:
    composed = compose("train", overrides=list(overrides))
    values: Any = OmegaConf.to_container(composed, resolve=True)
    return dict(values)


class Bench:
    """Texts, batches and dev sets, read once; a fresh encoder for each run."""

    def __init__(self) -> None:
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            config = _plain(*CONFIG)
            others = [_plain(f"data={name}")["data"] for name in DEVS]
            self.kinds = {
                kind: plain_config(_plain(f"sparsity={kind}")["sparsity"])
                for kind in KINDS
            }
        self.config = config
        train = SiameseDataModule(config["data"], seed=0).train_set
        text = build_text(config["vectors"], config["task"]["tokenizer"])
        self.model: Model = build_model(config, text, train.texts())
        articles = (a.full_text for a in train.articles)
        posts = (p.text for p in train.posts)
        add_terms(self.model, config["terms"], articles, posts)
        self.data = SiameseDataModule(config["data"], vectors=self.model, seed=0)
        self.devs: list[EvaluationSet] = []
        for other in others:
            dev = SiameseDataModule(data=other, seed=0).dev
            assert dev is not None
            self.devs.append(dev)

    def run(self, cell: Cell, seed: int, steps: int) -> dict[str, Any]:
        """Train one cell and measure it; without steps the start is measured."""
        head, context, kind = cell
        torch.manual_seed(seed)
        options = dict(self.model.config)
        sparsity = self.kinds["softmax" if kind == "none" else kind]
        star = {**options["context"], "sparsity": sparsity}
        star["context_includes_embedding"] = context == "star with e_i"
        starry = context.startswith("star")
        options |= {"sparsity": sparsity, "context": star if starry else None}
        options["relay"] = not context.startswith("bag")
        options["output_dim"] = None if starry else options["input_dim"]
        model = self.model
        model.encoder = build_encoder(options)
        assert model.terms is not None
        model.terms.options = replace(
            model.terms.options,
            dense=float(head == "dense"),
            article_tokens=self.config["data"]["limits"]["article_tokens"],
            bigram_weight=0.0,
            focused_pool=replace(model.terms.options.focused_pool, posts=10**9),
        )
        started = time.process_time()
        self._train(head, seed, steps, lr=LR * (10 if context == "bag, 10 x lr" else 1))
        minutes = (time.process_time() - started) / 60
        results = [
            evaluate_model(model, "dev", dev, bootstrap=0).evaluation
            for dev in self.devs
        ]
        return {
            "cell": list(cell),
            "seed": seed,
            "steps": steps,
            "minutes": round(minutes, 2),
            "AP": [
                {k: round(v, 5) for k, v in result.per_article["AP"].items()}
                for result in results
            ],
        }

    def _train(self, head: str, seed: int, steps: int, *, lr: float) -> None:
        assert self.model.terms is not None
        self.data.seed = seed
        self.model.train()
        objective = instantiate(self.config["objective"])
        parameters = [p for p in self.model.encoder.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.LinearLR(
            optimizer, 1.0, 0.05, total_iters=steps
        )
        vectors = TermVectors(self.model.terms)
        for batch in self._batches(steps):
            ids = batch["article_ids"], batch["post_ids"]
            encode = partial(heads, self.model)
            articles, by = encode(ids[0], side="article")
            posts, post_by = encode(ids[1], side="post")
            if head == "lexical":
                articles, posts = vectors(*ids, by, post_by)
            loss = objective(
                articles, posts, batch["article_labels"], batch["post_labels"]
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
        self.model.eval()

    def _batches(self, steps: int) -> Iterator[dict[str, torch.Tensor]]:
        loader = iter(self.data.train_dataloader())
        for _ in range(steps):
            yield next(loader)


def completed(
    path: Path,
    wanted: Sequence[tuple[Cell, int, int]],
) -> list[dict[str, Any]]:
    """The runs in a file of results, one a line, after those that it lacks are added.

    Args:
        path: the file.
        wanted: the runs, each by its cell, seed and number of steps.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text().splitlines() if path.is_file() else []
    runs = [json.loads(line) for line in lines]
    done = [[run["cell"], run["seed"], run["steps"]] for run in runs]
    missing = [run for run in wanted if json.loads(json.dumps(run)) not in done]
    if not missing:
        return runs
    bench = Bench()
    for place, run in enumerate(missing):
        started = time.monotonic()
        runs.append(bench.run(*run))
        with path.open("a") as stream:
            stream.write(json.dumps(runs[-1]) + "\n")
        took = f"{time.monotonic() - started:.0f} s"
        print(
            f"{place + 1}/{len(missing)} {run[0]} seed {run[1]}: {took}",
            file=sys.stderr,
        )
    return runs


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument(
        "--results", type=Path, default=Path("bench-results/ablation.jsonl")
    )
    parser.add_argument("--out", type=Path, default=Path("bench-results/ablation.md"))
    parser.add_argument(
        "--table-only", action="store_true", help="of the runs there are"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    # The untrained cells.
    wanted = [((head, "bag", "none"), 0, 0) for head in ("lexical", "dense")]
    wanted += [(cell, seed, arguments.steps) for seed in seeds for cell in cells()]
    runs = completed(arguments.results, [] if arguments.table_only else wanted)
    with atomic_write(arguments.out) as stream:
        stream.write(table(runs, arguments.steps, DEVS))


if __name__ == "__main__":
    main()
