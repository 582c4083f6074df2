"""Several values after one option, as a shell expands ``--posts dump/*.csv``."""

from itertools import islice, pairwise
from typing import Any

import typer
from typer.core import TyperCommand

# Advice on an option that another command has.
_ELSEWHERE = {
    "rank": dict.fromkeys(
        ("--threshold", "--min-score"),
        "rank lists the best posts; filter keeps those that reach a threshold",
    ),
    "filter": {
        "--top": "filter keeps all posts that reach a threshold; rank lists the best",
        "--one-story": "filter takes all its articles for one story",
    },
    "keywords": {"--articles": "run rank first, and name its results with --results"},
}


class ManyValues(TyperCommand):
    """A command whose list options take every value up to the next option.

    ``--posts a b c`` is ``--posts a --posts b --posts c``. A value that does not belong to an
    option stops the command and lists what each option took, so that a misplaced file is never
    read as something else. A command with arguments, such as ``doctor FILES``, is parsed as usual.
    """

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        """Parse the arguments; Typer's errors come without what pydantic puts before them."""
        try:
            return super().make_context(*arguments, **extra)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values over their options, then parse as usual."""
        if any(parameter.param_type_name == "argument" for parameter in self.params):
            return super().parse_args(ctx, args)
        options_of = {
            name
            for option in self.get_params(ctx)
            for name in option.opts + option.secondary_opts
        }
        for word in args:
            name = word.partition("=")[0]
            elsewhere = _ELSEWHERE.get(str(self.name), {}).get(name)
            if elsewhere is not None:
                raise typer.BadParameter(
                    f"no such option: {name}; {elsewhere}", ctx=ctx
                )
        lists: dict[str, str] = {}
        single_options: set[str] = set()
        for parameter in self.params:
            if getattr(parameter, "multiple", False):
                lists.update(dict.fromkeys(parameter.opts, parameter.opts[0]))
            elif parameter.param_type_name == "option" and not getattr(
                parameter, "is_flag", False
            ):
                single_options.update(parameter.opts)
        for word, next_word in pairwise(args):
            if (word in lists or word in single_options) and next_word in options_of:
                raise typer.BadParameter(
                    f"{word} needs a value, but {next_word} follows; add the value, or write "
                    f"{word}={next_word} if it is that word",
                    ctx=ctx,
                )
        spread, values_of, stray = _spread(args, lists, single_options)
        if stray:
            if any(
                word.startswith("--") and word.partition("=")[0] not in options_of
                for word in args
            ):
                super().parse_args(ctx, spread)  # names the option that does not exist
            listed = "; ".join(
                f"{name} took {', '.join(v)}" for name, v in values_of.items()
            )
            files = [
                n
                for n in ("--articles", "--results", "--labels", "--posts")
                if n in options_of
            ]
            raise typer.BadParameter(
                f"{', '.join(stray)}: does not belong to an option{listed and f' ({listed})'}; put "
                f"files right after {' or '.join(files) or 'their options'}",
                ctx=ctx,
            )
        return super().parse_args(ctx, spread)


def _spread(
    args: list[str], lists: dict[str, str], single_options: set[str]
) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """The arguments with a list option before each of its values, these values, and strays."""
    spread: list[str] = []
    values_of: dict[str, list[str]] = {}
    stray: list[str] = []
    current: str | None = None  # the list option that takes the next words
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("-") and word != "-":
            current = lists.get(name)
            spread.append(word)
            if not equals and (current is not None or name in single_options):
                # Whatever it begins with; none is an error later.
                for value in islice(words, 1):
                    spread.append(value)
        elif current is not None:
            value = word
            spread += [current, word]
        else:
            stray.append(word)
        if current is not None:
            values_of.setdefault(current, []).append(value)
    return spread, values_of, stray
