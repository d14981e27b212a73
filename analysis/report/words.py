"""What every report says in the same words: how to read it, its method, and what its figures show."""

# ruff: noqa: RUF001  (the Greek letters and minus signs of formulas)
from __future__ import annotations

from analysis.figures.learning_rate_panels import MOST_PANELS
from analysis.law.posterior import B
from analysis.law.verdict import MAX_EDGE_MASS, MAX_SD, MIN_BRACKETED
from analysis.tables.learning_rates import MARGIN
from analysis.text import number

READING = f"""\
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

METHOD = """\
A cell (mixer, N, k, d_model, seed) is solved if the best over its tuned values reaches the threshold. A seed
solves at width d with probability γ + (1 − γ − λ) Φ((ln d − ln d\\*(N)) / σ), where ln d\\*(N) = α + b (ln N −
mean ln N) + u and u ~ Normal(0, τ²). The posterior of α and b is computed on a grid, flat in both, with the slope
σ, lapses λ, guesses γ and the scatter τ summed out on grids, with ln σ ~ Normal(ln .2, .7) from .05 to .6, λ ~
Beta(1.5, 9) from .02 to .3, γ ∈ {.01, .04} and τ ~ HalfNormal(.25) from 0 to .6; lengths that always or never
solved are censored and need no special case. The interval of d\\* at one length is the maximum-likelihood cut
between widths that fail and widths that solve, with lapses of 10 % and guesses of 2 %; where these counts and the
other lengths disagree it may lie outside the posterior of d\\*. Odds are posterior over prior density. A line
through the smallest width that solved is not used: it takes lapses and censoring for facts, and is biased towards
a constant."""

RUN = """\
The accuracy is that on a test split that neither training nor the choice of when to stop has seen. The task,
multi-query associative recall (MQAR), and the question are those of
[arXiv 2312.04927](https://arxiv.org/abs/2312.04927)."""

TABLE = """\
The accuracy is that of the table, which does not say on which split it was measured. The question is that of
[arXiv 2312.04927](https://arxiv.org/abs/2312.04927)."""

WIDTHS = """\
(64, 128] says that width 64 fails and width 128 solves; ≤ 64 that every width tried solved, 64 being the
narrowest; > 512 that none did, 512 being the widest that finished; ? that no trial finished. N is the sequence
length, k the number of pairs of key and value. The posterior of every d\\* is in
[minimal_width.csv](minimal_width.csv)."""

ACCURACY = """\
![Accuracy against width d_model, one panel a sequence length and number of pairs](accuracy.png)

Accuracy of the best tuned values against width. Dashed: the threshold; dotted: 1/k, the accuracy of a model that
guesses among the values it has seen; shade or thick bar: the interval of d\\*.
As vectors: [accuracy.svg](accuracy.svg); data: [accuracy.csv](accuracy.csv)."""

LAW = """\
![Minimal width against sequence length, with the fitted law](minimal_width.png)

Minimal width against sequence length, both logarithmic. Bars: the intervals of the table, with arrows at open
ends; line and band: the median law and its 95 % interval.
As vectors: [minimal_width.svg](minimal_width.svg); data: [minimal_width.csv](minimal_width.csv)."""

SOLVE_RATE = """\
![Share of seeds that solved at every width and sequence length, under the fitted law](solve_rate.png)

Seeds that solved of those tried, at every width and length: the stronger the colour, the more of them. Hatched:
not tried, which is not the same as failed; ?: tried, but no trial finished. Line: the median law, with its 95 %
interval dashed.
As vectors: [solve_rate.svg](solve_rate.svg); data: [solve_rate.csv](solve_rate.csv)."""

STATES = """\
![Accuracy against state size, one panel a sequence length, with the Pareto front](state_size.png)

Accuracy of the best tuned values against state size: the elements that all layers together carry from token to
token while decoding. Markers: means over seeds, faint where another point of the same mixer beats them, that is,
is at least as accurate with at most as much state, and better in one of the two. Steps and rings: the Pareto
front, the points that none of any mixer beats; since trials that stop at the threshold end just over it, small
steps up there say little. After Figure 2 of [arXiv 2402.18668](https://arxiv.org/abs/2402.18668).
As vectors: [state_size.svg](state_size.svg); data: [state_size.csv](state_size.csv)."""

RATES = f"""\
![Accuracy against learning rate, one panel a mixer and sequence length, one line a width](learning_rate.png)

Accuracy against learning rate, at the best of the other tuned values; the darker, the wider. There is a panel
wherever some cell tried at least two learning rates; of more than {MOST_PANELS} panels, those of the shortest
and of the longest length of every mixer, at each number of pairs or at one of them. Ring: the best learning rate
of a width, with an arrowhead where it is the lowest or the highest that the mixer tried at all, so that a better
one may lie beyond. There is no ring where the accuracies differ by less than {MARGIN:g} or none is better than a
guess. **Means at different learning rates may be those of different seeds**: where a cell ends at its first solve,
later learning rates were tried only by the seeds that had failed before, which makes them look worse, or better,
than they are. Small hollow markers and dotted lines show such means, and a ring only compares learning rates that
equally many seeds tried. Learning rates that a sampler drew for one trial each are dots without a line, and all
are compared. Trials that stop at the threshold end just over it, so small differences up there say little. As
vectors: [learning_rate.svg](learning_rate.svg); data: [learning_rate.csv](learning_rate.csv)."""

CURVES = f"""\
![Validation accuracy against training step, one panel a mixer and sequence length](learning_curve.png)

Validation accuracy of the best trial of every cell against training step; the darker, the wider. The mark at the
end of a line says how the trial ended. A plateau at 1/k is a model that guesses among the values it has seen; a
line that still rises where it ends asks for more steps. Of more than {MOST_PANELS} panels, those of the shortest
and of the longest length. As vectors: [learning_curve.svg](learning_curve.svg); data:
[learning_curve.csv](learning_curve.csv)."""

LAWS = """\
Five laws, each as likely as the others before the data; constant and linear are the ends of the other three, whose
exponents at the mean length are flat from 0 to 1, so that only how they bend tells these apart: affine, d\\* = c +
mN, bends upwards, saturating, 1/d\\* = c + m/N, levels off. Of a fit whose b lies outside 0 to 1 such
probabilities would say nothing, and a dash stands for them. (The odds of the verdict compare with an exponent free
from −1 to 2.5; beside one from 0 to 1, constant and linear are some 3.5 times less likely.) Widths are medians
with 95 % intervals, the scatter of a single length included; those of the power law take any exponent. ‡: more
than one doubling beyond the longest length, where **nothing but the law speaks**: read the spread between the laws
there, not one of them. Data: [laws.csv](laws.csv) and [predictions.csv](predictions.csv)."""

DIFFERENCES = """\
Posterior of the difference of two exponents, with its 95 % interval, and the probability that the first is the
greater one; the clearest differences first, so that of many some are clear by chance. †: of one of the two no two
lengths are bracketed, so that its posterior is little more than the range looked at. All of them:
[differences.csv](differences.csv)."""

THRESHOLDS = """\
![The exponent against the threshold](threshold.png)

The exponent at other thresholds, from the same trials: † marks those that are undetermined, ‡ a threshold over
that to which the trials were trained. Per sequence counts a sequence only where every query is right. Trials stop
soon after the threshold they were trained to, per query: over it, and per sequence near it, widths that might get
there with more training count as failing. As vectors: [threshold.svg](threshold.svg); data:
[threshold.csv](threshold.csv)."""

PREDICTIVE = f"""\
![Solve rates that the law expects, with those seen](predictive.png)

Solve rates against width: line and band, what the fitted law and its noise expect of these many seeds (mean and 95
% interval of replicates); dots, what was seen, ringed where it lies outside. p is the probability that replicates
lie further from the law than the table does: under .05, do not believe the fit. Of more than {MOST_PANELS} panels,
those of the shortest and of the longest length. As vectors: [predictive.svg](predictive.svg); data:
[predictive.csv](predictive.csv)."""

LEFT_OUT = """\
The exponent without each length, with its 95 % interval, † where undetermined: a law that stands or falls with one
length is that length's. Data: [left_out.csv](left_out.csv)."""

PRIORS = """\
The exponent under other priors of scatter and lapses: τ of .10 and .25 in the mean beside .18, λ of 8 % and 20 %
beside 12 %, nine combinations in all. Least squares, on the midpoints of the bracketed intervals, know neither
lapses nor censored lengths; they are a second opinion. Data: [priors.csv](priors.csv)."""

CROSSED = """\
Where lengths and numbers of pairs are crossed, ln d\\* = α + b ln N + c ln k + u is fitted to all of them
together: b says what a longer sequence asks for at the same number of pairs, c what more pairs ask for at the same
length. The scatter u is one for each (N, k), for each length or for each number of pairs, a third of the prior
each. Data: [crossed.csv](crossed.csv)."""

COMPARED_LAWS = """\
![Minimal width against sequence length, the runs in one panel a mixer](minimal_width.png)

A colour a run; bars: the interval of d\\* at each length, set a little aside so that none hides another; lines and
bands: the median law with its 95 % interval. All numbers: [fits.csv](fits.csv).
As vectors: [minimal_width.svg](minimal_width.svg); data: [minimal_width.csv](minimal_width.csv)."""

COMPARED_EXPONENTS = """\
Posterior of the difference between the exponents of two runs, with its 95 % interval, and the probability that the
first is the greater one. An interval that holds 0 does not say that the runs agree, only that these trials cannot
tell them apart. Runs that share trials are not compared: their difference is not known from either's posterior.
Data: [differences.csv](differences.csv)."""

COMPARED_ACCURACY = f"""\
![Accuracy against width d_model, one panel a mixer and sequence length](accuracy.png)

Accuracy of the best tuned values against width, a colour a run as above; lines: means over seeds, faint dots:
single seeds. Bars on top: the interval of d\\* of each run, in the order of the runs, with arrows at open ends. Of
more than {MOST_PANELS} panels, those of the shortest and of the longest length of every mixer, at each number of
pairs or at one of them. Without pixels: [accuracy.svg](accuracy.svg); data: [accuracy.csv](accuracy.csv)."""
