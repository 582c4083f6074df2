"""Recipe of the model that ships: ``python -m siamese_news.train experiment=pretrained``."""
