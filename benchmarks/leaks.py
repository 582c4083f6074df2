"""What the test part of a collection shares with its training part: python -m benchmarks.leaks.

One row for each way of splitting; needs the folders in $SIAMESE_NEWS_DATA.
"""

import argparse

from siamese_news.data.leaks import leak_report, leak_table
from siamese_news.data.sources import open_source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="usatoday-cnn", help="a folder, or `stories`")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random splits")
    arguments = parser.parse_args()
    print(leak_table(leak_report(open_source(arguments.data), seed=arguments.seed)))


if __name__ == "__main__":
    main()
