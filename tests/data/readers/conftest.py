"""Writing files of posts, and reading them in one go."""

import gzip
import json

import pytest
import zstandard

from siamese_news.data.readers import open_posts

PACK = {".gz": gzip.compress, ".zst": zstandard.compress}


@pytest.fixture
def write(tmp_path):
    """Write bytes, a text or records (as JSON lines) to a file, packed by its ending."""

    def write(name, content):
        if isinstance(content, list):
            content = "".join(json.dumps(record) + "\n" for record in content)
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogatepass")
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PACK.get(path.suffix, bytes)(content))
        return path

    return write


@pytest.fixture
def read(write):
    """The stream, after one pass, and its posts."""

    def read(name, content, **options):
        stream = open_posts([write(name, content)], **options)
        return stream, list(stream)

    return read
