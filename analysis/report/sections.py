"""The sections of a report that are tables: of laws, differences, thresholds and checks."""

# ruff: noqa: RUF001  (the × of products)
from __future__ import annotations

import pandas as pd

from analysis.law.verdict import Verdict
from analysis.report.markdown import bullets, plain, table
from analysis.report.words import CROSSED, DIFFERENCES, LAWS, LEFT_OUT, PREDICTIVE, PRIORS, THRESHOLDS
from analysis.results.fit_result import FitResult, sentences
from analysis.results.law_tables import FAR, OCTAVES
from analysis.results.summary import Analysis
from analysis.results.thresholds import trained_to
from analysis.text import chance, interval, number, odds, width

_MOST_DIFFERENCES = 15
_DAGGER = " †"
_FAR = " ‡"


def verdicts(analysis: Analysis) -> str:
    """Every verdict with the exponent it rests on, as a table and in words."""
    rows = [[fit.label, str(fit.verdict), fit.exponent(), *_odds(fit)] for fit in analysis.fits]
    header = ["mixer", "verdict", "b", "odds of constant", "odds of linear"]
    said = bullets([f"{plain(sentence)}." for sentence in sentences(analysis.fits)])
    return f"{table(header, rows, words=2)}\n\n{said}"


def _odds(fit: FitResult) -> list[str]:
    return [odds(fit.law.odds_constant), odds(fit.law.odds_linear)] if fit.has_law else ["—", "—"]


def crossed(analysis: Analysis) -> str:
    """Exponents of length and pairs, where they are crossed."""
    said = bullets([f"{plain(fit.sentence())}." for fit in analysis.crossed])
    return f"{said}\n\n{CROSSED}" if said else ""


def laws(analysis: Analysis) -> str:
    """The laws that compete, and the widths that they predict."""
    if analysis.laws.empty:
        return ""
    predicted = analysis.predictions.set_index(["fit", "law"])
    rows = [
        [fit, law, chance(probability), *_widths(predicted.loc[[(fit, law)]])]
        for fit, law, probability in analysis.laws[["fit", "law", "probability"]].itertuples(index=False)
    ]
    at = [f"N = {n}" for n in analysis.predicted_at] or [f"{2**octaves} × the longest N" for octaves in OCTAVES]
    header = ["mixer", "law", "probability", *(f"d* at {place}" for place in at)]
    return f"{table(header, rows, words=2)}\n\n{LAWS}"


def _widths(rows: pd.DataFrame) -> list[str]:
    columns = rows[["median", "low", "high", "octaves_beyond"]].itertuples(index=False)
    return [
        f"{width(median)} [{width(low)}, {width(high)}]{_FAR if abs(octaves) > FAR else ''}"
        for median, low, high, octaves in columns
    ]


def differences(analysis: Analysis) -> str:
    """Exponents compared, the clearest differences first."""
    if analysis.differences.empty:
        return ""
    clearest = analysis.differences.head(_MOST_DIFFERENCES).itertuples(index=False)
    rows = [
        [fit, other, number(difference), interval((low, high)), f"{chance(greater)}{'' if known else _DAGGER}"]
        for fit, other, difference, low, high, greater, known in clearest
    ]
    header = ["mixer", "other", "difference of b", "95 %", "probability that it is greater"]
    return f"{table(header, rows, words=2)}\n\n{DIFFERENCES}"


def thresholds(analysis: Analysis) -> str:
    """The exponent at several thresholds."""
    if analysis.thresholds.empty:
        return ""
    cells = analysis.thresholds.assign(cell=_exponents(analysis.thresholds))
    grid = cells.pivot(index=["fit", "accuracy"], columns="threshold", values="cell").fillna("")
    grid = grid.reindex([fit.label for fit in analysis.fits if fit.has_law], level="fit")
    rows = [
        [fit, accuracy, *row] for (fit, accuracy), row in zip(grid.index, grid.to_numpy().tolist(), strict=True)
    ]
    stop = trained_to(analysis.trials) or 1.0
    levels = map(float, grid.columns)
    header = ["mixer", "accuracy", *(f"{level:g}{_FAR if level > stop else ''}" for level in levels)]
    return f"{table(header, rows, words=2)}\n\n{THRESHOLDS}"


def checks(analysis: Analysis) -> str:
    """What the fits hang on: replicates, single lengths, priors, and another estimator."""
    fits = [fit for fit in analysis.fits if fit.has_law]
    if not fits:
        return ""
    parts = ["### Does the law explain the counts?", _replicates(fits), PREDICTIVE]
    if not analysis.left_out.empty:
        parts += ["### Without each length", _left_out(analysis.left_out, fits), LEFT_OUT]
    parts += ["### Other priors, and least squares", _priors(analysis.priors, fits), PRIORS]
    return "\n\n".join(parts)


def _replicates(fits: list[FitResult]) -> str:
    return table(["mixer", "p"], [[fit.label, number(fit.predictive.p_value)] for fit in fits])


def _left_out(frame: pd.DataFrame, fits: list[FitResult]) -> str:
    cells = frame.assign(cell=_exponents(frame))
    grid = cells.pivot(index="fit", columns="left_out", values="cell").fillna("")
    grid = grid.loc[[fit.label for fit in fits if fit.label in grid.index]]
    rows = [[fit, *row] for fit, row in zip(grid.index, grid.to_numpy().tolist(), strict=True)]
    return table(["mixer", *(f"without N = {n}" for n in grid.columns)], rows)


def _exponents(frame: pd.DataFrame) -> list[str]:
    columns = frame[["b", "b_low", "b_high", "verdict"]].itertuples(index=False)
    return [
        f"{number(b)} {interval((low, high))}{_DAGGER if verdict == Verdict.UNDETERMINED else ''}"
        for b, low, high, verdict in columns
    ]


def _priors(frame: pd.DataFrame, fits: list[FitResult]) -> str:
    own, rows = frame.groupby("fit"), []
    for fit in fits:
        others = own.get_group(fit.label)
        same = int((others["verdict"] == str(fit.verdict)).sum())
        spans = (
            f"{number(others[name].min())} to {number(others[name].max())}" for name in ("b", "b_low", "b_high")
        )
        check = fit.cross_check
        squares = f"{number(check.b)} {interval((check.low, check.high))}" if check else "—"
        rows.append([fit.label, *spans, f"{same} of {len(others)}", squares.replace(" [nan, nan]", "")])
    return table(["mixer", "b", "lower end", "upper end", "same verdict", "least squares"], rows)
