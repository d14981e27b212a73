"""Why a search for minimal widths stopped before it knew a law, in words."""

from __future__ import annotations

from tune_zoo.search.base import Search
from tune_zoo.search.width.law_search import LawSearch
from tune_zoo.search.width.minimal_width import MinimalWidthSearch


def endings(search: Search) -> list[str]:
    """Return a sentence, without a full stop, for every law that a search left unknown."""
    if not isinstance(search, MinimalWidthSearch):
        return []
    return [f"{law.label}: {why}" for law in search.laws if (why := _why(law))]


def _why(law: LawSearch) -> str:
    options = law.options
    match law.state:
        case "out of budget":
            return f"the search ended at its budget, {options.budget:g} of the grid's compute; raise search.budget"
        case "out of reach":
            return (
                "what is left of the budget is not expected to tell the exponent to a standard deviation of "
                f"{options.max_sd:g}; more sequence lengths would, or a larger search.budget "
                f"({options.budget:g} now)"
            )
        case "exhausted":
            return (
                f"every seed that tells more has been tried, {options.max_seeds} at a width; more widths or "
                "sequence lengths would tell the law, or a larger search.max_seeds"
            )
        case _:
            return ""
