"""Bring an old model folder to the present layout: ``python -m siamese_news.model.convert DIR``."""

import sys
from pathlib import Path

from siamese_news.errors import InputError
from siamese_news.model.folder import read_folder, write_folder
from siamese_news.model.trained_on import TRAINED_ON, TrainingRecord


def convert(folder: str | Path) -> bool:
    """Move the ids of the training texts out of ``config.json``, as hashes.

    Weights, words and the card stay as they are, byte for byte, and so do all scores.

    Args:
        folder: a model folder; it is replaced whole or not at all.

    Returns:
        Whether the folder had to be converted.

    Raises:
        InputError: the folder is not a complete model folder.
    """
    config, tensors, words = read_folder(folder)
    if "trained_on" not in config or (Path(folder) / TRAINED_ON).is_file():
        return False
    record = TrainingRecord.in_folder(folder, config["trained_on"])
    config["trained_on"] = record.plain()
    card = (Path(folder) / "README.md").read_text(encoding="utf-8")
    write_folder(folder, config, tensors, words, card, trained_on=record.tobytes())
    return True


def main() -> None:
    """Convert the folders named on the command line."""
    if not sys.argv[1:]:
        sys.exit("usage: python -m siamese_news.model.convert DIR [DIR ...]")
    for folder in sys.argv[1:]:
        try:
            print(f"{folder}: {'converted' if convert(folder) else 'is as it should be'}")
        except InputError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
