"""The module ``compression.zstd`` of Python 3.14, which older ones have as a package."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
