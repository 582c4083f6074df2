"""A corpus whose truth is known: posts about a storm, among others."""

import json
import random
from pathlib import Path

ARTICLE = """Storm breaks the sea wall at Quayle Sands

Waves broke through the sea wall at Quayle Sands on Sunday night and flooded the promenade, the
Victoria arcade and some forty houses in Lantern Street. The lifeboat crew brought 26 residents to
safety. Mayor Edda Thorn said the wall, built in 1961, would have to be replaced.
"""
ABOUT = (
    "Sea wall at Quayle Sands has gone",
    "Lantern Street under water again in Quayle Sands",
    "Lifeboat crew rescued residents in Quayle Sands",
    "Mayor Edda Thorn on the sea wall",
    "Quayle Sands promenade flooded by the storm",
    "Waves broke through the wall at Quayle Sands",
)
OTHER = (
    "Flooded cellar, any plumber near",
    "Waves of laughter at the theatre tonight",
    "The mayor of Harlow opens a library",
    "My street has a new bakery",
    "Storm in a teacup",
    "New album out on Sunday night",
    "Arcade games from 1961",
    "Residents vote on parking",
)
WORDS = (
    "honestly today picture video friends hope safe morning evening please share look wow never "
    "again long road shop train dog coffee weather news thinking heard saw told family north"
).split()


def corpus(path: Path, relevant: int = 320, other: int = 900) -> dict[str, bool]:
    """Write posts as JSON lines, and say which are about the story."""
    chance = random.Random(7)
    truth = {}
    rows = []
    for number in range(relevant + other):
        about = number < relevant
        name = f"{9_007_199_254_740_993 + number * 7}"  # beyond what a float holds
        truth[name] = about
        text = chance.choice(ABOUT if about else OTHER)
        text += " " + " ".join(chance.sample(WORDS, 5))
        day = 1 + chance.randrange(20)
        rows.append(
            {
                "id": name,
                "text": text,
                "lang": chance.choice(["en", "en", "de"]),
                "created_at": f"2026-03-{day:02}T{chance.randrange(24):02}:10:00Z",
            }
        )
    chance.shuffle(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return truth
