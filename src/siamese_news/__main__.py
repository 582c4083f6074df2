"""``python -m siamese_news`` is ``siamese-news``."""

from siamese_news.cli import main

main()
