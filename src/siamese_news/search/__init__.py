"""siamese_news.search."""
