"""The papers' tables and figures again: ``python -m siamese_news.reproduce paper=ast [figure=1]``.

Lays each out beside the published one: CSV and Markdown, PNG and SVG, and one ``index.html``, in
``outputs/<stamp>``. Long runs leave small results, which are used where they are there.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.extras import entry_point, needs
from siamese_news.utils.terminal import quiet_libraries

COMMAND = "python -m siamese_news.reproduce"

with entry_point("reproduce", COMMAND, __name__):
    import hydra
    import matplotlib  # noqa: F401  # named here where it is missing, not after hours of training
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig, OmegaConf

    from siamese_news.training.launch import share_stamp

log = logging.getLogger(__name__)


def reproduce(config: DictConfig, out: Path) -> Path:
    """Make what the configuration asks for.

    Args:
        config: the composed configuration (``conf/reproduce.yaml``).
        out: the folder to write to.

    Returns:
        The path of the page.
    """
    from siamese_news.reproduction.jobs import Store
    from siamese_news.reproduction.registry import choose
    from siamese_news.reproduction.run import reproduce as run

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


@hydra.main(version_base="1.3", config_path="pkg://siamese_news.conf", config_name="reproduce")
def _compose_and_reproduce(config: DictConfig) -> None:
    """Reproduce; an `InputError` ends in one line, not in a traceback."""
    quiet_libraries()
    try:
        with needs("reproduce", COMMAND):
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
