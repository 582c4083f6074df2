"""How high each page stands among the results of the site's search.

Pages that teach come before the reference, and both before lists of changes and of figures, which
name almost every word somewhere.
"""

from typing import Any

from mkdocs.structure.pages import Page

# The page on a subject, where other pages name it more often for its length.
SUBJECTS = {"certify.md": 2.5, "api/metrics.md": 2.0}
# Words that a page is about and that none of its headings has: another page's heading would win.
WORDS = {"api/metrics.md": ["r-Precision", "mRP"]}
FOLDERS = {"api/": 0.3, "benchmarks/": 0.3, "reproduction/": 0.7}
PAGES = {"CHANGELOG.md": 0.2, "ARCHITECTURE.md": 0.5, "CONTRIBUTING.md": 0.5}


def boost_of(uri: str) -> float:
    """By how much a page's score is multiplied."""
    by_folder = (boost for folder, boost in FOLDERS.items() if uri.startswith(folder))
    return SUBJECTS.get(uri) or PAGES.get(uri) or next(by_folder, 1.0)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Tell the search plugin."""
    page.meta["search"] = {"boost": boost_of(page.file.src_uri)}
    if words := WORDS.get(page.file.src_uri):
        page.meta["tags"] = words  # no plugin shows them: only the search reads them
    return markdown
