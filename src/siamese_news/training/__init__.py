"""siamese_news.training."""
