"""The bytes of an installation that searches: python -m benchmarks.install_size.

Counts the files of all packages that siamese-news needs without an extra, as ``importlib.metadata``
lists them, but Python's compiled files. Its own wheel comes on top (18 MB, both models included).
"""

from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

from benchmarks.printed_table import print_table


def needed(name: str) -> dict[str, int]:
    """The bytes of a package and of all that it needs, by name."""
    sizes: dict[str, int] = {}
    names = [name]
    while names:
        name = names.pop().lower().replace("_", "-")
        if name in sizes:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # for another platform
        sizes[name] = sum(
            path.stat().st_size
            for file in package.files or ()
            if file.suffix != ".pyc" and (path := file.locate()).is_file()
        )
        for line in package.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                names.append(requirement.name)
    return sizes


def main() -> None:
    """Print the table."""
    sizes = needed("siamese-news")
    sizes.pop("siamese-news")  # an editable one has no files of its own
    rows = [
        {"package": name, "MB": f"{size / 1e6:.1f}"}
        for name, size in sorted(sizes.items(), key=lambda entry: -entry[1])
        if size > 1e6
    ]
    print_table(rows)
    print(f"{sum(sizes.values()) / 1e6:.0f} MB in {len(sizes)} packages, without .pyc")


if __name__ == "__main__":
    main()
