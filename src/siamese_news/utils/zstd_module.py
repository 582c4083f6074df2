"""The module ``compression.zstd`` of Python 3.14, which older ones have as a package."""

import sys
from importlib import import_module
from typing import Any

zstd: Any = import_module(
    "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
)
