"""Files that say whether somebody changed them: JSON with the hash of its own content."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siamese_news.decide.shapes import CERTIFICATE, PLANS, misfit
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write

SEAL = "sha256"


def seal_of(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content, whatever the order of its fields; its own seal is left out."""
    plain = {name: value for name, value in content.items() if name != SEAL}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> str:
    """Write an object with its seal, whole or not at all; returns the seal."""
    seal = seal_of(content)
    with atomic_write(path) as stream:
        json.dump({**content, SEAL: seal}, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    return seal


def read_sealed(path: Path, what: str) -> dict[str, Any]:
    """Read an object that `write_sealed` wrote.

    Args:
        path: the file.
        what: what it should be: ``plan`` or ``certificate``.

    Raises:
        InputError: where it is missing, not JSON, was changed since it was written, or has not the
            shape of what it should be.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        seal = seal_of(content) if isinstance(content, dict) else ""
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); expected the {what} that stands beside "
            "the first sheet"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); expected the {what}") from error
    if not isinstance(content, dict) or SEAL not in content:
        raise InputError(f"{path}: not a {what}; expected a file that this program wrote")
    if content[SEAL] != seal:
        raise InputError(
            f"{path}: the {what} was changed after it was written (its hash does not fit); restore "
            "it: what is fixed before the first label cannot be changed after it"
        )
    shape = CERTIFICATE if what == "certificate" else PLANS.get(str(content.get("kind")))
    wrong = "kind" if shape is None else misfit(content, shape)
    if wrong is not None:
        raise InputError(
            f"{path}: {wrong} in it is missing, or is not what this program writes in a {what}; "
            "restore the file"
        )
    return content
