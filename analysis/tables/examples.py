"""The tables that come with the package, to try the analysis on without training anything."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib.resources import files

import pandas as pd

from analysis.errors import TableFileError

PREFIX = "example:"
"""What marks an example where a path is expected: `example:zoology_figure2`."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A table that comes with the package.

    Attributes:
        name: The name of its file, without `.csv`.
        about: Where the numbers come from and how far they can be trusted, in one or two sentences.
        threshold: The accuracy at which it is read.
    """

    name: str
    about: str
    threshold: float

    def read(self) -> pd.DataFrame:
        """Read the table."""
        with files("analysis.tables").joinpath("examples", f"{self.name}.csv").open(encoding="utf-8") as file:
            return pd.read_csv(file)


_FIGURE2 = Example(
    name="zoology_figure2",
    about=(
        "Accuracies read off a picture, Figure 2 of Zoology: Measuring and Improving Recall in Efficient Language "
        "Models (arXiv 2312.04927): best of four learning rates, one seed. Column read: the centre of a marker is "
        "within about 0.01; a hidden one lies under another and is within about 0.03."
    ),
    threshold=0.9,
)

_BASE_CONV = Example(
    name="base_conv_cpu_scale",
    about=(
        "48 cells of base_conv trained on a CPU: vocabulary 64, 2 pairs, uniform queries, 3 seeds, best of two "
        "learning rates, each trial stopped at an accuracy of .95."
    ),
    threshold=0.95,
)

EXAMPLES = {example.name: example for example in (_BASE_CONV, _FIGURE2)}
"""The examples, by name."""


def example(name: str) -> Example:
    """Find an example.

    Args:
        name: Its name, with or without `example:`.

    Raises:
        TableFileError: There is none of that name; the message lists those there are.
    """
    known = name.removeprefix(PREFIX)
    if known not in EXAMPLES:
        nearest = difflib.get_close_matches(known, EXAMPLES, n=1, cutoff=0.5)
        fix = f" Is it {nearest[0]!r}?" if nearest else ""
        raise TableFileError(f"An example must be one of {', '.join(EXAMPLES)}; got {known!r}.{fix}")
    return EXAMPLES[known]


def example_table(name: str) -> pd.DataFrame:
    """Read a table that comes with the package.

    `zoology_figure2` is the published Figure 2 of the Zoology paper (arXiv 2312.04927), read off the picture;
    `base_conv_cpu_scale` are trained cells of base_conv, with lapses and censoring. `EXAMPLES` says more of each,
    and at which threshold it is read.

    Args:
        name: The name of an example.

    Returns:
        One trial a row, with the columns of `analysis.tables.columns.check_table`.

    Raises:
        TableFileError: There is no example of that name; the message lists those there are.
    """
    return example(name).read()
