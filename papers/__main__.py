"""The papers' tables and figures again: ``python -m papers paper=ast [figure=1]``.

Lays each out beside the published one: CSV and Markdown, PNG and SVG, and one ``index.html``, in
``outputs/<stamp>``. Long runs leave small results, which are used where they are there.
"""

import logging
import sys
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from papers.jobs import Store
from papers.registry import choose
from papers.run import reproduce as run
from siamese_news.errors import InputError
from siamese_news.training.launch import share_stamp
from siamese_news.utils.terminal import quiet_libraries

log = logging.getLogger(__name__)


def reproduce(config: DictConfig, out: Path) -> Path:
    """Make what the configuration asks for.

    Args:
        config: the composed configuration (``papers/papers.yaml``).
        out: the folder to write to.

    Returns:
        The path of the page.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    if plain["paper"] is None:
        raise InputError("no paper is named; say paper=ast or paper=samcnn")
    chosen = choose(str(plain["paper"]), figure=plain["figure"], table=plain["table"])
    store = Store(
        saved=Path(plain["saved"]),
        made=Path(plain["made"]),
        paper=plain["paper"],
        fresh=plain["fresh"],
    )
    return run(chosen, out, store=store, seeds=plain["seeds"], missing=plain["missing"])


@hydra.main(version_base="1.3", config_path=".", config_name="papers")
def _compose_and_reproduce(config: DictConfig) -> None:
    """Reproduce; an `InputError` ends in one line, not in a traceback."""
    quiet_libraries()
    try:
        page = reproduce(config, Path(HydraConfig.get().runtime.output_dir))
    except InputError as error:
        log.error("%s", error)
        sys.exit(2)
    log.info("written: %s", page)


def main() -> None:
    """Entry point."""
    try:
        share_stamp()
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    _compose_and_reproduce()


if __name__ == "__main__":
    main()
