"""Which packages there are; everything else stands in pyproject.toml.

conf/ stands at the top for readers and ships as siamese_news.conf, so that Hydra finds it once the
package is installed. pyproject.toml can discover packages or name one elsewhere, but not both.
Folders of data alone are namespace packages: setuptools ships them without a warning.
"""

from setuptools import find_namespace_packages, setup

NO_PACKAGE = ["*__pycache__*"]
code = find_namespace_packages(
    "src", include=["siamese_news", "siamese_news.*"], exclude=NO_PACKAGE
)
conf = find_namespace_packages("conf", exclude=NO_PACKAGE)

setup(
    packages=[*code, "siamese_news.conf", *(f"siamese_news.conf.{group}" for group in conf)],
    package_dir={"": "src", "siamese_news.conf": "conf"},
)
