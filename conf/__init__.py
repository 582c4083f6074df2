"""Hydra configuration groups of siamese_news."""
