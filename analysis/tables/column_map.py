"""A column map: which columns of a foreign table are mixer, d_model, accuracy and the rest.

As text, `OWN=THEIRS` names a column and `OWN:=VALUE` a value that all rows share:

    mixer=model.name,d_model=config.d_model,accuracy=valid/accuracy,num_kv_pairs:=4
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from analysis.errors import ColumnError
from analysis.tables.columns import KNOWN, nearest, shortened
from analysis.tables.values import shown

Constant = str | int | float

FORM = "OWN=THEIRS for a column, or OWN:=VALUE for a value that all rows share, separated by commas"
_EXAMPLE = "Write for example mixer=model.name,accuracy=valid/accuracy,num_kv_pairs:=4."


@dataclass(frozen=True, kw_only=True)
class ColumnMap:
    """Where the declared columns are in a foreign table.

    Attributes:
        columns: Declared name → name of the table's column.
        constants: Declared name → value of every row, for what the table does not tell.

    Raises:
        ColumnError: A name is not declared, or has both a column and a constant.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for own in [*self.columns, *self.constants]:
            if own not in KNOWN:
                raise ColumnError(_unknown(own, self.columns.get(own)))
        _refuse_twice([*self.columns, *self.constants])

    @classmethod
    def parse(cls, text: str) -> ColumnMap:
        """Read a map from text.

        Args:
            text: `OWN=THEIRS` and `OWN:=VALUE`, separated by commas. An item that holds a comma is put between
                double quotes as a whole. The first `=` divides an item, so that THEIRS may hold others.

        Raises:
            ColumnError: The text has another form, or the map breaks a rule of the class.
        """
        columns: dict[str, str] = {}
        constants: dict[str, Constant] = {}
        names = []
        for item in _items(text):
            own, equals, theirs = (part.strip() for part in item.partition("="))
            name = own.removesuffix(":").strip()
            if not (name and equals and theirs):
                raise ColumnError(f"A column map must be {FORM}; got {item!r}. {_EXAMPLE}")
            names.append(name)
            if own.endswith(":"):
                constants[name] = _value(theirs)
            else:
                columns[name] = theirs
        _refuse_twice(names)
        return cls(columns=columns, constants=constants)

    def apply(self, table: pd.DataFrame) -> pd.DataFrame:
        """Give a table the declared columns.

        Args:
            table: One run a row, with columns of any names.

        Returns:
            A copy in which the mapped columns come first, under their declared names. The others stay, but for
            those that had such a name before: the map wins. A column that is declared itself serves both names.

        Raises:
            ColumnError: The table lacks a column that the map names.
        """
        present = [str(name) for name in table.columns]
        for own, theirs in self.columns.items():
            if theirs not in present:
                raise ColumnError(_lacking(own, theirs, present))
        moved = set(self.columns.values()).difference(KNOWN)
        gone = {*self.columns, *moved, *self.constants}
        taken = pd.DataFrame({own: table[theirs] for own, theirs in self.columns.items()}, index=table.index)
        rest = table[[name for name in table.columns if str(name) not in gone]]
        return pd.concat([taken.assign(**self.constants), rest], axis=1)


def column_map(given: ColumnMap | Mapping[str, Constant] | str) -> ColumnMap:
    """Make a column map of what a caller gave.

    Args:
        given: A map; text, as `ColumnMap.parse` takes it; or a dict from declared names to the names of columns
            (text) or constants (numbers). A text that all rows share needs one of the other two forms.

    Raises:
        ColumnError: It breaks a rule of `ColumnMap`.
    """
    if isinstance(given, ColumnMap):
        return given
    if isinstance(given, str):
        return ColumnMap.parse(given)
    columns = {own: theirs for own, theirs in given.items() if isinstance(theirs, str)}
    constants = {own: value for own, value in given.items() if not isinstance(value, str)}
    return ColumnMap(columns=columns, constants=constants)


def _items(text: str) -> list[str]:
    # The csv module knows how a quoted item may hold a comma. A line end parts items as a comma does.
    items = [item.strip() for row in csv.reader(text.splitlines(), skipinitialspace=True) for item in row]
    return [item for item in items if item] or [text]


def _value(text: str) -> Constant:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _refuse_twice(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ColumnError(f"A column map must name each column once; got {name!r} twice. Keep one of them.")
        seen.add(name)


def _unknown(own: str, theirs: str | None) -> str:
    near = [f"{theirs}={own}"] if theirs in KNOWN else difflib.get_close_matches(own, KNOWN, n=1, cutoff=0.5)
    fix = f" Is it {near[0]}?" if near else " The declared name comes first: OWN=THEIRS."
    return f"A column map must give one of {', '.join(KNOWN)}; got {own!r}.{fix}"


def _lacking(own: str, theirs: str, present: list[str]) -> str:
    near = nearest(theirs, present)
    fix = f"Is it {own}={near}?" if near else "Name one of these."
    return (
        f"A column map must name columns of the table; got {own}={shown(theirs)}, "
        f"and the table has {shortened(present)}. {fix}"
    )
