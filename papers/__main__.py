"""The papers' tables and figures again: ``python -m papers paper=ast [figure=1]``.

Each is laid out next to the published one, in ``outputs/<stamp>``: CSV and Markdown, PNG and SVG,
and one ``index.html``. Long runs leave small results, which are used where they exist.
"""

import logging
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from papers import run
from papers.jobs import Store
from papers.registry import choose
from siamese_news.errors import InputError
from siamese_news.training.launch import share_stamp
from siamese_news.utils.terminal import one_line_errors, quiet_libraries

log = logging.getLogger(__name__)


def reproduce(config: DictConfig, out: Path) -> Path:
    """Lay out what the configuration (``papers/papers.yaml``) names; returns the path of the page.

    Raises:
        InputError: the configuration names no paper, an exhibit that does not exist, seeds that are
            not numbers, or a file as the folder of results.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    paper = plain["paper"]
    if paper is None:
        raise InputError("no paper is named; say paper=ast or paper=samcnn")
    seeds = plain["seeds"]
    made = Path(plain["made"])
    if not (
        isinstance(seeds, list) and seeds and all(type(one) is int for one in seeds)
    ):
        raise InputError(
            f"seeds={seeds}: expected a list of whole numbers, such as seeds=[0,1,2]"
        )
    if any(parent.is_file() for parent in (made, *made.parents)):
        raise InputError(f"made={made}: is a file, or lies below one; name a folder")
    chosen = choose(str(paper), figure=plain["figure"], table=plain["table"])
    saved = None if plain["fresh"] else Path(__file__).parent / "saved"
    store = Store(saved=saved, made=made, paper=paper)
    missing = "train" if plain["fresh"] else plain["missing"]
    return run.reproduce(chosen, out, store=store, seeds=seeds, missing=missing)


@hydra.main(version_base="1.3", config_path=".", config_name="papers")
def _compose_and_reproduce(config: DictConfig) -> None:
    quiet_libraries()
    with one_line_errors(log):
        page = reproduce(config, Path(HydraConfig.get().runtime.output_dir))
    log.info("written: %s", page)


def main() -> None:
    """Entry point."""
    with one_line_errors():
        share_stamp()
    _compose_and_reproduce()


if __name__ == "__main__":
    main()
