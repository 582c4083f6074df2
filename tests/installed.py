"""What a test needs beyond the package itself."""

from importlib.util import find_spec

import pytest

WITH_DESK = find_spec("siamese_news_desk") is not None
needs_desk = pytest.mark.skipif(
    not WITH_DESK, reason="siamese-news-desk is not installed"
)
