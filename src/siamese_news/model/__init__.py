"""The model, which turns texts into vectors, and the folder that it is saved in."""

from siamese_news.utils.extras import needs

with needs("model", "siamese_news.model"):
    from siamese_news.model.siamese import BLOCK, Model, Precision
from siamese_news.text.token_ids import Side

__all__ = ["BLOCK", "Model", "Precision", "Side"]
