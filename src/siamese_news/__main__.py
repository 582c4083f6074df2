"""``python -m siamese_news`` is ``siamese-news``."""

import sys

from siamese_news.errors import MissingExtraError
from siamese_news.utils.extras import needs


def main() -> None:
    """Entry point of the command line; what is not installed ends in one line, not a traceback."""
    try:
        with needs("search", "siamese-news"):
            from siamese_news.cli import app

            app()
    except MissingExtraError as error:
        print(f"siamese-news: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
