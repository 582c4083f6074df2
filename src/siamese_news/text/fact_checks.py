"""Words by which an article shows that it checks a claim.

A fact check is about one sentence that few posts repeat, however many are on its topic; a report of
an event has these words seldom.
"""

import re
from collections.abc import Mapping

from siamese_news.text.languages import BACKGROUND, language_of_seed
from siamese_news.utils.unicode import normalized

# A text of fewer words does not show whether it checks a claim.
LEAST_WORDS = 25

# What such words begin with, by language, and words that begin others (Dutch "nep" begins "Nepal").
# Those of English are measured on development pools; of the others it is only measured that reports
# of events seldom have them.
_BEGINNINGS: Mapping[str, str] = {
    "en": "accura assertion claim debunk disinformation evidence exaggerat fabricat fact.?check fake "
    "false hoax inaccura misinformation misleading rumor rumour satir untrue",
    "da": r"desinformation faktatjek falsk fup\b misinformation påstand påstå usand vildled",
    "de": "behaupt desinformation fake faktencheck falsch gefälscht gerücht irreführend unwahr",
    "es": "bulo desinform desmient desmint engañ fake fals rumor verificaci",
    "fr": r"canular désinform fact.?check faux\b fausse infox intox\b rumeur trompeu",
    "it": "bufal disinform fact.?check fake fals fuorviant smenti",
    "nl": r"bewering desinformatie fact.?check gerucht misleid nep\b nepnieuws onwaar vals",
    "pt": "boato checagem desinform desmenti enganos fake fals",
}
_WORDS = {
    language: re.compile(rf"\b(?:{'|'.join(beginnings.split())})")
    for language, beginnings in _BEGINNINGS.items()
}


def checking_words(text: str) -> int | None:
    """How many words of a fact check a text has.

    None if it is too short to tell, or in a language whose words are not listed.
    """
    words = _WORDS.get(language_of_seed(text) or BACKGROUND)
    if words is None or len(text.split()) < LEAST_WORDS:
        return None
    return len(words.findall(normalized("NFC", text).lower()))
