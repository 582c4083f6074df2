"""The model, which turns texts into vectors, and the folder that it is saved in."""

from typing import TYPE_CHECKING, Any

from siamese_news.model.text_model import BLOCK, Precision, TextModel
from siamese_news.text.token_ids import Side
from siamese_news.utils.extras import lazy_attribute

if TYPE_CHECKING:
    from siamese_news.model.siamese import Model

__all__ = ["BLOCK", "Model", "Precision", "Side", "TextModel"]


def __getattr__(name: str) -> Any:
    """`Model` needs torch, so it is imported when it is first used."""
    return lazy_attribute(__name__, {"siamese": ("Model",)}, name, "encoders")
