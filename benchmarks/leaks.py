"""What the test part of a collection shares with its training part: python -m benchmarks.leaks.

One row for each way of splitting; needs the folders in $SIAMESE_NEWS_DATA.
"""

import argparse
from contextlib import suppress

from siamese_news.data.leaks import Leak, leaks
from siamese_news.data.records import Collection
from siamese_news.data.sources import open_source
from siamese_news.data.splits import resplit
from siamese_news.errors import InputError
from siamese_news.utils.markdown import markdown_table


def leak_report(collection: Collection, *, seed: int = 0) -> dict[str, dict[str, Leak]]:
    """`leaks` under each way of splitting that the collection allows.

    (No ``given`` without the files' own train and test; no ``event`` without events.)
    """
    report = {}
    for way in ("given", "pair", "article", "event"):
        with suppress(InputError):
            split = resplit(collection, by=way, fractions=(0.8, 0.1, 0.1), seed=seed)
            report[way] = leaks(split)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="usatoday-cnn", help="a folder, or `stories`")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random splits")
    arguments = parser.parse_args()
    report = leak_report(open_source(arguments.data), seed=arguments.seed)
    counts = [
        {name.replace("_", " "): str(n) for name, n in one.items()} for one in report.values()
    ]
    rows = [{"split by": way} | row for way, row in zip(report, counts, strict=True)]
    print(markdown_table(rows) if rows else "no split with both train and test pairs")


if __name__ == "__main__":
    main()
