"""Refusals of plans: what to do about them, in the words of each door."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from siamese_news.errors import InputError


@dataclass(frozen=True, slots=True)
class Remedy:
    """What a user can do: the options of a command, the arguments in Python, the page's words."""

    command: str
    python: str
    page: str


class PlanRefused(InputError):
    """A plan that is refused: the `cause`, which is the same for everybody, and its `remedy`.

    As a string it has the options of the commands.
    """

    def __init__(self, cause: str, remedy: Remedy) -> None:
        super().__init__(f"{cause}{remedy.command}")
        self.cause = cause
        self.remedy = remedy

    def to(self, door: Literal["python", "page"]) -> InputError:
        """The error in the words of another door."""
        return InputError(f"{self.cause}{getattr(self.remedy, door)}")


ANOTHER_FILE = Remedy(
    "use another --out",
    "name another folder, or pass the arguments of the first call",
    "search again to make another one",
)
ANOTHER_PLAN = Remedy(
    "make a new plan with sample --again",
    "make a new plan in another folder with another_plan=True",
    "search again and make a new plan",
)
ANOTHER_ORDER = Remedy(
    "make a new plan with another --seed and --again",
    "make a new plan in another folder with another seed= and another_plan=True",
    "make a new plan with another seed, and confirm that it is another one",
)


def further_plan(cost: Fraction, remark: str, *, replaceable: bool) -> Remedy:
    """What to do instead of a further plan, which would cost so much confidence.

    `replaceable`: the command that makes such plans has ``--withdraw``.
    """
    price = (
        "the error of the earlier plans to the new certificate: its chance of being wrong grows by "
        f"{float(cost):g}"
    )
    continued = "Continue with the first plan"
    later = "(you can add labels at any time)"
    stories = "Plans about different stories need"
    either = f"To make a further one, add --again, which adds {price}"
    if replaceable:
        either = (
            "To replace it, name it with --withdraw PLAN; to keep both, add --again. Either adds "
            f"{price} (with --withdraw, if only targets and confidence change, that of all targets "
            "together)"
        )
    return Remedy(
        f"{continued} {later}. {either}. {stories} --criteria of their own{remark}",
        f"{continued}, with its folder and its arguments {later}. To make a further one, pass "
        f"another_plan=True, which adds {price}. {stories} criteria= of their own{remark}",
        f"{continued} {later}. To make a further one, confirm it, which adds {price}. {stories} "
        f"criteria of their own{remark}",
    )
