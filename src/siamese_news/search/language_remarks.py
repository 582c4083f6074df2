"""The languages of seeds and posts, and remarks on them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from siamese_news.data.records import Article, Post
from siamese_news.search.ranked_posts import Sample, metadata_text
from siamese_news.text.languages import (
    BACKGROUND,
    is_confirmed,
    language_of_seed,
    languages_of,
    looks_english,
    plainly_english,
)

_FEWEST = 10  # posts whose language is known, for a share of the pool to mean something
_KNOWN = 0.2  # share of the posts whose language has to be known, likewise
_NAMED = 0.01  # share of the pool from which a language is named
_SHARE = 0.2  # of the pool in languages that no seed has, from which there is a remark
# Minimum share of posts with an English function word in an English pool.
_ENGLISH_POOL = 0.75
# A language is named if so many of the posts that seem to be in it confirm it (`is_confirmed`): the
# detector has a name for every text, and Hindi in Latin letters was Swahili.
_CONFIRMED = 0.5
UNKNOWN = "und"
"""The language of posts that seem to be in one that their words do not confirm (ISO 639-2)."""
# Codes of platforms for languages that have another code.
_CODES = {"in": "id", "iw": "he", "fil": "tl", "nb": "no", "nn": "no", "ckb": "ku"}


class SearchLanguages:
    """The languages of a search: of its seeds, by article id, and of a sample of its pool.

    A seed of unknown language counts as English. `shares` are those of languages among the noted
    posts whose language is known; empty if these are too few, or the pool is plainly English.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        self.seeds = {
            article.id: language_of_seed(article.full_text) or BACKGROUND
            for article in articles
        }
        # Whether a seed that counts as English may be in any language.
        self._unknown_seed = any(
            self.seeds[article.id] == BACKGROUND
            and not plainly_english(article.full_text)
            for article in articles
        )
        self.shares: dict[str, float] = {}

    def note(self, posts: Iterable[Post]) -> None:
        """Find the languages of the pool from some posts of it (`Pool.sample`)."""
        sample = Sample()
        for post in posts:
            sample.note(post)
        noted = sample.posts
        english = (
            metadata_text(p, "lang") == "en" or looks_english(p.text) for p in noted
        )
        if BACKGROUND in self.seeds.values() and sum(english) >= _ENGLISH_POOL * len(
            noted
        ):
            return  # the language detector is not needed
        counts = Counter[str]()
        confirmed = Counter[str]()
        for post, code in zip(noted, languages_of_posts(noted), strict=True):
            if code:
                counts[code] += 1
                told = _said(post) != UNKNOWN
                confirmed[code] += told or is_confirmed(post.text, code)
        total = counts.total()
        if total < max(_FEWEST, _KNOWN * len(noted)):
            return
        shares = Counter[str]()
        for code, count in counts.items():
            is_language = (
                code in self.seeds.values() or confirmed[code] >= _CONFIRMED * count
            )
            shares[code if is_language else UNKNOWN] += count
        self.shares = {name: round(n / total, 3) for name, n in shares.most_common()}

    def remarks(self) -> list[str]:
        """Remarks on the languages, once the posts are read."""
        remarks = []
        if seed_languages := sorted(set(self.seeds.values()) - {BACKGROUND}):
            names = ", ".join(map(repr, seed_languages))
            remarks.append(
                f"Seeds are in {names}, not in English. The weights of words come from English "
                "text, so that most words of these seeds count alike. What to expect: "
                "https://github.com/siamese-news/siamese_news/blob/main/docs/languages.md"
            )
        foreign = {
            name: s
            for name, s in self.shares.items()
            if name not in self.seeds.values()
            and not (name == UNKNOWN and self._unknown_seed)
        }
        if sum(foreign.values()) >= _SHARE:
            languages = [
                n for n, share in foreign.items() if n != UNKNOWN and share >= _NAMED
            ]
            named_shares = [f"'{name}' {foreign[name]:.0%}" for name in languages[:3]]
            if foreign.get(UNKNOWN, 0.0) >= _NAMED:
                named_shares.append(
                    f"{foreign[UNKNOWN]:.0%} in a language that cannot be told"
                )
            remarks.append(
                f"About {sum(foreign.values()):.0%} of the posts are in other languages than the "
                f"seeds ({', '.join(named_shares)}; from a sample). They are found by names, "
                "hashtags and the words around these; posts without any of them rank low. Add a "
                "seed in their language."
            )
        return remarks

    def plain(self) -> dict[str, Any]:
        """The languages, for the meta file of the results."""
        return {"seeds": self.seeds, "pool": self.shares}


def languages_of_posts(posts: Sequence[Post]) -> list[str | None]:
    """The language of each post as the platform says, else as it seems."""
    declared = list(map(_said, posts))
    silent = [
        post.text for post, code in zip(posts, declared, strict=True) if code == UNKNOWN
    ]
    detected = iter(languages_of(silent))
    return [
        next(detected) if code == UNKNOWN else _CODES.get(code, code)
        for code in declared
    ]


def _said(post: Post) -> str:
    declared = metadata_text(post, "lang") or UNKNOWN
    language, _, _ = declared.replace("_", "-").partition("-")
    return language.lower()
