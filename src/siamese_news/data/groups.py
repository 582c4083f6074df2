"""The groups that posts belong to, by a column or by date."""

from collections.abc import Mapping
from typing import Any

from siamese_news.data.readers.values import iso_date

# Groups by date: how many characters of it name the group.
TIMES = {"year": 4, "month": 7, "day": 10}

# The group of posts without a value.
NONE = "(no value)"

_NAME = 80  # characters of a group's name


def group_of(values: Mapping[str, Any], by: str) -> str:
    """The group of a post by the values of its columns; `NONE` without one."""
    if by in TIMES:
        date = iso_date(values.get("created_at"))
        return date[: TIMES[by]] if date else NONE
    value = values.get("group", values.get(by))
    return NONE if value is None else " ".join(str(value).split())[:_NAME] or NONE
