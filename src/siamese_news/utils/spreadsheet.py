"""Cells that a spreadsheet does not run as formulas."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def guarded(cell: str) -> str:
    """Spreadsheets run a text that starts like a formula; a leading apostrophe stops them.

    A formula behind apostrophes of its own gets one more, so that `unguarded` gives it back whole.
    """
    return "'" + cell if cell.lstrip("'").startswith(_FORMULA) else cell


def unguarded(cell: str) -> str:
    """A cell without the apostrophe that `guarded` put there."""
    return cell[1:] if cell[:1] == "'" and cell.lstrip("'").startswith(_FORMULA) else cell
