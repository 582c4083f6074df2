"""How well the star reads other languages, over the number of translations it learned from.

    python -m benchmarks.translations PAIRS FOLDER [--pairs 5000 20000 77274] [--seed 0]

PAIRS is the file of `models.translations.translated_words`, which writes FOLDER/N for each number N
of pairs; those that exist are read. Prints the mean average precision of the vectors alone, over
all posts of claims-dev and of dast-da, in Markdown; claims-dev also by the language of the seed. The
first row is models/star as it is.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from models.translations.translated_words import drawn, read_translations, train

from benchmarks.second_look import average_precision
from siamese_news.data.sources import open_source
from siamese_news.model.loading import model_of
from siamese_news.model.text_model import TextModel
from siamese_news.utils.markdown import markdown_table

START = Path("models/star")
COUNTS = (5_000, 20_000, 77_274)


def figures(model: TextModel) -> Mapping[str, str]:
    """The columns of a model."""
    columns = {}
    for name in ("dast-da", "claims-dev"):
        collection = open_source(name)
        qrels = collection.split("test")
        seeds = model.encode_articles(
            [collection.articles[id].full_text for id in qrels]
        )
        ids = sorted(collection.posts)  # of two with one score the first by its id
        posts = model.encode_posts([collection.posts[id].text for id in ids])
        precisions = {
            seed: average_precision(
                np.round(cosines, 6),
                np.array([judged.get(post, 0) > 0 for post in ids]),
            )
            for (seed, judged), cosines in zip(
                qrels.items(), seeds @ posts.T, strict=True
            )
        }
        columns[name] = f"{np.mean(list(precisions.values())):.3f}"
    languages = {seed: seed.partition("-")[0] for seed in precisions}
    for language in dict.fromkeys(languages.values()):
        of_language = [
            precisions[s] for s, code in languages.items() if code == language
        ]
        columns[f"… {language}"] = f"{np.mean(of_language):.3f}"
    return columns


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("translations", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", nargs="+", type=int, default=COUNTS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    translations = read_translations(arguments.translations)
    rows = [{"pairs": "0", "words": "0", **figures(model_of(START))}]
    words = len(model_of(START).vocabulary)
    for count in arguments.pairs:
        folder = arguments.folder / str(count)
        if not folder.exists():
            train(START, drawn(translations, count, arguments.seed), folder)
        model = model_of(folder)
        row = {"pairs": f"{count:,}", "words": f"{len(model.vocabulary) - words:,}"}
        rows.append({**row, **figures(model)})
        print(rows[-1], flush=True)
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
