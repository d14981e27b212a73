"""One colour and marker a sequence mixer, the same in every figure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.figures.theme import PRINT, Theme

# The first six colours are seaborn's colour-blind palette without those too pale for a line on white and those
# too near to another. The others were picked one by one for the largest CIEDE2000 distance to all before them, to
# black, grey and white, as seen with and without red-green colour blindness. Relatives share a shape, filled and
# hollow, so that a marker alone tells all of these apart.
_KNOWN = {
    "attention": ("#0173b2", "o", True),
    "base_conv": ("#de8f05", "s", True),
    "long_conv": ("#029e73", "D", True),
    "hybrid": ("#d55e00", "^", True),
    "hyena": ("#cc78bc", "v", True),
    "rwkv4": ("#56b4e9", ">", True),
    "h3": ("#964b00", "X", True),
    "based": ("#ff2d69", "*", True),
    "linear_attention": ("#00693c", "<", True),
    "mamba": ("#3c4b1e", "P", True),
    "delta_net": ("#d200a5", "p", True),
    "sliding_window": ("#7878ff", "o", False),
    "input_dependent_conv": ("#b43c4b", "s", False),
    "retnet": ("#874b78", "D", False),
    "gla": ("#4b2d5a", "^", False),
    "gated_delta_net": ("#870000", "p", False),
    "rwkv7": ("#2d1e96", ">", False),
    "mamba2": ("#87873c", "P", False),
}
_BEYOND = (("#ca9161", "<", False), ("#690f2d", "v", False))
_SPARE = (
    "long_conv", "hybrid", "rwkv4", "h3", "hyena", "rwkv7", "based", "mamba", "sliding_window", "gated_delta_net",
    "linear_attention", "delta_net", "mamba2", "retnet", "input_dependent_conv", "gla", "base_conv", "attention",
)  # fmt: skip

_LETTERS = 24
_DOTTED = re.compile(r"^[\w.]+:(?=\w)")


@dataclass(frozen=True, kw_only=True)
class Look:
    """Colour and marker of a mixer.

    Attributes:
        color: Colour of its line and marker, as a hexadecimal code.
        words: Colour of its name, likewise.
        marker: Shape of its marker, as matplotlib names it.
        filled: Whether the marker is filled; a hollow one shows the paper inside.
        paper: The ground.
    """

    color: str
    words: str
    marker: str
    filled: bool
    paper: str

    @property
    def face(self) -> str:
        """Colour of the inside of the marker."""
        return self.color if self.filled else self.paper

    @property
    def edge(self) -> str:
        """Colour of the rim of the marker: paper round a filled one, so that neighbours stay apart."""
        return self.paper if self.filled else self.color


def looks(mixers: Iterable[str], theme: Theme = PRINT) -> dict[str, Look]:
    """Give every mixer its look.

    Args:
        mixers: Names of sequence mixers. Known names always get the same look; others take what is left
            over, in the order of their names, and share once all twenty looks are used.
        theme: The ground.

    Returns:
        The look of every name, in the order of the names.
    """
    names = sorted(set(mixers))
    left = [*(_KNOWN[name] for name in _SPARE if name not in names), *_BEYOND]
    unknown = [name for name in names if name not in _KNOWN]
    taken = {**_KNOWN, **{name: left[i % len(left)] for i, name in enumerate(unknown)}}
    return {name: _look(*taken[name], theme) for name in names}


def _look(color: str, marker: str, filled: bool, theme: Theme) -> Look:
    return Look(color=theme.line(color), words=theme.words(color), marker=marker, filled=filled, paper=theme.paper)


def short(mixer: str) -> str:
    """The name of a mixer or fit as a figure has room for it.

    `Class` of `package.module:Class`; a long name loses its middle, and none is taken for a formula.
    """
    name = _DOTTED.sub("", mixer)
    if len(name) > _LETTERS:
        name = f"{name[: _LETTERS // 2]}…{name[1 - _LETTERS // 2 :]}"
    return name.replace("$", r"\$")
