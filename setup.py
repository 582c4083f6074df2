"""Which packages there are; everything else stands in pyproject.toml.

conf/ stands at the top for readers and ships as siamese_news.conf, so that Hydra finds it once the
package is installed. pyproject.toml can discover packages or name one elsewhere, but not both.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages("src"), "siamese_news.conf"],
    package_dir={"": "src", "siamese_news.conf": "conf"},
)
