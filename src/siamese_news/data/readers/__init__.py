"""Readers of posts as people have them: dumps of platforms, tables, pipes, packed or not."""

from siamese_news.data.readers.detect import Detected
from siamese_news.data.readers.rows import Counts
from siamese_news.data.readers.stream import PostStream, open_posts

__all__ = ["Counts", "Detected", "PostStream", "open_posts"]
