"""Fuzz one target, guided by coverage: python tests/fuzz/fuzz.py TARGET [options of libFuzzer].

Such as -max_total_time=600. Needs atheris (the dependency group fuzz). What crashes is left in the
working folder as crash-…; put it into tests/fuzz/crashers/ as TARGET-….
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def main() -> None:
    """Fuzz until libFuzzer's limits are reached."""
    import atheris

    target, options = sys.argv[1], sys.argv[2:]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if target in ("model", "reranker", "sealed"):
        import torch  # noqa: F401  not to be instrumented
    with atheris.instrument_imports(include=["siamese_news"]):
        import targets

        run = targets.TARGETS[target]
        for seed in targets.seeds(target):
            run(seed)
    corpus = Path(tempfile.mkdtemp(prefix=f"corpus-{target}-"))
    for number, seed in enumerate(targets.seeds(target)):
        (corpus / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], *options, str(corpus)], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
