"""Near-duplicates: retweets, copied headlines and trivially edited copies, as clusters.

Two posts are near-duplicates if their normal forms are equal, or have the same numbers and an
exact Jaccard similarity of character 4-grams at or above a threshold. Clusters are the connected
components of that relation, so the partition does not depend on the order of the posts. MinHash
only proposes the pairs to compare; the texts determine its proposals.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from siamese_news.data.records import Post
from siamese_news.data.splits import same_text_key
from siamese_news.scoring.candidates import mix
from siamese_news.text.patterns import clean
from siamese_news.utils.unicode import normalized

SHORT = 20
"""A normal form of fewer characters merges only with its equal."""

CLUSTERED = 100_000
"""More posts are clustered only on request: it takes 6 KB of memory a post."""

_PERMUTATIONS = 128
_MISS = 1e-6  # chance, at the threshold itself, that MinHash never proposes a pair
# Pairs proposed for a post in one bucket: a flood of copies stays linear.
_NEIGHBORS = 16
_PAIRS = 1 << 16  # compared at once
_TOGETHER = 512  # texts whose signatures are made at once

_RETWEET = re.compile(r"\s*(?:(?:rt|mt)\s+@[\w.@-]+\s*:?\s*)+", re.IGNORECASE)
_NAMED = r"\bhttps?\b\S*|\bwww\.\S+"
_ADDRESS = r"(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63}){0,3}\.[a-z]{2,10}/\S*"
_MENTION = r"(?:\bvia\s+)?(?<!\w)@\w+(?:[.-]\w+)*(?:@\w+(?:[.-]\w+)*)?"
_LINK = re.compile(f"{_NAMED}|{_ADDRESS}|{_MENTION}", re.IGNORECASE)
# Most posts have no slash, and an address is looked for at every word.
_LINK_WITHOUT_SLASH = re.compile(f"{_NAMED}|{_MENTION}", re.IGNORECASE)
_TAG = re.compile(r"#\w+")
_NUMBER = re.compile(r"\d+")


def cluster_posts(texts: Sequence[str], *, threshold: float = 0.8) -> list[int]:
    """The cluster number of each text, from 0, in the order in which clusters first appear.

    Two texts are copies of each other if the Jaccard similarity of the 4-grams of their normal
    forms reaches the threshold.
    """
    forms = [normal_form(text) for text in texts]
    # Sorted, so that the order of the posts makes no difference.
    different = sorted(set(forms))
    cluster = dict(zip(different, _near(different, threshold), strict=True))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(cluster[form], len(numbers)) for form in forms]


def normal_form(text: str) -> str:
    """The part that copies of one text share: its lower-case words.

    Left out are ``RT @name:``, links, mentions, punctuation, the half word of a text cut off with
    an ellipsis, and hashtags after the end of the text; one that follows a word directly may be
    part of the sentence ("pray for #Boston") and stays, as a word. A text of few words keeps its
    emoji, and one without any word keeps everything.
    """
    plain = " ".join(text.split())
    if not plain.isascii() or not plain.isprintable() or "&" in plain:
        cleaned = " ".join(map(clean, plain.split()))
        plain = normalized("NFKC", cleaned)
    if _RETWEET.match(plain):
        plain = _RETWEET.sub("", plain, count=1)
    body = _without_labels(_without_links(plain))
    words = same_text_key(body)
    if len(words) >= SHORT:
        complete_words, _, cut_word = body.rstrip(" |").rpartition(" ")
        return (
            same_text_key(complete_words)
            if cut_word.endswith("...") and complete_words
            else words
        )
    signs = "".join(filter(_is_sign, body))
    return f"{words} {signs}".strip() or plain.strip()


def _without_links(plain: str) -> str:
    """The text with a bar in place of each link and mention."""
    if "/" in plain:
        return _LINK.sub(" | ", plain)
    lowered = plain.lower()
    if "@" in plain or "http" in lowered or "www." in lowered:
        return _LINK_WITHOUT_SLASH.sub(" | ", plain)
    return plain


def _without_labels(text: str) -> str:
    """The text without the hashtags that only label it."""
    chunks = text.split()
    end = len(chunks)
    while end and not any(
        character.isalnum() or _is_sign(character)
        for character in _TAG.sub("", chunks[end - 1])
    ):
        end -= 1
    if end == 0:  # nothing but hashtags: they are the text
        return text
    tag_follows = end < len(chunks) and chunks[end].startswith("#")
    if tag_follows and chunks[end - 1][-1].isalnum():
        end += 1
    return " ".join(chunks[:end])


def _is_sign(character: str) -> bool:
    return unicodedata.category(character) == "So"


def _near(forms: list[str], threshold: float) -> list[int]:
    """The component of each of some different normal forms."""
    components = np.arange(len(forms))
    long = [row for row, form in enumerate(forms) if len(form) >= SHORT]
    if len(long) < 2:
        return components.tolist()
    shingles = [_shingles(forms[row]) for row in long]
    sizes = np.array([len(codes) for codes in shingles])
    matrix = _as_rows(shingles, sizes)
    number_labels = _by_numbers([forms[row] for row in long])
    roots = np.arange(len(long))
    for band in _bands(shingles, threshold):
        rows, partners = _proposed(band, number_labels)
        # Pairs that are already together, or of sizes too far apart, need no comparison.
        small, large = np.sort(np.stack([sizes[rows], sizes[partners]]), axis=0)
        keep = (roots[rows] != roots[partners]) & (small >= threshold * large)
        rows = rows[keep]
        partners = partners[keep]
        near = _verified(matrix, sizes, rows, partners, threshold)
        if near.any():
            # Imports linear algebra too, which takes a twentieth of a short search.
            from scipy.sparse.csgraph import connected_components

            pairs = (roots[rows[near]], roots[partners[near]])
            graph = coo_array((near[near], pairs), shape=(len(long), len(long)))
            _, component_of_root = connected_components(graph, directed=False)
            roots = component_of_root[roots]
    components[long] = len(forms) + roots
    return components.tolist()


def _by_numbers(forms: Sequence[str]) -> np.ndarray:
    """A label for each of some normal forms, equal where they have the same numbers."""
    labels: dict[str, int] = {}
    numbers = (" ".join(sorted(_NUMBER.findall(form))) for form in forms)
    return np.array([labels.setdefault(text, len(labels)) for text in numbers])


def _as_rows(shingles: Sequence[np.ndarray], sizes: np.ndarray) -> Any:
    """The shingles of each text, of which there are `sizes`, as a row of a sparse matrix."""
    # Columns are the codes themselves: rows are only compared with each other.
    columns = np.concatenate(shingles).view(np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    entries = (np.ones(len(columns), np.bool_), columns, ends)
    return csr_array(entries, shape=(len(shingles), np.iinfo(np.int64).max))


def clusters_of(posts: Sequence[Post]) -> dict[str, tuple[int, int]]:
    """Id -> number and size of the post's cluster of near-duplicates among these posts."""
    numbers = cluster_posts([post.text for post in posts])
    sizes = Counter(numbers)
    return {post.id: (n, sizes[n]) for post, n in zip(posts, numbers, strict=True)}


def _shingles(form: str) -> np.ndarray:
    """Its different 4-grams (of UTF-16 units), each exactly as one 64-bit number."""
    units = np.frombuffer(form.encode("utf-16-le"), "<u2").astype(np.uint64)
    codes = units[:-3] << 48 | units[1:-2] << 32 | units[2:-1] << 16 | units[3:]
    # In the order of signed numbers, as columns of a matrix have to be.
    codes.view(np.int64).sort()
    different = np.ones(len(codes), np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=different[1:])
    return codes[different]


def _bands(shingles: list[np.ndarray], threshold: float) -> np.ndarray:
    """The bands of every text's MinHash signature, (bands, texts); equal ones propose a pair."""
    # The most rows of a band that hardly ever miss a pair at the threshold.
    rows = max(
        rows
        for rows in range(1, 33)
        if rows == 1 or (1 - threshold**rows) ** (_PERMUTATIONS // rows) <= _MISS
    )
    dice = np.random.default_rng(1)
    count = _PERMUTATIONS // rows
    permutations = [dice.integers(0, 2**64, (rows, 3), np.uint64) for _ in range(count)]
    for factors in permutations:
        factors[:, [0, 2]] |= np.uint64(1)
    bands = np.zeros((count, len(shingles)), np.uint64)
    # A few texts at a time: their codes stay in the cache of the processor.
    for start in range(0, len(shingles), _TOGETHER):
        batch = shingles[start : start + _TOGETHER]
        starts = np.cumsum([0, *map(len, batch[:-1])])
        # Of mixed numbers, a product with an odd one and a sum are a permutation: both wrap.
        codes = mix(np.concatenate(batch))
        for band, dice_of_band in zip(bands, permutations, strict=True):
            for factor, added, weight in dice_of_band:
                minima = np.minimum.reduceat(codes * factor + added, starts)
                band[start : start + _TOGETHER] += mix(minima) * weight
    return bands


def _proposed(
    band: np.ndarray, number_labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of texts with an equal band and equal numbers, near each other in sorted order."""
    order = np.lexsort((number_labels, band))
    pairs = [np.empty((2, 0), np.intp)]
    for step in range(1, _NEIGHBORS + 1):
        earlier = order[:-step]
        later = order[step:]
        equal = (band[earlier] == band[later]) & (
            number_labels[earlier] == number_labels[later]
        )
        if not equal.any():
            break
        pairs.append(np.stack([earlier[equal], later[equal]]))
    rows, partners = np.concatenate(pairs, axis=1)
    return rows, partners


def _verified(
    matrix: Any,
    sizes: np.ndarray,
    rows: np.ndarray,
    partners: np.ndarray,
    threshold: float,
) -> np.ndarray:
    """Whether each pair has at least this Jaccard similarity, exactly."""
    near = np.zeros(len(rows), bool)
    for start in range(0, len(rows), _PAIRS):
        chunk = slice(start, start + _PAIRS)
        a = rows[chunk]
        b = partners[chunk]
        common = matrix[a].multiply(matrix[b])
        shared = np.diff(common.indptr)
        in_either = sizes[a] + sizes[b] - shared
        near[chunk] = shared >= threshold * in_either
    return near
