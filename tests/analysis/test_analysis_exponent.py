from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.law.exponent import Exponent, GridPosterior
from analysis.law.posterior import B

STEP = 0.03


def bell(mean, sd, grid=B):
    mass = np.exp(-0.5 * ((grid - mean) / sd) ** 2)
    return Exponent(grid=grid, mass=mass / mass.sum())


def point(value, grid=B):
    mass = np.zeros(grid.size)
    mass[np.abs(grid - value).argmin()] = 1.0
    return Exponent(grid=grid, mass=mass)


bells = st.builds(bell, st.floats(-0.5, 2.0), st.floats(0.02, 0.6))


def test_quantiles_of_a_uniform():
    flat = Exponent(grid=np.linspace(0.05, 0.95, 10), mass=np.full(10, 0.1))
    for q in (0.0, 0.025, 0.31, 0.5, 0.975, 1.0):
        assert flat.quantile(q) == pytest.approx(q)
        assert flat.above(q) == pytest.approx(1 - q)
    assert flat.interval == pytest.approx((0.025, 0.975))
    assert flat.sd == pytest.approx(np.std(flat.grid))
    assert flat.edge_mass == pytest.approx(0.2)
    assert flat.odds(0.42) == pytest.approx(1.0)


def test_quantiles_of_a_bell_are_the_normal_ones():
    found = bell(0.6, 0.2)
    assert found.interval == pytest.approx((0.6 - 1.95996 * 0.2, 0.6 + 1.95996 * 0.2), abs=1e-3)
    assert found.median == pytest.approx(0.6, abs=1e-3)
    assert found.sd == pytest.approx(0.2, abs=1e-3)
    # Density of the normal at two of its deviations against a flat one over 3.51.
    assert found.odds(1.0) == pytest.approx(3.51 * np.exp(-2) / (0.2 * np.sqrt(2 * np.pi)), rel=0.01)


@given(bells, st.floats(0.001, 0.999))
def test_above_undoes_the_quantile(exponent, probability):
    assert exponent.above(exponent.quantile(probability)) == pytest.approx(1 - probability, abs=1e-6)


def test_above_is_nothing_beyond_the_grid_and_all_before_it():
    found = bell(0.5, 0.3)
    assert found.above(-1.02) == 1.0
    assert found.above(2.6) == pytest.approx(0.0, abs=1e-12)


def test_difference_against_draws():
    one, other = bell(0.9, 0.15), bell(0.2, 0.4)
    skewed = Exponent(grid=B, mass=np.where(B > 0, np.exp(-B / 0.3), 0) / np.exp(-B[B > 0] / 0.3).sum())
    rng = np.random.default_rng(0)
    for first, second in ((one, other), (one, skewed), (skewed, other)):
        draws = [
            rng.choice(law.grid, 200_000, p=law.mass) + STEP * rng.uniform(-0.5, 0.5, 200_000)
            for law in (first, second)
        ]
        gap, found = draws[0] - draws[1], first.less(second)
        for q in (0.025, 0.5, 0.975):
            assert found.quantile(q) == pytest.approx(np.quantile(gap, q), abs=0.015)
        assert found.above(0.0) == pytest.approx(np.mean(gap > 0), abs=0.01)
        assert found.sd == pytest.approx(np.hypot(first.sd, second.sd), rel=1e-6)


def test_difference_of_points_lands_on_the_difference():
    for one, other in ((0.5, 0.2), (-1.0, 2.48), (2.48, -1.0), (0.8, 0.8)):
        assert point(one).less(point(other)).median == pytest.approx(one - other, abs=STEP)
    assert point(0.5).less(point(0.5, grid=B + 6 * STEP)).median == pytest.approx(0.0, abs=1e-9)


def test_a_difference_has_no_odds_against_a_flat_prior():
    # That of two flat priors is a triangle.
    gap = bell(0.9, 0.15).less(bell(0.2, 0.4))
    assert type(gap) is GridPosterior
    flat = Exponent(grid=B, mass=np.full(B.size, 1 / B.size))
    assert flat.less(flat).mass.max() > 1.9 * flat.less(flat).mass.mean()


@given(bells, bells)
def test_difference_is_antisymmetric(one, other):
    there, back = one.less(other), other.less(one)
    np.testing.assert_allclose(there.mass, back.mass[::-1], atol=1e-12)
    np.testing.assert_allclose(there.grid, -back.grid[::-1], atol=1e-9)
    assert there.above(0.0) == pytest.approx(1 - back.above(0.0), abs=1e-9)
    assert there.mass.sum() == pytest.approx(1.0)


@given(bells)
def test_difference_of_equal_exponents_is_symmetric_about_zero(exponent):
    gap = exponent.less(exponent)
    assert gap.median == pytest.approx(0.0, abs=1e-9)
    assert gap.above(0.0) == pytest.approx(0.5)
    low, high = gap.interval
    assert low == pytest.approx(-high, abs=1e-9)
