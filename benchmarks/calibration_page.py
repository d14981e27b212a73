"""The page of the calibration: a table a question, and how to read it.

A further question of the same runs, as that how often one law is told from another, is one more entry in
`QUESTIONS`; a further estimator or setting appears in every table by itself.
"""

from __future__ import annotations

import math
import os
import platform
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import calibration_readings as readings
from calibration_estimators import ESTIMATORS
from calibration_readings import ALL_SOLVED, LINEAR, STANDARD, Found, percent, signed
from calibration_scores import Measured, Score
from calibration_settings import Setting
from pages import markdown_table

from analysis.law.verdict import Verdict
from analysis.text import number

RUNS = 400
EARLIER = (-0.38, -0.80)
"""Bias of the line of any seed in the study by which the method was chosen, at b = 1 and with censored lengths."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A table of the page.

    Attributes:
        title: Its heading.
        cell: What it says of a score; a setting of which it says nothing of any estimator has no row.
        reading: How to read it.
    """

    title: str
    cell: Callable[[Score], str]
    reading: Callable[[Found], str]


def decimals(measured: Measured, write: Callable[[float, int], str] = number) -> str:
    """Return a figure and its Monte-Carlo error, which a single run does not tell, as decimals."""
    if math.isnan(measured.value):
        return "none"
    return write(measured.value, 3) + ("" if math.isnan(measured.error) else f" ± {measured.error:.3f}")


def share(measured: Measured | None) -> str:
    """Return a share and its Monte-Carlo error, in percent."""
    if measured is None:
        return ""
    return "none" if math.isnan(measured.value) else f"{100 * measured.value:.1f} ± {100 * measured.error:.1f} %"


def verdict_shares(score: Score) -> str:
    """Return the shares of the four verdicts, in percent."""
    return " / ".join(f"{100 * score.verdicts[verdict]:.0f}" for verdict in Verdict)


QUESTIONS = (
    Question(
        title="Bias of b",
        cell=lambda score: decimals(score.bias, signed) if score.setting.decidable else "",
        reading=readings.bias,
    ),
    Question(
        title="Root mean square error of b",
        cell=lambda score: decimals(score.rmse) if score.setting.decidable else "",
        reading=readings.rmse,
    ),
    Question(
        title="Share of the 95 % intervals that hold b",
        cell=lambda score: share(score.coverage),
        reading=readings.coverage,
    ),
    Question(
        title="Share of the runs with an interval",
        cell=lambda score: share(score.given) if score.given.value < 1.0 else "",
        reading=readings.given,
    ),
    Question(
        title="Mean width of the 95 % intervals",
        cell=lambda score: decimals(score.width),
        reading=readings.width,
    ),
    Question(
        title="Share of the runs whose interval excludes the wrong one of 0 and 1",
        cell=lambda score: share(score.excluded),
        reading=readings.excluded,
    ),
    Question(
        title="Right and wrong verdicts",
        cell=lambda score: f"{share(score.right)}, {share(score.wrong)}",
        reading=readings.verdicts,
    ),
    Question(title="All verdicts", cell=verdict_shares, reading=readings.shares),
)

MUST: Mapping[str, tuple[float, Callable[[Score], float], bool]] = {
    "off by": (0.06, lambda score: abs(score.bias.value), False),
    "root mean square error": (0.14, lambda score: score.rmse.value, False),
    "95 % interval holds b": (0.94, lambda score: score.coverage.value, True),
    "wrong one of 0 and 1 excluded": (
        0.99,
        lambda score: math.nan if score.excluded is None else score.excluded.value,
        True,
    ),
}  # for each: the bound, what is held to it, and whether it is a lower bound


PAGE = """# Calibration of the exponent, simulated

`{command}`, {minutes} minutes in {jobs} processes ({machine}).

Does the posterior of b claim what it knows, and do the lines that are usually fitted? **Setting.** {runs} sweeps a
row: lengths 64, 128, 256, 512; 13 half-octave widths 8 to 512; 4 seeds of each. Outcomes are drawn, nothing is
trained: ln d\\*(N) follows b ln N with a normal scatter of .1 at each length, and the geometric mean of d\\* over
the lengths is log-uniform in the octave over 45. A seed solves with probability
guess + (1 - guess - lapse) Φ(ln(d/d\\*) / .2), the guess being .02 and the lapse .1. The last table says in what
the other rows differ from this *standard*.

- *posterior*: the report's median, 95 % interval and verdict.
- *any seed*: least squares in logarithms through the smallest width that any seed solved at each length, with the
  t interval of the slope. A length that never solved is left out; one that always solved enters with the narrowest
  width tried. The verdict is that of the interval alone: constant if it holds 0 and not 1, and so on.
- *majority*: the same with the smallest width that more than half of the seeds solved.
- *cross-check*: the report's second opinion, a line through the midpoints of the bracketed intervals.

Beside each figure stands its Monte-Carlo standard error.

**What must hold** of the posterior in the standard setting:

{demands}

Where every length is all-solved it gives a verdict in {loose} of the runs, and must in none. By the simulations
from which the method was chosen, the line of any seed is off by {earlier} with
censored lengths; here by {naive}, and by {censored} where the longest length is unsolved.

![Bias, coverage and wrong verdicts of the posterior and of two lines, by setting]({picture})

Bars in the figure are 95 % Monte-Carlo intervals; arrows stand for what lies outside the view.

{questions}
{further}
## The settings

The exponent of a law that is no power law is the least-squares slope of its ln d\\* over ln N at the lengths.

{settings}
"""


def page(scores: Sequence[Score], *, further: Sequence[str], jobs: int, seconds: float, picture: str) -> str:
    """Return the page.

    Args:
        scores: Of every setting and estimator.
        further: Sections of the studies of what stands beside the exponent.
        jobs: Processes that ran.
        seconds: How long they took.
        picture: Path of the figure from the page's folder.
    """
    found = {(score.setting.name, score.estimator): score for score in scores}
    runs = scores[0].runs
    return PAGE.format(
        command="make calibration" if runs == RUNS else f"python benchmarks/calibration.py --runs {runs}",
        minutes=f"{seconds / 60:.0f}",
        jobs=jobs,
        machine=f"Python {platform.python_version()}, {os.cpu_count()} cores shared with other work",
        runs=runs,
        demands=demands(found),
        loose=percent(1.0 - found[ALL_SOLVED, "posterior"].verdicts[Verdict.UNDETERMINED]),
        earlier=" at b = 1 and by ".join(signed(bias) for bias in EARLIER),
        naive=decimals(found[LINEAR, "any seed"].bias, signed),
        censored=decimals(found["longest unsolved, b = 1", "any seed"].bias, signed),
        picture=picture,
        questions="\n".join(section(question, found) for question in QUESTIONS),
        further="\n".join(further),
        settings=settings_table(list(dict.fromkeys(score.setting for score in scores))),
    )


def demands(found: Found) -> str:
    """Return the table of what must hold."""
    rows = []
    for name, (bound, value, lower) in MUST.items():
        values = [value(found[setting, "posterior"]) for setting in STANDARD]
        rows.append([name, *(verdict(one, bound, lower=lower) for one in values)])
    return markdown_table(("", *(name.removeprefix("standard, ") for name in STANDARD)), rows)


def verdict(value: float, bound: float, *, lower: bool) -> str:
    """Return a value beside its bound, and whether it holds; nothing of no value."""
    if math.isnan(value):
        return ""
    holds = value >= bound if lower else value <= bound
    return f"{value:.3g} {'≥' if lower else '≤'} {bound:g}: {'holds' if holds else '**fails**'}"


def section(question: Question, found: Found) -> str:
    """Return a question's heading, its reading and its table."""
    settings = dict.fromkeys(score.setting for score in found.values())
    rows = []
    for setting in settings:
        cells = [question.cell(found[setting.name, name]) for name in ESTIMATORS]
        if any(cells):
            rows.append([setting.name, *cells])
    reading = textwrap.fill(question.reading(found), width=115, break_on_hyphens=False)
    return f"## {question.title}\n\n{reading}\n\n{markdown_table(('', *ESTIMATORS), rows)}\n"


def settings_table(settings: Sequence[Setting]) -> str:
    """Return what is drawn in each setting, and what an exponent is held to."""
    rows = [
        (setting.name, setting.group, f"{setting.target:.2f}", setting.note.replace("*", "\\*"))
        for setting in settings
    ]
    return markdown_table(("", "group", "b", "differs by"), rows)
