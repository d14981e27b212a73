"""The report of an analysis in Markdown: verdicts, minimal widths, figures, and how to read them."""

# ruff: noqa: RUF001  (the Greek letters and minus signs of formulas)
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from analysis.figures.learning_rate_panels import MOST_PANELS
from analysis.law.posterior import B
from analysis.law.verdict import MAX_EDGE_MASS, MAX_SD, MIN_BRACKETED
from analysis.report.markdown import bullets, plain, table, verbatim
from analysis.report.output import put_all, render
from analysis.results.fit_result import FitResult, sentences
from analysis.results.summary import Analysis
from analysis.results.widths import widths_grid
from analysis.tables.learning_rates import MARGIN, tuned
from analysis.text import listed, number

_READING = f"""\
b is the exponent of the law d\\* ∝ N^b: at b = 0 the width does not grow with the sequence length N, at b = 1 it
doubles whenever N doubles. The bracket behind b is its 95 % interval. A verdict is given only if the standard
deviation of b is at most {MAX_SD}, at least {MIN_BRACKETED} lengths are bracketed (some width fails, some solves),
and b is not at the edge of the range looked at, {number(B[0], 0)} to {number(B[-1], 1)} (under
{100 * MAX_EDGE_MASS:g} % of the probability there):

- **constant**: the interval holds 0 and excludes 1.
- **linear**: the interval holds 1 and excludes 0.
- **power law**: the interval excludes both.
- **undetermined**: anything else. It speaks for no law; the sentence says what is missing and which trials would
  settle it.

Odds compare b = 0 or b = 1 with an exponent left free, flat over that range: 1:60 is sixty to one against. A
verdict holds for this threshold and for the lengths tried; another threshold may give another b."""

_METHOD = """\
A cell (mixer, N, k, d_model, seed) is solved if the best over its tuned values reaches the threshold. A seed
solves at width d with probability γ + (1 − γ − λ) Φ((ln d − ln d\\*(N)) / σ), where
ln d\\*(N) = α + b (ln N − mean ln N) + u and u is normal scatter. The posterior of α and b is computed on a grid,
flat in both, with the slope σ, lapses λ, guesses γ and the scatter summed out; lengths that always or never solved
are censored and need no special case. The interval of d\\* at one length is the maximum-likelihood cut between
widths that fail and widths that solve, with lapses of 10 % and guesses of 2 %. Odds are posterior over prior
density. `fits.csv` holds least squares on the midpoints beside the posterior. The task, multi-query associative
recall (MQAR), and the question are those of [arXiv 2312.04927](https://arxiv.org/abs/2312.04927)."""

_LEGEND = """\
(64, 128] says that width 64 fails and width 128 solves; ≤ 64 that every width tried solved, 64 being the
narrowest; > 512 that none did, 512 being the widest; ? that no trial finished. N is the sequence length, k the
number of pairs of key and value. The posterior of every d\\* is in [minimal_widths.csv](minimal_widths.csv)."""

_FIGURES = """\
![Accuracy against width d_model, one panel a sequence length](accuracy.png)

Accuracy of the best tuned values against width. Dashed: the threshold; dotted: 1/k, the accuracy of a model that
guesses among the values it has seen; shade or thick bar: the interval of d\\*. Without pixels:
[accuracy.svg](accuracy.svg).

![Minimal width against sequence length, with the fitted law](minimal_width.png)

Minimal width against sequence length, both logarithmic. Bars: the intervals of the table, with arrows at open
ends; line and band: the median law and its 95 % interval. Without pixels:
[minimal_width.svg](minimal_width.svg).

![Share of seeds that solved at every width and sequence length, under the fitted law](solve_rate.png)

Seeds that solved of those tried, at every width and length: the stronger the colour, the more of them. Hatched:
not tried, which is not the same as failed; ?: tried, but no trial finished. Line: the median law, with its 95 %
interval dashed. Every point is in [solve_rates.csv](solve_rates.csv). Without pixels:
[solve_rate.svg](solve_rate.svg)."""

_STATES = """\
![Accuracy against state size, one panel a sequence length, with the Pareto front](state_size.png)

Accuracy of the best tuned values against state size: the elements that all layers together carry from token to
token while decoding. Markers: means over seeds, faint where another point of the same mixer beats them, that is,
is at least as accurate with at most as much state, and better in one of the two. Steps and rings: the Pareto
front, the points that none of any mixer beats; since trials that stop at the threshold end just over it, small
steps up there say little. Every point is in [state_size.csv](state_size.csv). Without pixels:
[state_size.svg](state_size.svg). After Figure 2 of [arXiv 2402.18668](https://arxiv.org/abs/2402.18668)."""

_RATES = f"""\
![Accuracy against learning rate, one panel a mixer and sequence length, one line a width](learning_rate.png)

Accuracy against learning rate, at the best of the other tuned values; the darker, the wider. There is a panel
wherever some cell tried at least two learning rates; of more than {MOST_PANELS} panels, those of the shortest
and of the longest length of every mixer. Ring: the best learning rate of a width, with an arrowhead where it
is the lowest or the highest that the mixer tried at all, so that a better one may lie beyond. There is no ring
where the accuracies differ by less than {MARGIN:g} or none is better than a guess. **Means at different
learning rates may be those of different seeds**: where a cell ends at its first solve, later learning rates
were tried only by the seeds that had failed before, which makes them look worse, or better, than they are.
Small hollow markers and dotted lines show such means, and a ring only compares learning rates that equally
many seeds tried. Learning rates that a sampler drew for one trial each are dots without a line, and all are
compared. Trials that stop at the threshold end just over it, so small differences up there say little. Every
point is in [learning_rates.csv](learning_rates.csv). Without pixels: [learning_rate.svg](learning_rate.svg)."""


def write_report(
    analysis: Analysis, out: Path, *, heading: str, about: Mapping[str, str] | None = None, compute: str = ""
) -> list[Path]:
    """Write the figures, `minimal_widths.csv`, `solve_rates.csv`, `fits.csv`, `fits.json` and `report.md`.

    A table with state sizes also gives a figure of them and `state_size.csv`, and one in which a cell tried two
    learning rates a figure of those and `learning_rates.csv`.

    Everything is computed and drawn in memory before the first file appears, and each file is there whole or not
    at all. The same arguments give the same bytes.

    Args:
        analysis: The results of a table.
        out: The folder; made if it does not exist.
        heading: The question, on one line.
        about: What else a reader may ask, by name: versions, the command, the space. Shown verbatim at the end.
        compute: Text of the section "Trials and compute" in Markdown; without it there is no such section.

    Returns:
        The files, in the order of their names.

    Raises:
        OutputError: The folder cannot be made or written to.
    """
    contents = render(analysis)
    contents["fits.json"] = f"{analysis.to_json()}\n".encode()
    text = report_text(analysis, heading=heading, about=about or {}, compute=compute)
    # The words of a command line may hold bytes that no encoding knows.
    contents["report.md"] = text.encode(errors="replace")
    return put_all(out, contents)


def report_text(analysis: Analysis, *, heading: str, about: Mapping[str, str], compute: str = "") -> str:
    """Compose `report.md`; arguments as those of `write_report`."""
    sections = {
        "Verdict": bullets([f"{plain(sentence)}." for sentence in sentences(analysis.fits)]),
        "Minimal widths": _widths(analysis),
        "Trials and compute": compute.strip(),
        "Figures": _figures(analysis),
        "How to read the verdict": _READING,
        "Notes and warnings": _notes(analysis.fits),
        "Method": _METHOD,
        "About": _about(about),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items() if text)
    return f"# {plain(heading)}\n\n{_scope(analysis)}\n\n{body}\n"


def _figures(analysis: Analysis) -> str:
    shown = {_FIGURES: True, _STATES: len(analysis.states) > 0, _RATES: len(tuned(analysis.rates)) > 0}
    return "\n\n".join(text for text, there in shown.items() if there)


def _scope(analysis: Analysis) -> str:
    tried = sum(fit.tried for fit in analysis.fits)
    missing = sum(fit.missing for fit in analysis.fits)
    lost = f"; {missing} more were lost" if missing else ""
    return f"Solved means an accuracy of at least {analysis.threshold:g}. {tried} cells finished{lost}."


def _widths(analysis: Analysis) -> str:
    grid = widths_grid(analysis.fits)
    rows = [
        [fit.label, _pairs(fit), *grid.loc[fit.label], fit.exponent(), str(fit.verdict)] for fit in analysis.fits
    ]
    return f"{table(['mixer', 'k', *grid.columns, 'b', 'verdict'], rows)}\n\n{_LEGEND}"


def _pairs(fit: FitResult) -> str:
    return ", ".join(map(str, fit.pairs if fit.tied else fit.num_kv_pairs))


def _notes(fits: list[FitResult]) -> str:
    found: dict[str, list[str]] = {}
    for fit in fits:
        for note in fit.notes:
            found.setdefault(note, []).append(fit.label)
    said = [f"{plain(listed(labels))}: {plain(note)}." for note, labels in found.items()]
    return bullets(said) or "None: no trial was lost or diverged, and the order of widths was never broken."


def _about(about: Mapping[str, str]) -> str:
    shown = {plain(name): verbatim(value) for name, value in about.items()}
    # A block needs room above it; a line stands behind its name.
    return bullets([name + (":\n\n" if "\n" in text else ": ") + text for name, text in shown.items()])
