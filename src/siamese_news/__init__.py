"""siamese_news: news articles in, the posts about them out."""

__version__ = "0.1.0"
