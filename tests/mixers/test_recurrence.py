"""The recurrence in chunks against its step in a loop: any length and kind of terms, gradients, low precision.

B batch, L positions, H heads, K and V channels a head.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.gla import LEAST_LOG_DECAY
from tune_zoo.mixers.ops.chunks import chunked_recurrence
from tune_zoo.mixers.ops.recurrence import Terms, recurrence_step
from tune_zoo.mixers.rwkv7 import LOG_DECAY_SCALE

B, H, K, V = 2, 2, 3, 4
DECAYS, REMOVALS = ["none", "head", "channel"], ["none", "shared key", "own key"]
by_decay = pytest.mark.parametrize("decay", DECAYS)
by_removal = pytest.mark.parametrize("removal", REMOVALS)


def draw(length: int, decay: str, removal: str, *, most: float = 1.0, seed: int = 0) -> Terms:
    """Return terms in float64 that float32 holds exactly, log decays between 0 and −`most`, keys of unit norm."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(channels: int) -> Tensor:
        return torch.rand(B, length, H, channels, generator=generator, dtype=torch.float64)

    def normal(channels: int) -> Tensor:
        return torch.randn(B, length, H, channels, generator=generator, dtype=torch.float64)

    log_decay = None if decay == "none" else -most * uniform(1 if decay == "head" else K)
    key, rate = F.normalize(normal(K), dim=-1), uniform(1)
    terms = Terms(normal(K), normal(K), normal(V), log_decay)
    if removal == "shared key":  # as in the gated delta rule
        kept = 1.0 if log_decay is None else log_decay.exp()
        terms = terms._replace(k=rate * key, removal=-kept * key)
    elif removal == "own key":  # as in RWKV-7
        terms = terms._replace(removal=-key, removal_key=uniform(K) * key)
    return terms.mapped(lambda term: term.float().double())


def by_loop(terms: Terms) -> Tensor:
    state_BHKV = terms.v.new_zeros(B, H, K, V)
    reads = []
    for t in range(terms.v.shape[1]):
        read_BHV, state_BHKV = recurrence_step(terms.mapped(lambda term, t=t: term[:, t]), state_BHKV)
        reads.append(read_BHV)
    return torch.stack(reads, dim=1)


def with_gradients(function: Callable[[Terms], Tensor], terms: Terms) -> list[Tensor]:
    """Return the output and the gradients of all terms there are."""
    terms = terms.mapped(lambda term: term.clone().requires_grad_())
    y_BLHV = function(terms)
    weight_BLHV = torch.linspace(-1, 1, y_BLHV.numel(), dtype=torch.float64).view_as(y_BLHV)
    return [
        y_BLHV,
        *torch.autograd.grad((weight_BLHV * y_BLHV).sum(), [term for term in terms if term is not None]),
    ]


def assert_near(found: list[Tensor], expected: list[Tensor], *, output: float, gradient: float) -> None:
    """Check that all is finite, and relative errors, where a gradient is not next to nothing."""
    least = 1e-6 * max(float(tensor.detach().norm()) for tensor in expected)
    for i, (found_one, expected_one) in enumerate(zip(found, expected, strict=True)):
        assert found_one.isfinite().all()
        error = float((found_one.detach() - expected_one.detach()).norm())
        assert error <= (gradient if i else output) * max(least, float(expected_one.detach().norm()))


def assert_float32_suffices(terms: Terms, *, chunk_len: int, output: float = 1e-5, gradient: float = 1e-4) -> None:
    chunked = partial(chunked_recurrence, chunk_len=chunk_len)
    found = with_gradients(chunked, terms.mapped(torch.Tensor.float))
    assert found[0].dtype == torch.float32
    assert_near(found, with_gradients(by_loop, terms), output=output, gradient=gradient)


@by_decay
@by_removal
def test_a_step_is_the_equation(decay, removal):
    terms = draw(1, decay, removal)
    state_BHKV = torch.randn(B, H, K, V, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    read_BHV, next_BHKV = recurrence_step(terms.mapped(lambda term: term[:, 0]), state_BHKV)
    for b, h in np.ndindex(B, H):
        q, k, v, log_decay, a, removal_key = (None if x is None else x[b, 0, h].numpy() for x in terms)
        state_KV = state_BHKV[b, h].numpy()
        kept_KK = np.eye(K) if log_decay is None else np.diag(np.exp(np.broadcast_to(log_decay, K)))
        if a is not None:
            kept_KK = kept_KK + np.outer(k if removal_key is None else removal_key, a)
        expected_KV = kept_KK @ state_KV + np.outer(k, v)
        np.testing.assert_allclose(next_BHKV[b, h], expected_KV, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(read_BHV[b, h], expected_KV.T @ q, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(
    length=st.integers(1, 70),
    chunk_len=st.integers(1, 80),
    decay=st.sampled_from(DECAYS),
    removal=st.sampled_from(REMOVALS),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_length_in_any_chunks(length, chunk_len, decay, removal, seed):
    terms = draw(length, decay, removal, seed=seed)
    found = chunked_recurrence(terms, chunk_len=chunk_len)
    torch.testing.assert_close(found, by_loop(terms), rtol=1e-9, atol=1e-9)


@by_decay
@by_removal
@pytest.mark.parametrize(("length", "chunk_len"), [(1, 1), (7, 3), (12, 4), (12, 64)])
def test_gradients_are_those_of_the_loop(decay, removal, length, chunk_len):
    terms = draw(length, decay, removal)
    found = with_gradients(partial(chunked_recurrence, chunk_len=chunk_len), terms)
    torch.testing.assert_close(found, with_gradients(by_loop, terms), rtol=1e-9, atol=1e-9)


@by_decay
@by_removal
def test_the_length_of_a_chunk_changes_nothing(decay, removal):
    terms = draw(33, decay, removal)
    at_once = with_gradients(partial(chunked_recurrence, chunk_len=33), terms)
    for chunk_len in (1, 2, 8, 32, 1000):
        found = with_gradients(partial(chunked_recurrence, chunk_len=chunk_len), terms)
        torch.testing.assert_close(found, at_once, rtol=1e-9, atol=1e-9)


def with_head_decay(terms: Terms, log_decay_BLH1: Tensor) -> Terms:
    """Return terms with these decays, and the removal of the gated delta rule where they have one."""
    removal = None if terms.removal is None else -log_decay_BLH1.exp() * F.normalize(terms.k, dim=-1)
    return terms._replace(log_decay=log_decay_BLH1, removal=removal)


by_removal_that_shares = pytest.mark.parametrize("removal", ["none", "shared key"])


@by_removal_that_shares
@pytest.mark.parametrize("log_decay", [-1e-6, -1.0, -80.0, -1000.0])
def test_a_heads_decay_may_be_of_any_strength(removal, log_decay):
    terms = draw(70, "head", removal)
    log_decay_BLH1 = torch.full_like(terms.log_decay, np.float32(log_decay))
    assert_float32_suffices(with_head_decay(terms, log_decay_BLH1), chunk_len=64)


@by_removal_that_shares
def test_a_strong_decay_among_weak_ones_leaves_them_as_they_are(removal):
    terms = draw(70, "head", removal, most=0.02)
    terms.log_decay[:, ::9] -= 1000
    terms = with_head_decay(terms, terms.log_decay.float().double())
    assert_float32_suffices(terms, chunk_len=64, output=1e-3, gradient=2e-3)


@by_removal_that_shares
@pytest.mark.parametrize("strength", [1e6, 1e30])
def test_a_decay_to_nothing_leaves_the_weak_ones_as_they_are(removal, strength):
    terms = draw(70, "head", removal, most=0.02)
    terms.log_decay[:, ::9] -= strength
    terms = with_head_decay(terms, terms.log_decay.float().double())
    assert_float32_suffices(terms, chunk_len=64, output=1e-3, gradient=2e-3)


@pytest.mark.parametrize(
    ("removal", "least", "chunk_len"), [("none", LEAST_LOG_DECAY, 16), ("own key", LOG_DECAY_SCALE, 64)]
)
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_channels_may_decay_as_much_as_their_mixers_allow(removal, least, chunk_len, share):
    terms = draw(130, "channel", removal)
    strongest = torch.rand(terms.k.shape, generator=torch.Generator().manual_seed(2)) <= share
    log_decay = torch.where(strongest, float(np.float32(least)), 0.001 * terms.log_decay)
    assert_float32_suffices(terms._replace(log_decay=log_decay), chunk_len=chunk_len)


def test_the_mixers_allow_half_of_what_float32_holds():
    assert -LEAST_LOG_DECAY * 16 <= 80
    assert -LOG_DECAY_SCALE * 64 <= 80
    terms = draw(70, "channel", "own key")
    log_decay = torch.full_like(terms.k, -160 / 32)
    assert_float32_suffices(terms._replace(log_decay=log_decay), chunk_len=32)


@by_decay
@by_removal
def test_long_runs_in_float32(decay, removal):
    terms = draw(512, decay, removal, most=0.05)
    with torch.no_grad():
        found = chunked_recurrence(terms.mapped(torch.Tensor.float), chunk_len=64)
        assert_near([found], [by_loop(terms)], output=1e-3, gradient=0)


@by_decay
@by_removal
def test_bfloat16_is_computed_in_float32(decay, removal):
    low = draw(40, decay, removal).mapped(torch.Tensor.bfloat16)
    found = with_gradients(partial(chunked_recurrence, chunk_len=16), low)
    assert all(tensor.dtype == torch.bfloat16 for tensor in found)
    in_full = low.mapped(torch.Tensor.double)
    assert_near(found, with_gradients(by_loop, in_full), output=2**-8, gradient=2**-7)


@by_decay
@by_removal
def test_autocast_makes_nothing_coarser(decay, removal):
    single = draw(40, decay, removal).mapped(torch.Tensor.float)
    chunked = partial(chunked_recurrence, chunk_len=16)

    def under_autocast(terms: Terms) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return chunked(terms)

    found, expected = with_gradients(under_autocast, single), with_gradients(chunked, single)
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_a_decay_in_float32_beside_values_in_bfloat16_keeps_its_digits():
    terms = draw(200, "head", "none", most=0.0)
    terms = terms._replace(log_decay=torch.full_like(terms.log_decay, math.log1p(-(2.0**-8))).float())
    low = terms._replace(**{name: getattr(terms, name).bfloat16() for name in "qkv"})
    found = chunked_recurrence(low, chunk_len=64)
    assert_near([found], [by_loop(low.mapped(torch.Tensor.double))], output=2**-8, gradient=0)


def test_it_leaves_its_arguments_alone():
    terms = draw(9, "channel", "own key")
    copies = terms.mapped(torch.Tensor.clone)
    chunked_recurrence(terms, chunk_len=4)
    assert all(torch.equal(*pair) for pair in zip(terms, copies, strict=True))
