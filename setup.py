"""Which packages there are, and the loops in C; everything else stands in pyproject.toml.

conf/ stands at the top for readers and ships as siamese_news.conf, so that Hydra finds it once the
package is installed. pyproject.toml can discover packages or name one elsewhere, but not both.
Folders of data alone are namespace packages: setuptools ships them without a warning.

The loops are built where a C compiler is there (GCC or Clang) and SIAMESE_NEWS_COMPILE is not 0;
without them everything works in Python. After a change of a C file, in a checkout:
python setup.py build_ext --inplace
"""

import gzip
import hashlib
import os
import platform
import tarfile
from contextlib import suppress
from pathlib import Path

from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist


class ReproducibleSdist(sdist):
    """The same sources give the same bytes where SOURCE_DATE_EPOCH is set, as for a wheel."""

    def make_archive(
        self, base_name, format, root_dir=None, base_dir=None, *args, **options
    ):
        """Pack the files in the order of their names, with one date and no owner."""
        date = os.environ.get("SOURCE_DATE_EPOCH")
        if format != "gztar" or date is None:
            return super().make_archive(
                base_name, format, root_dir, base_dir, *args, **options
            )

        def plain(entry):
            entry.mtime = int(date)
            entry.uid = 0
            entry.gid = 0
            entry.uname = ""
            entry.gname = ""
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            return entry

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as raw,
            gzip.GzipFile(
                filename="", fileobj=raw, mode="wb", mtime=int(date)
            ) as packed,
            tarfile.open(
                fileobj=packed, mode="w", format=tarfile.PAX_FORMAT
            ) as archive,
        ):
            for file in sorted(Path(root_dir or ".", base_dir).rglob("*")):
                name = file.relative_to(root_dir or ".").as_posix()
                archive.add(file, name, recursive=False, filter=plain)
        return path


class Wheel(bdist_wheel):
    """A wheel for every Python of a platform: the loops are loaded by ctypes."""

    def get_tag(self):
        """The tag of the wheel's name."""
        _, _, system = super().get_tag()
        return "py3", "none", system


class BuildLoops(build_ext):
    """Plain shared objects, which no Python imports."""

    def get_ext_filename(self, fullname):
        """A name without the version of Python."""
        return f"{os.path.join(*fullname.split('.'))}.so"

    def get_export_symbols(self, ext):
        """Everything is exported, and there is no function PyInit."""
        return []


class EditableWheel(editable_wheel):
    """A path to src/, which type checkers read too, where setuptools would install a hook.

    It installs one because conf/ is not in src/; a link there makes it the same layout.
    """

    def finalize_options(self):
        """Keep the hook where the system has no links."""
        super().finalize_options()
        with suppress(OSError):
            if not CONF.exists():
                CONF.symlink_to(Path("..", "..", "conf"), target_is_directory=True)
            if self.mode is None:
                self.package_dir = {"": "src"}


CONF = Path("src", "siamese_news", "conf")
PLAIN = {"": ""}


def loops(source, kinds=PLAIN):
    """The shared objects of a C file, one for each kind of processor with its options."""
    digest = hashlib.sha256(Path("src", "siamese_news", source).read_bytes())
    # No -ffast-math: it takes NaN for impossible, and broken weights would go unseen.
    # No -g: the path of this folder would be in the wheel.
    options = "-O3 -g0 -ffp-contract=fast -fno-math-errno -fno-trapping-math -Wno-psabi"
    for kind, tuned in kinds.items():
        yield Extension(
            f"siamese_news.{source.removesuffix('.c').replace('/', '.')}{kind}",
            [f"src/siamese_news/{source}"],
            define_macros=[("HASH_OF_SOURCE", f"0x{digest.hexdigest()[:16]}u")],
            extra_compile_args=[*options.split(), *tuned.split()],
            optional=True,
        )


# A processor of x86 without AVX2 (before 2013) computes attention in Python.
AVX512 = "avx512f avx512bw avx512cd avx512dq avx512vl fma prefer-vector-width=512"
OF_X86 = {
    "_avx2": "-mavx2 -mfma",
    "_avx512": " ".join(f"-m{option}" for option in AVX512.split()),
}
# Only Linux names the processor's instructions in a file.
IS_X86 = (platform.system(), platform.machine()) == ("Linux", "x86_64")
LOOPS = [
    *loops("text/chunks.c"),
    *loops("text/automaton.c"),
    # The same numbers as in Python: no multiplication is fused with an addition.
    *loops("scoring/neighbors.c", {"": "-ffp-contract=off"}),
    *loops("attention/loops.c", OF_X86 if IS_X86 else PLAIN),
]

NO_PACKAGE = ["*__pycache__*"]
code = find_namespace_packages(
    "src",
    include=["siamese_news", "siamese_news.*"],
    exclude=[*NO_PACKAGE, "siamese_news.conf", "siamese_news.conf.*"],
)
conf = find_namespace_packages("conf", exclude=NO_PACKAGE)

setup(
    cmdclass={
        "bdist_wheel": Wheel,
        "build_ext": BuildLoops,
        "editable_wheel": EditableWheel,
        "sdist": ReproducibleSdist,
    },
    ext_modules=LOOPS if os.environ.get("SIAMESE_NEWS_COMPILE") != "0" else [],
    packages=[
        *code,
        "siamese_news.conf",
        *(f"siamese_news.conf.{group}" for group in conf),
    ],
    package_dir={"": "src", "siamese_news.conf": "conf"},
)
