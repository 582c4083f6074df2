"""``python -m siamese_news`` is ``siamese-news``."""

import gc
import io
import os
import sys

from siamese_news.errors import MissingExtraError
from siamese_news.utils.extras import needs


def main() -> None:
    """Entry point of the command line; what is not installed ends in one line, not a traceback."""
    # Posts and tokens are many objects without cycles: looking for some after every 700 new ones
    # takes a tenth of a search. Only here, since a library leaves its host's collector alone.
    gc.set_threshold(100_000, 50, 100)
    # Read when numpy is imported: threads that `use_threads` would stop later take 40 MB of addresses.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A console that has no sign for an emoji shows its number, so ids stay distinct.
            stream.reconfigure(errors="backslashreplace")
    try:
        with needs("", "siamese-news"):
            from siamese_news.utils.processes import use_safe_paths
            from siamese_news.utils.terminal import one_line_errors

            with one_line_errors():
                use_safe_paths()
            from siamese_news.cli import app

            app()
    except MissingExtraError as error:
        print(f"siamese-news: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
