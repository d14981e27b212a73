from __future__ import annotations

import numpy as np
import plain_laws
import pytest
from analysis_tables import HALF_OCTAVES, SEQ_LENS, draw_counts, exact_counts
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.law.candidates import Candidate, Law, compare_laws
from analysis.law.joint import weigh_lengths
from analysis.law.minimal_width import find_minimal_widths
from analysis.law.nuisance import TAU
from analysis.law.posterior import fit_joint, fit_law

BENDING = (Law.POWER_LAW, Law.AFFINE, Law.SATURATING)
LINES = {
    Law.CONSTANT: lambda t, w: np.ones_like(t),
    Law.LINEAR: lambda t, w: t,
    Law.POWER_LAW: lambda t, w: t**w,
    Law.AFFINE: lambda t, w: (1 - w) + w * t,
    Law.SATURATING: lambda t, w: 1 / ((1 - w) + w / t),
}


def compared(K, M, seq_lens=SEQ_LENS, widths=HALF_OCTAVES):
    law, joint = fit_joint(K, M, seq_lens, widths)
    return {found.law: found for found in compare_laws(joint.lengths, law.alpha, seq_lens)}


def counts_of(minimal, seq_lens, widths, seeds=4):
    """Every seed solves from d* on, and none below."""
    solved = np.asarray(widths) >= np.asarray([minimal(n) for n in seq_lens])[:, None]
    return solved * seeds, np.full(solved.shape, seeds)


def known(law, w, *, tau=0):
    """A candidate of one known line, through a width of 50 at a length of 200, with one scatter of the grid."""
    weight = np.zeros((1, TAU.size))
    weight[0, tau] = 1.0
    line = {"alpha": np.log([50.0]), "w": np.array([w]), "weight": weight}
    return Candidate(law=law, probability=1.0, center=np.log(200.0), **line)


def test_evidence_against_sums_by_the_book():
    K, M, seq_lens, widths = [[0, 2, 2], [0, 1, 1]], [[2, 2, 2], [3, 1, 2]], (32, 256), (16, 64, 200)
    alpha, w = np.log([9.0, 25.0, 55.0, 140.0]), np.arange(51) / 50
    v = np.arange(-6.0, 12.0, 0.05)
    lengths = weigh_lengths(np.array(K, float), np.array(M, float), np.log(widths), v)
    found = {candidate.law: candidate.probability for candidate in compare_laws(lengths, alpha, seq_lens)}
    t = np.asarray(seq_lens) / np.sqrt(32 * 256)
    plain = {}
    for law, rule in LINES.items():
        line_NP = np.log([(np.exp(alpha)[:, None] * rule(np.full(51, x), w)).ravel() for x in t])
        plain[law] = plain_laws.evidence(line_NP, K, M, widths).mean()
    total = sum(plain.values())
    for law, value in plain.items():
        assert found[law] == pytest.approx(value / total, rel=0.01)


@pytest.mark.parametrize("law", BENDING)
@pytest.mark.parametrize("w", [0.1, 0.5, 0.9])
def test_w_is_the_local_exponent_at_the_mean_length(law, w):
    low, high = known(law, w).minimal_width([200 * 0.99, 200 / 0.99]).median
    assert np.log(high / low) / np.log(0.99**-2) == pytest.approx(w, abs=1e-3)
    assert known(law, w).minimal_width([200]).median[0] == pytest.approx(50)


@pytest.mark.parametrize("law", Law)
def test_lines_by_their_closed_forms(law):
    n = np.array([3.0, 50.0, 200.0, 7000.0])
    plain = 50 * LINES[law](n / 200, 0.3)
    # The width of a constant or linear law hangs on no exponent but its own.
    w = {Law.CONSTANT: 0.0, Law.LINEAR: 1.0}.get(law, 0.3)
    np.testing.assert_allclose(known(law, w).minimal_width(n).median, plain, rtol=1e-9)


@pytest.mark.parametrize("w", [0.0, 1.0])
def test_the_bending_laws_meet_at_both_ends(w):
    n = [2.0, 200.0, 40_000.0]
    lines = [known(law, w).minimal_width(n).median for law in BENDING]
    np.testing.assert_allclose(lines, [50 * (np.array(n) / 200) ** w] * 3, rtol=1e-9)


def test_affine_and_saturating_mirror_each_other():
    # Widths turned upside down at lengths turned upside down: 1/d* of one is d* of the other.
    n = np.array([10.0, 100.0, 1000.0])
    affine, saturating = (known(law, 0.4).minimal_width(m) for law, m in ((BENDING[1], n), (BENDING[2], 4e4 / n)))
    np.testing.assert_allclose(affine.median, 2500 / saturating.median, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_odds_are_those_of_savage_and_dickey(seed):
    K, M = draw_counts(np.random.default_rng(seed), 0.2 + 0.3 * seed)
    law, found = fit_law(K, M, SEQ_LENS, HALF_OCTAVES), compared(K, M)
    # The posterior of b under a prior that is flat on [0, 1].
    b = np.linspace(0.0, 1.0, 2001)
    density = np.interp(b, law.b, law.exponent.mass)
    for rival, place in ((Law.CONSTANT, 0), (Law.LINEAR, -1)):
        odds = found[rival].probability / found[Law.POWER_LAW].probability
        assert odds == pytest.approx(density[place] / density.mean(), rel=0.06)


def test_probabilities_and_weights_are_whole():
    found = compared(*draw_counts(np.random.default_rng(1), 0.5))
    assert list(found) == list(Law)
    assert sum(candidate.probability for candidate in found.values()) == pytest.approx(1.0)
    for law, candidate in found.items():
        assert candidate.weight.sum() == pytest.approx(1.0)
        assert candidate.weight.shape == (candidate.alpha.size, TAU.size)
        assert law is Law.POWER_LAW or (candidate.w.min() >= 0 and candidate.w.max() <= 1)


def test_no_data_leaves_the_laws_equal():
    nothing = np.zeros((4, 13))
    for candidate in compared(nothing, nothing).values():
        assert candidate.probability == pytest.approx(0.2, abs=1e-4)


MANY = tuple(8 * 2**i for i in range(10))
WIDE = tuple(float(2 ** (i / 2)) for i in range(26))
TRUTHS = {
    Law.CONSTANT: lambda n: 60.0,
    Law.LINEAR: lambda n: n / 5,
    Law.POWER_LAW: lambda n: 3.1 * n**0.5,
    Law.AFFINE: lambda n: 20 + 0.2 * n,
    Law.SATURATING: lambda n: 1 / (1 / 300 + 1 / n),
}


@pytest.mark.parametrize("truth", Law)
def test_many_octaves_tell_the_laws_apart(truth):
    found = compared(*counts_of(TRUTHS[truth], MANY, WIDE), MANY, WIDE)
    assert max(found, key=lambda law: found[law].probability) is truth
    assert found[truth].probability > 0.8


def test_three_octaves_do_not():
    found = compared(*exact_counts(0.5))
    chances = [found[law].probability for law in BENDING]
    assert max(chances) < 3 * min(chances)


def test_predictions_against_draws():
    found = compared(*draw_counts(np.random.default_rng(4), 0.5))
    rng = np.random.default_rng(0)
    for law in Law:
        candidate = found[law]
        drawn = rng.choice(candidate.weight.size, 100_000, p=candidate.weight.ravel())
        line, tau = np.divmod(drawn, TAU.size)
        for n in (40.0, 2048.0):
            rule = LINES[law](n / np.exp(candidate.center), candidate.w[line])
            value = candidate.alpha[line] + np.log(rule) + TAU[tau] * rng.normal(size=drawn.size)
            predicted = candidate.minimal_width([n])
            ends = [predicted.low[0], predicted.median[0], predicted.high[0]]
            # The α grid is .05 wide, and the law without scatter leaves steps of it between the draws.
            np.testing.assert_allclose(np.log(ends), np.quantile(value, (0.025, 0.5, 0.975)), atol=0.04)


def test_scatter_widens_a_prediction_by_its_quantiles():
    for index, tau in enumerate(TAU):
        line = known(Law.POWER_LAW, 0.5, tau=index).minimal_width([800])
        assert line.median[0] == pytest.approx(100, rel=0.001)
        assert np.log(line.high / line.low)[0] == pytest.approx(2 * 1.95996 * tau, abs=0.021)


@pytest.mark.parametrize("law", BENDING)
def test_inside_the_tried_lengths_predictions_are_the_widths_found(law):
    K, M = exact_counts(0.5)
    widths = find_minimal_widths(SEQ_LENS, [int(d) for d in HALF_OCTAVES], K, M)
    line = compared(K, M)[law].minimal_width(SEQ_LENS)
    for width, low, median, high in zip(widths, line.low, line.median, line.high, strict=True):
        assert width.lower / 1.2 < median < width.upper * 1.2
        assert low < width.upper
        assert high > width.lower


@pytest.mark.parametrize("law", BENDING)
def test_predictions_widen_beyond_the_tried_lengths(law):
    found = compared(*draw_counts(np.random.default_rng(2), 0.5))[law]
    for n in (512.0 * 2.0 ** np.arange(6), 64.0 / 2.0 ** np.arange(6)):
        line = found.minimal_width(n)
        spread = np.log(line.high / line.low)
        # Beyond N the width of a saturating law stands still, and so does that of an affine one short of it.
        assert (np.diff(spread) > -1e-9).all()
        assert spread[-1] > spread[0] + 0.05


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 1000), st.permutations(range(4)), st.integers(2, 50))
def test_order_and_unit_of_lengths_are_irrelevant(seed, order, factor):
    K, M = draw_counts(np.random.default_rng(seed), 0.5)
    one, other = compared(K, M), compared(K[order], M[order], [factor * SEQ_LENS[i] for i in order])
    for law in Law:
        assert other[law].probability == pytest.approx(one[law].probability, abs=2e-4)
        near, far = one[law].minimal_width([1024.0]), other[law].minimal_width([1024.0 * factor])
        assert far.median[0] == pytest.approx(near.median[0], rel=0.01)


def test_coverage_of_the_width_at_twice_the_longest_length():
    rng = np.random.default_rng(11)
    x = np.log(1024) - np.log(SEQ_LENS).mean()
    held = []
    for run in range(45):
        b, middle = (0.25, 0.5, 0.75)[run % 3], float(np.exp(rng.uniform(np.log(30), np.log(90))))
        line = compared(*draw_counts(rng, b, middle=middle))[Law.POWER_LAW].minimal_width([1024])
        truth = np.log(middle) + b * x + 0.1 * rng.normal()
        held.append(np.log(line.low[0]) <= truth <= np.log(line.high[0]))
    # A true coverage of .95 falls under 39 of 45 once in 150 times.
    assert sum(held) >= 39
