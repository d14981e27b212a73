from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import plain_laws
import pytest
from analysis_tables import HALF_OCTAVES, draw_counts, exact_counts, table_of
from scipy.special import ndtr

from analysis import analyse
from analysis.errors import CountsError
from analysis.law.crossed import CrossedLaw, fit_crossed, untied
from analysis.law.exponent import Exponent
from analysis.law.posterior import B, fit_law
from analysis.law.verdict import Verdict
from analysis.results.crossed import CrossedFit, crossed_fits, crossed_frame
from analysis.tables.cells import best_in_cell, solve_counts
from analysis.text import number

NINE = list(itertools.product((64, 128, 256), (4, 8, 16)))
FOUR = list(itertools.product((64, 512), (4, 32)))


def drawn(rng, points, b, c, *, middle=64.0, tau=0.1):
    """K and M of one simulated sweep over points and HALF_OCTAVES, as `draw_counts` draws one over lengths."""
    x, z = np.log(points).T
    log_minimal = np.log(middle) + b * (x - x.mean()) + c * (z - z.mean()) + tau * rng.normal(size=x.size)
    p = 0.02 + 0.88 * ndtr((np.log(HALF_OCTAVES) - log_minimal[:, None]) / 0.2)
    return rng.binomial(4, p), np.full(p.shape, 4)


def exact(points, b, c):
    # 53.8 lies between two widths, and so do the d* of all exponents that are halves.
    middle = 64 / 2**0.25
    x, z = np.log(points).T
    minimal = middle * np.exp(b * (x - x.mean()) + c * (z - z.mean()))
    solved = np.asarray(HALF_OCTAVES) >= minimal[:, None]
    return solved * 4, np.full(solved.shape, 4)


def fitted(counts, points):
    return fit_crossed(*counts, *zip(*points, strict=True), HALF_OCTAVES)


def bell(mean, sd):
    mass = np.exp(-0.5 * ((B - mean) / sd) ** 2)
    return Exponent(grid=B, mass=mass / mass.sum())


def test_mass_against_sums_by_the_book():
    points, widths = [(64, 4), (128, 4), (64, 16)], (16, 45, 128)
    K, M = [[0, 2, 2], [0, 1, 2], [0, 0, 3]], [[2, 2, 2], [2, 2, 2], [3, 1, 3]]
    law = fit_crossed(K, M, *zip(*points, strict=True), widths)
    x, z = (values - values.mean() for values in np.log(points).T)
    alpha = np.arange(0.0, np.log(128) + 2.05, 0.1)
    for found, own, other in ((law.b, x, z), (law.c, z, x)):
        # Four values of one exponent; α and the other are summed out, on every other point of their grids.
        chosen = [18, 24, 30, 36]
        rest = (alpha[::2, None] + found.grid[::2] * other[:, None, None]).reshape(len(points), 1, -1)
        lines = found.grid[chosen][:, None] * own[:, None, None] + rest
        lines = lines.reshape(len(points), -1)
        # One scatter a point, a length, a number of pairs: a third of the prior each.
        plain = plain_laws.evidence(lines, K, M, widths)
        plain = plain + plain_laws.shared_evidence(lines, K, M, widths, [[0, 2], [1]])
        plain = plain + plain_laws.shared_evidence(lines, K, M, widths, [[0, 1], [2]])
        plain = plain.reshape(4, -1).sum(axis=1)
        mass = found.mass[chosen]
        np.testing.assert_allclose(mass / mass.max(), plain / plain.max(), atol=0.02)


@pytest.mark.parametrize(("b", "c"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, -0.5), (0.5, 1.0)])
def test_exact_tables_are_recovered(b, c):
    law = fitted(exact(NINE, b, c), NINE)
    assert law.b.median == pytest.approx(b, abs=0.05)
    assert law.c.median == pytest.approx(c, abs=0.05)
    assert law.b.interval[0] < b < law.b.interval[1]
    assert law.c.interval[0] < c < law.c.interval[1]
    assert abs(law.correlation) < 0.1


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (NINE, True),
        ([(64, 4), (128, 4), (64, 8)], True),
        ([(64, 4), (64, 8), (128, 16), (256, 16)], True),
        ([(64, 4), (128, 8), (256, 16)], False),
        ([(64, 4), (128, 4), (256, 4)], False),
        ([(64, 4), (64, 8), (64, 16)], False),
        ([(64, 4), (128, 8), (256, 4)], False),
        ([(64, 4), (64, 8), (128, 16)], False),
        ([(64, 4)], False),
        ([(64, 4), (64, 4), (128, 8)], False),
    ],
)
def test_untied(points, expected):
    assert untied(*zip(*points, strict=True)) is expected


def test_the_exponent_of_the_length_is_that_of_the_single_law_where_pairs_do_not_matter():
    lengths = (64, 128, 256, 512)
    K, M = exact_counts(0.5)
    points = [(n, k) for k in (4, 16) for n in lengths]
    law = fit_crossed(np.tile(K, (2, 1)), np.tile(M, (2, 1)), *zip(*points, strict=True), HALF_OCTAVES)
    single = fit_law(K, M, lengths, HALF_OCTAVES)
    assert law.b.median == pytest.approx(single.b_median, abs=0.03)
    assert law.b.sd < single.b_sd
    assert law.c.median == pytest.approx(0.0, abs=0.01)


def test_lengths_and_pairs_change_places():
    counts = drawn(np.random.default_rng(1), FOUR, 0.7, 0.2)
    one, other = fitted(counts, FOUR), fitted(counts, [(k, n) for n, k in FOUR])
    np.testing.assert_allclose(one.b.mass, other.c.mass, atol=1e-5)
    np.testing.assert_allclose(one.c.mass, other.b.mass, atol=1e-5)
    assert one.correlation == pytest.approx(other.correlation, abs=1e-3)


def test_order_of_points_is_irrelevant():
    K, M = drawn(np.random.default_rng(2), FOUR, 0.7, 0.2)
    order = [2, 0, 3, 1]
    one, other = fitted((K, M), FOUR), fitted((K[order], M[order]), [FOUR[i] for i in order])
    np.testing.assert_allclose(one.b.mass, other.b.mass, atol=1e-5)
    np.testing.assert_allclose(one.c.mass, other.c.mass, atol=1e-5)


def test_points_near_a_line_leave_the_exponents_tied():
    points = [(64, 4), (64, 5), (80, 5), (256, 16), (256, 17), (272, 17)]
    law = fitted(exact(points, 0.5, 0.5), points)
    assert law.correlation < -0.8
    assert min(law.b.sd, law.c.sd) > 0.4


def test_coverage():
    rng = np.random.default_rng(5)
    held = []
    for run in range(12):
        b, c = ((0.0, 0.5), (1.0, 0.0), (0.5, 0.25), (0.25, 1.0))[run % 4]
        law = fitted(drawn(rng, FOUR, b, c, middle=float(np.exp(rng.uniform(3.8, 4.5)))), FOUR)
        held += [law.b.interval[0] <= b <= law.b.interval[1], law.c.interval[0] <= c <= law.c.interval[1]]
    # A true coverage of .95 falls under 20 of 24 once in 150 times.
    assert sum(held) >= 20


@pytest.mark.parametrize("broken", ["widths", "pairs", "counts"])
def test_arrays_that_do_not_fit(broken):
    K, M = exact(FOUR, 0.5, 0.5)
    seq_lens, pairs = (list(values) for values in zip(*FOUR, strict=True))
    widths = HALF_OCTAVES[:-1] if broken == "widths" else HALF_OCTAVES
    pairs = pairs[:-1] if broken == "pairs" else pairs
    with pytest.raises(CountsError):
        fit_crossed(K + 9 * (broken == "counts"), M, seq_lens, pairs, widths)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([*FOUR, (64, 4)], r"must differ; got \(64, 4\) twice"),
        ([(64, 0), (64, 8), (128, 0), (128, 8)], "at least 1; got 0"),
        ([(0, 4), (0, 8), (128, 4), (128, 8)], "at least 1; got 0"),
        ([(64, 4), (128, 8), (256, 16)], "must cross lengths and pairs"),
        ([(64, 4), (128, 4)], "must cross lengths and pairs"),
    ],
)
def test_points_that_hold_no_crossed_law(points, said):
    with pytest.raises(CountsError, match=said):
        fitted((np.zeros((len(points), 13)), np.ones((len(points), 13))), points)


def counts_of(*tables):
    return solve_counts(best_in_cell(pd.concat(tables)), 0.99)


def crossed_table(minimal, pairs=(4, 32), seq_lens=(64, 512), **changes):
    return pd.concat(
        [table_of(lambda n, k=k: minimal(n, k), pairs=k, seq_lens=seq_lens, **changes) for k in pairs]
    )


def test_crossed_fit_of_a_table():
    wide = [int(8 * 2 ** (i / 2)) for i in range(13)]
    counts = counts_of(table_of(lambda n: 32, mixer="attention"), crossed_table(lambda n, k: n / 4, widths=wide))
    (fit,) = crossed_fits(counts)
    assert fit.mixer == "base_conv"
    assert fit.verdicts == (Verdict.LINEAR, Verdict.CONSTANT)
    low, high = fit.law.b.interval
    said = f"base_conv: linear in the length, b = {fit.law.b.median:.2f} [{low:.2f}, {high:.2f}]; constant in the "
    assert fit.sentence().startswith(f"{said}number of pairs, c = ")
    assert fit.bracketed == tuple(FOUR)
    grid = counts[counts["mixer"] == "base_conv"].pivot(
        index=["seq_len", "num_kv_pairs"], columns="d_model", values="solved"
    )
    law = fit_crossed(grid, np.full(grid.shape, 3), *zip(*FOUR, strict=True), wide)
    np.testing.assert_allclose(fit.law.b.mass, law.b.mass)
    row = crossed_frame([fit]).iloc[0]
    assert (row["mixer"], row["b"], row["c_high"]) == ("base_conv", law.b.median, law.c.interval[1])
    assert (row["b_verdict"], row["c_verdict"], row["bracketed"]) == ("linear", "constant", 4)
    assert row["correlation"] == law.correlation


def test_an_analysis_holds_its_crossed_fits():
    table = crossed_table(lambda n, k: 4 * k, seq_lens=(64, 128), pairs=(4, 8), widths=(8, 16, 32), seeds=1)
    analysis = analyse(table)
    (fit,), (other,) = analysis.crossed, crossed_fits(analysis.counts)
    np.testing.assert_allclose(fit.law.c.mass, other.law.c.mass)


def test_points_that_were_not_tried_at_a_width_count_as_untried():
    table = crossed_table(lambda n, k: 8 * k, pairs=(4, 8), widths=(16, 32, 64, 128))
    thin = table[~((table["num_kv_pairs"] == 8) & (table["d_model"] == 32))]
    fit = crossed_fits(counts_of(thin))[0]
    assert fit.bracketed == ((64, 4), (64, 8), (512, 4), (512, 8))
    K = [[0, 3, 3, 3], [0, 0, 3, 3]] * 2
    M = [[3, 3, 3, 3], [3, 0, 3, 3]] * 2
    law = fit_crossed(K, M, (64, 64, 512, 512), (4, 8, 4, 8), (16, 32, 64, 128))
    np.testing.assert_allclose(fit.law.c.mass, law.c.mass)


def test_tied_and_fixed_tables_have_no_crossed_fit():
    for pairs in (4, lambda n: n // 16):
        assert crossed_fits(counts_of(table_of(lambda n: 32, pairs=pairs))) == []
    assert crossed_fits(counts_of(crossed_table(lambda n, k: 32, seq_lens=(64,)))) == []


@pytest.mark.parametrize(
    ("b", "bracketed", "expected"),
    [
        (bell(0.0, 0.1), FOUR, Verdict.CONSTANT),
        (bell(1.0, 0.1), FOUR, Verdict.LINEAR),
        (bell(0.5, 0.1), FOUR, Verdict.POWER_LAW),
        (bell(0.5, 0.16), FOUR, Verdict.UNDETERMINED),
        (bell(0.5, 0.1), [(64, 4), (64, 32)], Verdict.UNDETERMINED),
        (bell(0.5, 0.1), [(64, 4), (512, 4)], Verdict.POWER_LAW),
        (bell(2.5, 0.1), FOUR, Verdict.UNDETERMINED),
    ],
)
def test_verdict_of_one_exponent(b, bracketed, expected):
    law = CrossedLaw(b=b, c=bell(0.0, 0.1), correlation=0.0)
    fit = CrossedFit(mixer="h3", law=law, bracketed=tuple(bracketed))
    assert fit.verdicts[0] is expected
    pairs = {k for _, k in bracketed}
    assert fit.verdicts[1] is (Verdict.CONSTANT if len(pairs) > 1 else Verdict.UNDETERMINED)
    assert fit.sentence().startswith(f"h3: {expected} in the length, b = {number(b.median)} [")


@pytest.mark.parametrize(
    ("b", "bracketed", "reason"),
    [
        (bell(0.5, 0.16), FOUR, "its standard deviation is 0.16, over 0.15"),
        (bell(0.5, 0.1), [(64, 4), (64, 32)], "1 of the values tried is bracketed, and a verdict needs 2"),
        (bell(0.5, 0.1), [], "none of the values tried is bracketed, and a verdict needs 2"),
        (bell(2.5, 0.1), FOUR, "it may lie outside −1 to 2.5, the range looked at"),
        (bell(0.5, 0.1), FOUR, ""),
    ],
)
def test_an_undetermined_exponent_has_its_reason(b, bracketed, reason):
    law = CrossedLaw(b=b, c=bell(0.0, 0.1), correlation=0.0)
    said = CrossedFit(mixer="h3", law=law, bracketed=tuple(bracketed)).sentence().split("; ")[0]
    assert said.endswith(f"] ({reason})" if reason else "]")


def test_points_that_share_their_scatter_do_not_average_it_out():
    # The d* of three lengths stray by as much for every number of pairs: as many lengths alone say as little.
    lengths, pairs = (64, 128, 256), (4, 8, 16, 32)
    K, M = exact_counts(0.5, seq_lens=lengths)
    K = np.stack([np.roll(row, shift) for row, shift in zip(K, (1, -1, 1), strict=True)])
    points = [(n, k) for k in pairs for n in lengths]
    law = fitted((np.tile(K, (4, 1)), np.tile(M, (4, 1))), points)
    alone = fit_law(4 * K, 4 * M, lengths, HALF_OCTAVES)
    assert law.b.sd == pytest.approx(alone.b_sd, rel=0.05)
    assert alone.b_sd > 0.3
    assert law.c.sd < 0.1


def test_draws_of_points_are_those_of_lengths():
    # The same law by both simulators, so that their coverages can be compared.
    one, other = (np.random.default_rng(3) for _ in range(2))
    K, _ = draw_counts(one, 0.5)
    np.testing.assert_array_equal(drawn(other, [(n, 4) for n in (64, 128, 256, 512)], 0.5, 0.0)[0], K)
