# %% [markdown]
# # Tutorial
#
# From a table of accuracies to a law of minimal widths, with nothing to train: the tables come with the package.
# It takes seconds. This page is [a script](tutorial.py) in percent cells; VS Code and Jupytext open it as a
# notebook.
#
# ## A table of trials
#
# A table has one trial a row and five columns that must be there: the sequence mixer, the sequence length, the
# number of key-value pairs, the width and the accuracy. This one is Figure 2 of the [Zoology
# paper](https://arxiv.org/abs/2312.04927), and an example says where its numbers come from:

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import analysis

published = analysis.example_table("zoology_figure2")
print(analysis.EXAMPLES["zoology_figure2"].about)
published.head()

# %% [markdown]
# `analysis.read_table` takes the path of a CSV, Parquet or JSON-lines file, the results folder of a run, or
# `"example:zoology_figure2"` for this one.
#
# ## Minimal widths
#
# A cell is *solved* where the accuracy reaches the threshold; the paper's text reads its figure at about .9.
# Then the minimal width d\* at each length is an interval: the width `low` fails and the width `high` solves.

# %%
widths = analysis.minimal_widths(published, threshold=0.9)
widths[widths["mixer"].isin(["attention", "base_conv"])].drop(columns="note")

# %% [markdown]
# An end is missing where nothing brackets it. At N = 512 no width of `base_conv` solved, so d\* is over 512;
# every width of `attention` solved, so its d\* is at most 64, the narrowest that was tried. Here is what was
# tried, with the threshold:

# %%
results = analysis.analyse(published, threshold=0.9)
analysis.figure_accuracy(results)

# %% [markdown]
# ## The law, in words
#
# `analyse` fits d\* ∝ N^b to each mixer. Its answer is a posterior of the exponent b, and a verdict:

# %%
fits = {fit.label: fit for fit in results.fits}
for fit in results.fits:
    print(f"{fit.label}: {fit.verdict}, b = {fit.exponent()}")

# %% [markdown]
# Every verdict is *undetermined*, and that is the right answer. Read by eye, the figure says that attention
# needs a constant width. But attention solved at every width tried, so its d\* may lie anywhere under 64 at
# every length, and b may be nearly anything: its interval is about as wide as the range looked at. What is
# missing is said, and what to run:

# %%
attention = fits["attention"]
print(attention.reason)
print(*attention.advice, sep="\n")

# %% [markdown]
# For `base_conv` the interval excludes 0, so the width is not constant, and holds 1. More than that four widths
# with one seed each do not tell. The notes say what else to know before using the number. Here length and pairs
# grow together, so that b is the exponent of both:

# %%
print(*fits["base_conv"].notes, sep="\n")
analysis.figure_minimal_width(results)

# %% [markdown]
# ## A law that is determined
#
# The second example is 48 cells trained on a CPU, 16 points with three seeds each and narrower steps between the
# widths:

# %%
trained = analysis.example_table("base_conv_cpu_scale")
law = analysis.analyse(trained, threshold=0.95)
base_conv = law.fits[0]
print(base_conv.sentence())
print("\nNotes:", *base_conv.notes, sep="\n- ")

# %%
analysis.figure_minimal_width(law)

# %% [markdown]
# The sentence gives the exponent with its 95 % interval, and the odds against the two laws it excludes; the
# notes say how firmly. [How to read the results](reading.md) goes through all of it. Some seeds at or over d\*
# failed: lapses, of which the fit knows. A line through "the smallest width that solved" does not, and is biased
# ([why](reading.md#why-not-a-line)).
#
# ## The threshold is yours
#
# The same trials at another threshold give other minimal widths, and perhaps another law. These trials stopped
# at an accuracy of .95, so nothing can be asked of them beyond that; far below it the narrow models solve too,
# and b is no longer known.

# %%
law = analysis.analyse(trained, threshold=0.95, thresholds=[0.6, 0.8, 0.9], seq_lens=[96, 384])
law.thresholds[["threshold", "b", "b_low", "b_high", "verdict"]].round(2)

# %% [markdown]
# ## What stands behind the verdict
#
# A power law is not the only rule that grows: an affine one, d\* = c + mN, bends upwards, a saturating one levels
# off. Over these two and a half octaves none is excluded. The exponent is that of the lengths tried, and what
# follows for longer sequences depends on the rule, the more the further they are:

# %%
law.laws.round(2)

# %%
law.predictions[["law", "seq_len", "median", "low", "high"]].round()

# %% [markdown]
# Does the law hang on one length, or on the priors of scatter and lapses?

# %%
law.left_out.round(2)

# %%
law.priors.round(2)

# %% [markdown]
# The exponent does not; the verdict does. Its standard deviation is .14, and a verdict ends at .15: without any
# one length, or with wider scatter, too little is known for one. A few more seeds would make it firm.
#
# And does it explain what was seen? Replicated tables, drawn from the fitted law and its noise, say where the
# solve rates should lie:

# %%
print(f"p = {base_conv.predictive.p_value:.2f}")
analysis.figure_predictive(law)

# %% [markdown]
# ## A table of another making
#
# Tables from an experiment tracker have columns of their own. A column map says which is which, as
# `ours=theirs`; `ours:=value` is for what the table does not tell because all rows share it. Here the export of
# a sweep with nested settings, one run of which crashed:

# %%
runs = pd.DataFrame(
    {
        "Name": [f"sunny-pond-{row}" for row in range(len(trained))],
        "State": ["crashed"] + ["finished"] * (len(trained) - 1),
        "model.name": trained["mixer"],
        "model.d_model": trained["d_model"],
        "data.seq_len": trained["seq_len"],
        "seed": trained["seed"],
        "test/accuracy": trained["accuracy"],
    }
)
folder = Path(tempfile.mkdtemp())
runs.to_csv(folder / "export.csv", index=False)

mapped = analysis.read_table(
    folder / "export.csv",
    columns="mixer=model.name,d_model=model.d_model,seq_len=data.seq_len,num_kv_pairs:=2,accuracy=test/accuracy",
)
foreign = analysis.analyse(mapped, threshold=0.95).fits[0]
print(foreign.verdict, foreign.exponent(), "missing cells:", foreign.missing)

# %% [markdown]
# A crashed run says nothing of its cell, so the cell is missing, not failed. [Tables](tables.md) has recipes for
# Weights & Biases, MLflow and the public Zoology code.
#
# ## Your own counts
#
# The posterior needs no table: counts of seeds that solved, of those tried, a row a length and a column a width.

# %%
seq_lens, d_models = [64, 128, 256], [16, 32, 64, 128, 256]
solved = [[0, 0, 2, 3, 3], [0, 0, 0, 3, 3], [0, 0, 0, 1, 3]]
tried = np.full((3, 5), 3)

posterior = analysis.fit_law(solved, tried, seq_lens=seq_lens, widths=d_models)
low, high = posterior.b_interval
print(f"b = {posterior.b_median:.2f} [{low:.2f}, {high:.2f}]")
print(f"standard deviation {posterior.b_sd:.2f}")
for n, k, m in zip(seq_lens, solved, tried, strict=True):
    print(f"N = {n}: d* in {analysis.find_minimal_width(n, d_models, k, m).text()}")

# %% [markdown]
# The standard deviation is over .15, at which a verdict begins: more seeds or finer widths are wanted.
#
# ## Does it find what is there?
#
# Draw a table whose law is known, with a tenth of the seeds lapsing, and look at the fits:


# %%
def simulated(name: str, b: float, rng: np.random.Generator) -> pd.DataFrame:
    """Trials of a mixer whose minimal width is 64 at N = 256 and grows as N^b."""
    lengths = [64, 128, 256, 512, 1024]
    half_octaves = [int(8 * 2 ** (step / 2)) for step in range(13)]
    points = pd.MultiIndex.from_product([lengths, half_octaves, range(4)])
    trials = points.to_frame(index=False, name=["seq_len", "d_model", "seed"])
    wide_enough = trials["d_model"] >= 64 * (trials["seq_len"] / 256) ** b
    lapsed = rng.random(len(trials)) < 0.1
    accuracy = np.where(wide_enough & ~lapsed, 0.999, 0.5)
    return trials.assign(mixer=name, num_kv_pairs=4, accuracy=accuracy)


rng = np.random.default_rng(0)
truth = {"b = 0": 0.0, "b = 0.5": 0.5, "b = 1": 1.0}
drawn = pd.concat([simulated(name, b, rng) for name, b in truth.items()])
recovered = analysis.analyse(drawn)
print(*(fit.sentence() for fit in recovered.fits), sep="\n")

# %%
analysis.figure_minimal_width(recovered)

# %% [markdown]
# Several mixers in one table are compared by the posterior of the difference of their exponents:

# %%
recovered.differences.round(2)

# %% [markdown]
# ## A report
#
# `write_report` leaves the verdicts, tables and figures in a folder; so do `tune_zoo report` and, with no more
# of the package than this tutorial has used, `python -m analysis TABLE --out FOLDER`.

# %%
files = analysis.write_report(recovered, folder / "report", heading="Three laws, recovered")
print(*sorted(str(file.relative_to(folder / "report")) for file in files))
