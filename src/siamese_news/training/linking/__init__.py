"""The link task: a siamese encoder trained on (article, post) pairs."""
