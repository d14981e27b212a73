"""The two grounds a figure is drawn on, and every colour that depends on the ground."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.patheffects import withStroke

from analysis.figures.colour import legible, oklab, relit

TEXT_CONTRAST = 4.5
"""Contrast of text on its ground, as "Web Content Accessibility Guidelines 2.2" asks (1.4.3)."""


@dataclass(frozen=True, kw_only=True)
class Theme:
    """What a figure looks like on one ground.

    Attributes:
        name: A word for it.
        paper: The ground, also inside hollow markers and around text that crosses lines.
        strong: What must be seen first: laws in a heat map, the Pareto front, rings.
        text: Numbers and names on axes and in legends.
        ink: Lines of axes, and text beside the data.
        quiet: Lines and handles that stand back; never text.
        faint: Hatching.
        lightness: Offset and slope of the lightness, in Oklab, of a mixer's colour over that in print.
        shades: Places on the map of colours for the narrowest width, for a single one and for the widest.
    """

    name: str
    paper: str
    strong: str
    text: str
    ink: str
    quiet: str
    faint: str
    lightness: tuple[float, float]
    shades: tuple[float, float, float]

    def line(self, color: str) -> str:
        """A colour of print as lines and markers have it here: the same hue, as light as the ground needs."""
        offset, slope = self.lightness
        # On the ground it was picked for, a colour stays as it is to the last digit.
        return color if not offset else relit(color, offset + slope * float(oklab(color)[0]))

    def words(self, color: str) -> str:
        """A colour of print as text has it here."""
        return self.readable(self.line(color))

    def readable(self, color: str) -> str:
        """A colour of a line here as text beside the line has it."""
        return legible(color, self.paper, TEXT_CONTRAST)

    def halo(self, linewidth: float) -> list[withStroke]:
        """A rim of paper around a line or text that crosses others."""
        return [withStroke(linewidth=linewidth, foreground=self.paper)]


PRINT = Theme(
    name="print",
    paper="white",
    strong="black",
    text="0.15",
    ink="0.25",
    quiet="0.55",
    faint="0.8",
    lightness=(0.0, 1.0),
    shades=(0.8, 0.4, 0.0),
)

# The slope keeps the mixers as far apart as in print: lifted to one lightness, dark ones could not be told apart.
DARK = Theme(
    name="dark",
    paper="#111418",
    strong="0.97",
    text="0.9",
    ink="0.78",
    quiet="0.55",
    faint="0.32",
    lightness=(0.217, 0.862),
    shades=(0.98, 0.7, 0.38),
)
