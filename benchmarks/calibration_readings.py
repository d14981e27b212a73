"""How to read each table of the calibration's page, with the numbers filled in from the runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from calibration_scores import Score

from analysis.law.verdict import MAX_SD, Verdict
from analysis.text import listed, number

Found = Mapping[tuple[str, str], Score]
"""Every score by the names of its setting and of its estimator."""

STANDARD = tuple(f"standard, b = {b}" for b in ("0", "0.5", "1"))
LINEAR = STANDARD[-1]
ALL_SOLVED = "every length all-solved"
LINES = ("any seed", "majority", "cross-check")


def signed(value: float, digits: int = 2) -> str:
    """Return a decimal with its sign."""
    text = number(value, digits)
    return f"+{text}" if float(f"{value:.{digits}f}") > 0.0 else text


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.3g} %"


def bias(found: Found) -> str:
    """Who is off, where, and why."""
    furthest = max((one for one in _of(found, "posterior") if one.setting.decidable), key=_distance)
    worst = max(_distance(found[name, "posterior"]) for name in STANDARD)
    lucky = [signed(found[name, "any seed"].bias.value) for name in (LINEAR, "no guesses, b = 1")]
    solved = signed(found["one or two all-solved, b = 1", "majority"].bias.value)
    return (
        f"The posterior is off by at most {number(worst, 3)} in the standard setting, and furthest in "
        f"“{furthest.setting.name}”, by {signed(furthest.bias.value)}. The line of any seed is off by {lucky[0]} "
        f"at b = 1, since each width under d\\* is one more chance for a lucky seed, and by {lucky[1]} where no "
        f"seed is lucky; that of the majority is off by {solved} where the shortest lengths are all-solved, since "
        "they enter with a width that is too wide."
    )


def rmse(found: Found) -> str:
    """How far from b a single sweep is."""
    six = number(found["six lengths, b = 0.5", "posterior"].rmse.value)
    ours, lines = _at(LINEAR, found, lambda score: number(score.rmse.value))
    return (
        f"At b = 1 the standard setting leaves the posterior an error of {ours}, the three lines errors of "
        f"{lines}; six lengths leave the posterior {six}."
    )


def coverage(found: Found) -> str:
    """Where an interval of 95 % is none."""
    holds = [found[name, "posterior"].coverage.value for name in STANDARD]
    short = [
        f"“{score.setting.name}” ({percent(score.coverage.value)})"
        for score in _of(found, "posterior")
        if score.coverage.value < 0.95 - 2.0 * score.coverage.error
    ]
    return (
        f"The posterior's interval holds b in {percent(min(holds))} to {percent(max(holds))} of the standard "
        f"runs, and in clearly fewer than 95 % {'in ' + listed(short) if short else 'nowhere'}. Runs without an "
        "interval, which a line through two lengths leaves, are not counted."
    )


def given(_: Found) -> str:
    """Where there is no interval."""
    return (
        "Empty where every run has one. A line has an interval from three lengths on, and the cross-check takes "
        "bracketed lengths alone."
    )


def width(found: Found) -> str:
    """What the coverage costs."""
    ours, lines = _at(LINEAR, found, lambda score: number(score.width.value))
    return (
        "A line through four lengths leaves two degrees of freedom, and its t interval holds b by being wide: "
        f"{lines} at b = 1, where the posterior's is {ours}."
    )


def excluded(found: Found) -> str:
    """Whether constant is told from linear."""
    ours, lines = _at(LINEAR, found, lambda score: percent(score.excluded.value) if score.excluded else "")
    return (
        f"At b = 1 of the standard setting the posterior excludes 0 in {ours} of the runs, the lines in {lines}."
    )


def verdicts(found: Found) -> str:
    """Who gives wrong verdicts, and who gives few."""
    worst = max(_of(found, "posterior"), key=lambda score: score.wrong.value)
    ours, lines = _at(STANDARD[1], found, lambda score: percent(score.wrong.value))
    ours_right, lines_right = _at(LINEAR, found, lambda score: percent(score.right.value))
    silent = [percent(found[name, "posterior"].verdicts[Verdict.UNDETERMINED]) for name in STANDARD]
    return (
        f"The posterior's verdict is wrong most often in “{worst.setting.name}” ({percent(worst.wrong.value)}). "
        f"At b = 0.5 it is wrong in {ours} of the standard runs and the lines' are in {lines}, as a wide interval "
        f"holds 0 or 1; at b = 1, where that is no fault, the lines are right in {lines_right} and the posterior "
        f"in {ours_right}: it leaves {listed(silent)} of the standard runs undetermined, having no verdict unless "
        f"the standard deviation of b is at most {MAX_SD}. Of a law that is no power law, “power law” is the "
        "right verdict: the word for neither constant nor linear."
    )


def shares(found: Found) -> str:
    """What is said where nothing can be known."""
    ours, lines = _at(ALL_SOLVED, found, lambda score: percent(score.verdicts[Verdict.CONSTANT]))
    return (
        "Constant / linear / power law / undetermined, in percent of the runs. Where every length is all-solved "
        f"nothing is known of b, and the lines say constant in {lines}, the posterior in {ours}."
    )


def _of(found: Found, estimator: str) -> Iterable[Score]:
    return (score for (_, name), score in found.items() if name == estimator)


def _distance(score: Score) -> float:
    return 0.0 if math.isnan(score.bias.value) else abs(score.bias.value)


def _at(setting: str, found: Found, text: Callable[[Score], str]) -> tuple[str, str]:
    """Return what is said of the posterior in a setting, and what of the three lines."""
    return text(found[setting, "posterior"]), listed(text(found[setting, name]) for name in LINES)
