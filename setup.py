"""Which packages there are; everything else stands in pyproject.toml.

conf/ stands at the top for readers and ships as siamese_news.conf, so that Hydra finds it once the
package is installed. pyproject.toml can discover packages or name one elsewhere, but not both.
Folders of data alone are namespace packages: setuptools ships them without a warning.
"""

import gzip
import os
import tarfile
from pathlib import Path

from setuptools import find_namespace_packages, setup
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


NO_PACKAGE = ["*__pycache__*"]
code = find_namespace_packages(
    "src", include=["siamese_news", "siamese_news.*"], exclude=NO_PACKAGE
)
conf = find_namespace_packages("conf", exclude=NO_PACKAGE)

setup(
    cmdclass={"sdist": ReproducibleSdist},
    packages=[
        *code,
        "siamese_news.conf",
        *(f"siamese_news.conf.{group}" for group in conf),
    ],
    package_dir={"": "src", "siamese_news.conf": "conf"},
)
