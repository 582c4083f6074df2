"""Ring and star attention with sparse weights."""

from siamese_news.attention.attention import Attention, Similarity
from siamese_news.attention.ring import RingAttention
from siamese_news.attention.star_attention import StarAttention

__all__ = ["Attention", "RingAttention", "Similarity", "StarAttention"]
