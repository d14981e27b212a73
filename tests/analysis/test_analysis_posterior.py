from __future__ import annotations

import itertools
import time
from math import erf, sqrt

import numpy as np
import pytest
from analysis_tables import HALF_OCTAVES, SEQ_LENS, draw_counts, exact_counts
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import ndtr

from analysis.errors import CountsError
from analysis.law.length_posterior import length_posteriors
from analysis.law.posterior import fit_joint, fit_law

SIGMA = (0.05, 0.1, 0.2, 0.35, 0.6)
LAPSE = (0.02, 0.08, 0.16, 0.3)
GUESS = (0.01, 0.04)
TAU = (0.0, 0.07, 0.15, 0.3, 0.6)


def prior(sigma, lapse, tau):
    """Priors of the nuisance values by the book; λ and τ stand for their trapezoid share of the axis."""
    share_lapse = dict(zip(LAPSE, (0.03, 0.07, 0.11, 0.07), strict=True))[lapse]
    share_tau = dict(zip(TAU, (0.035, 0.075, 0.115, 0.225, 0.15), strict=True))[tau]
    return (
        stats.norm.pdf(np.log(sigma), np.log(0.2), 0.7)
        * stats.beta.pdf(lapse, 1.5, 9)
        * share_lapse
        * stats.halfnorm.pdf(tau, scale=0.25)
        * share_tau
    )


def plain_length(u, line, counts, values):
    sigma, lapse, guess = values
    total = 1.0
    for d, k, m in zip(*counts, strict=True):
        p = guess + (1 - guess - lapse) * 0.5 * (1 + erf((np.log(d) - line - u) / sigma / sqrt(2)))
        total *= p**k * (1 - p) ** (m - k)
    return total


def plain_likelihood(alpha, b, table):
    """The law's likelihood by loops and adaptive quadrature."""
    K, M, seq_lens, widths = table
    center = np.mean(np.log(seq_lens))
    total = 0.0
    for sigma, lapse, guess, tau in itertools.product(SIGMA, LAPSE, GUESS, TAU):
        product = prior(sigma, lapse, tau)
        for n, k, m in zip(seq_lens, K, M, strict=True):
            line = alpha + b * (np.log(n) - center)
            arguments = (line, (widths, k, m), (sigma, lapse, guess))
            if tau == 0.0:
                product *= plain_length(0.0, *arguments)
            else:
                # A fixed rule of 61 points over ±6 τ is exact to six digits here and far faster than quad.
                u = np.linspace(-6 * tau, 6 * tau, 61)
                values = [plain_length(x, *arguments) for x in u]
                product *= integrate.simpson(stats.norm.pdf(u, 0, tau) * values, x=u)
        total += product
    return total


def test_likelihood_against_loops_and_quadrature():
    table = [[0, 2], [0.5, 1]], [[2, 2], [3, 1]], [32, 128], [16, 64]
    law = fit_law(*table)
    points = [(40, 40), (60, 66), (70, 20), (85, 100)]
    mass = np.array([law.mass[i, j] for i, j in points])
    plain = np.array([plain_likelihood(law.alpha[i], law.b[j], table) for i, j in points])
    np.testing.assert_allclose(mass / mass[0], plain / plain[0], rtol=0.01)


def test_length_posterior_against_direct_sums():
    rng = np.random.default_rng(0)
    seq_lens, widths = (32, 64, 128), (8, 16, 32, 64, 128)
    K = rng.integers(0, 4, (3, 5))
    law, joint = fit_joint(K, np.full((3, 5), 3), seq_lens, widths)
    posterior = length_posteriors(joint, law.seq_lens)[0]
    # The same by another route: all of (α, b), every combination, the scatter of one length kept apart.
    x = np.log(seq_lens) - law.center
    v = joint.lengths.v
    mass = np.zeros(v.size)
    lines = [(law.alpha[:, None] + law.b * shift).ravel() for shift in x]
    for c in range(joint.lengths.nuisance.prior.size):
        e, t = divmod(c, 5)
        others = sum(np.interp(lines[n], v, joint.lengths.scattered[n][:, c]) for n in (1, 2))
        weight = joint.lengths.nuisance.prior[c] * np.exp(others)
        nearest = np.abs((lines[0] - v[0]) / (v[1] - v[0]))
        place = np.bincount(nearest.round().astype(int), weight, v.size)
        mass += (place @ joint.lengths.kernels[t]) * joint.lengths.likelihood[0][:, e]
    mass /= mass.sum()
    cumulative = np.cumsum(mass)
    for q in (0.025, 0.5, 0.975):
        plain = np.interp(q, cumulative, v + 0.025)
        assert np.log(posterior.quantile(q)) == pytest.approx(plain, abs=0.03)
    assert posterior.log_sd == pytest.approx(np.sqrt(mass @ (v - mass @ v) ** 2), rel=0.02)


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 1.0, 1.5])
def test_noiseless_recovery(b):
    # Expected counts are fractional and carry no noise, not even that of whole seeds on a grid of widths.
    x = np.log(SEQ_LENS) - np.log(SEQ_LENS).mean()
    margin = np.log(HALF_OCTAVES) - np.log(64) - b * x[:, None]
    M = np.full(margin.shape, 50.0)
    law = fit_law(M * (0.01 + 0.91 * ndtr(margin / 0.2)), M, SEQ_LENS, HALF_OCTAVES)
    assert law.b_median == pytest.approx(b, abs=0.02)
    assert law.b_interval[0] < b < law.b_interval[1]
    assert law.line([np.exp(law.center)]).median[0] == pytest.approx(64, rel=0.03)


swept = st.tuples(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 1.0]))


@settings(max_examples=8, deadline=None)
@given(swept, st.floats(2.0, 40.0))
def test_scaling_all_widths_leaves_b_unchanged(drawn, factor):
    K, M = draw_counts(np.random.default_rng(drawn[0]), drawn[1])
    one = fit_law(K, M, SEQ_LENS, HALF_OCTAVES)
    other = fit_law(K, M, SEQ_LENS, [factor * d for d in HALF_OCTAVES])
    assert other.b_median == pytest.approx(one.b_median, abs=0.01)
    assert other.b_sd == pytest.approx(one.b_sd, rel=0.03)
    n = [100.0]
    assert other.line(n).median[0] == pytest.approx(factor * one.line(n).median[0], rel=0.03)


@settings(max_examples=8, deadline=None)
@given(swept, st.integers(2, 64))
def test_scaling_all_lengths_leaves_the_posterior_unchanged(drawn, factor):
    K, M = draw_counts(np.random.default_rng(drawn[0]), drawn[1])
    one = fit_law(K, M, SEQ_LENS, HALF_OCTAVES)
    other = fit_law(K, M, [factor * n for n in SEQ_LENS], HALF_OCTAVES)
    np.testing.assert_allclose(other.exponent.mass, one.exponent.mass, atol=1e-5)


@settings(max_examples=8, deadline=None)
@given(swept, st.permutations(range(4)))
def test_order_of_lengths_is_irrelevant(drawn, order):
    K, M = draw_counts(np.random.default_rng(drawn[0]), drawn[1])
    one = fit_law(K, M, SEQ_LENS, HALF_OCTAVES)
    other = fit_law(K[order], M[order], [SEQ_LENS[i] for i in order], HALF_OCTAVES)
    np.testing.assert_allclose(other.mass, one.mass, atol=1e-5)


def test_untried_widths_add_nothing():
    K, M = draw_counts(np.random.default_rng(3), 0.5)
    M[:, 4], K[:, 4] = 0, 0
    kept = [i for i in range(13) if i != 4]
    one = fit_law(K, M, SEQ_LENS, HALF_OCTAVES)
    other = fit_law(K[:, kept], M[:, kept], SEQ_LENS, [HALF_OCTAVES[i] for i in kept])
    np.testing.assert_allclose(one.mass, other.mass, atol=1e-6)


def test_no_data_gives_back_the_flat_prior():
    law = fit_law(np.zeros((4, 13)), np.zeros((4, 13)), SEQ_LENS, HALF_OCTAVES)
    np.testing.assert_allclose(law.exponent.mass, 1 / 117, rtol=1e-3)
    assert law.odds_constant == pytest.approx(1.0, rel=1e-3)
    assert law.odds_linear == pytest.approx(1.0, rel=1e-3)
    assert law.edge_mass == pytest.approx(2 / 117, rel=1e-3)
    assert law.b_interval == pytest.approx((-1.015 + 0.025 * 3.51, -1.015 + 0.975 * 3.51), abs=1e-3)
    np.testing.assert_allclose(law.nuisance_mass, law.nuisance.prior, rtol=1e-3)


def test_more_seeds_make_b_surer():
    sds = [fit_law(*exact_counts(0.5, seeds=m), SEQ_LENS, HALF_OCTAVES).b_sd for m in (0.5, 1, 4, 16)]
    assert sds == sorted(sds, reverse=True)


def test_odds_follow_the_truth():
    flat = fit_law(*exact_counts(0.0), SEQ_LENS, HALF_OCTAVES)
    steep = fit_law(*exact_counts(1.0), SEQ_LENS, HALF_OCTAVES)
    assert flat.odds_constant > 5
    assert flat.odds_linear < 0.01
    assert steep.odds_linear > 5
    assert steep.odds_constant < 0.01


def test_line_and_its_band():
    law = fit_law(*exact_counts(0.5), SEQ_LENS, HALF_OCTAVES)
    line = law.line([32, 181, 1024])
    assert (line.low < line.median).all()
    assert (line.median < line.high).all()
    spread = np.log(line.high / line.low)
    assert spread[1] < min(spread[0], spread[2])
    assert np.log(line.median[2] / line.median[0]) / np.log(32) == pytest.approx(law.b_median, abs=0.03)


def test_band_is_the_weighted_quantile():
    law = fit_law(*draw_counts(np.random.default_rng(5), 0.7), SEQ_LENS, HALF_OCTAVES)
    values = (law.alpha[:, None] + law.b * (np.log(300) - law.center)).ravel()
    order = np.argsort(values)
    cumulative = np.cumsum(law.mass.ravel()[order])
    line = law.line([300])
    for q, found in ((0.025, line.low[0]), (0.5, line.median[0]), (0.975, line.high[0])):
        assert np.log(found) == pytest.approx(np.interp(q, cumulative, values[order]), abs=0.012)


def test_solve_probability_runs_from_guess_to_lapse():
    law = fit_law(*exact_counts(0.5), SEQ_LENS, HALF_OCTAVES)
    mean = [float((law.mass * law.solve_probability(128, d)).sum()) for d in (1, 54, 10_000)]
    assert mean[0] == pytest.approx(float(law.nuisance_mass @ law.nuisance.guess), abs=0.01)
    assert mean[2] == pytest.approx(1 - float(law.nuisance_mass @ law.nuisance.lapse), abs=0.01)
    assert 0.2 < mean[1] < 0.8
    i, j = 90, 50
    margin = np.log(54) - law.alpha[i] - law.b[j] * (np.log(128) - law.center)
    slope = np.hypot(law.nuisance.sigma, law.nuisance.tau)
    g, lapse = law.nuisance.guess, law.nuisance.lapse
    direct = law.nuisance_mass @ (g + (1 - g - lapse) * stats.norm.cdf(margin / slope))
    assert law.solve_probability(128, 54)[i, j] == pytest.approx(direct, abs=2e-3)


def test_tiny_widths_and_one_length():
    law = fit_law([[0, 1, 3]], [[3, 3, 3]], [64], [1, 2, 4])
    assert law.b_interval[0] < -0.9
    assert law.b_interval[1] > 2.3
    assert law.alpha[0] < 0


@pytest.mark.parametrize(
    ("solved", "tried", "seq_lens", "widths", "said"),
    [
        ([[1]], [[1, 1]], [64], [8, 16], "shape"),
        ([[2, 0]], [[1, 1]], [64], [8, 16], "0 ≤ solved ≤ tried"),
        ([[np.nan, 0]], [[1, 1]], [64], [8, 16], "0 ≤ solved ≤ tried"),
        ([[1, 0]], [[np.inf, 1]], [64], [8, 16], "finite"),
        ([[1, 0], [1, 0]], [[1, 1], [1, 1]], [64, 64], [8, 16], "seq_lens must be positive and differ"),
        ([[1, 0]], [[1, 1]], [64], [16, 8], "widths must be positive and rise"),
        ([[1, 0]], [[1, 1]], [64], [0, 8], "widths must be positive and rise"),
        (np.zeros((0, 1)), np.zeros((0, 1)), [], [8], "neither of them 0"),
    ],
)
def test_impossible_counts(solved, tried, seq_lens, widths, said):
    with pytest.raises(CountsError, match=said):
        fit_law(solved, tried, seq_lens, widths)


def test_a_fit_is_quick():
    K, M = draw_counts(np.random.default_rng(0), 0.5)
    fit_law(K, M, SEQ_LENS, HALF_OCTAVES)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        fit_law(K, M, SEQ_LENS, HALF_OCTAVES)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.6  # 0.04 s on one free core; the rest is room for busy machines
