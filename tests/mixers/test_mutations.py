"""A defect put into a mixer on purpose is caught by the conformance suite, and by the check that is for it.

Each row of the tables rewrites one place in a mixer's source: a token of the future is let in, a term is dropped,
a decay or a gradient is wrong, a state is miscounted. The suite sees what is wrong in the training form, in
`forward_at`, in a backward pass written by hand or in `step`, because two of them then differ. What they share is
compared with itself there: a term that all of them lack, of a projection, a gate or a norm, is for the tests of
the mixer's own file, which hold it to its paper's equation written out in plain loops. The last table shows so.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from operator import attrgetter
from typing import Any, NamedTuple

import pytest

from tune_zoo.testing import LONG, SequenceMixerConformance

OPTIONS: dict[str, Any] = {
    "hybrid": {"layers": [{"name": "base_conv"}, {"name": "attention"}], "combine": "sum"},
    "base_conv": {"kernels": ["long"]},
    "long_conv": {"kernels": ["long"]},
}  # of mixers that are not taken as they come


class Mutation(NamedTuple):
    """A defect in a few words, the mixer that has it, and a part of a function's source with what replaces it.

    Attributes:
        where: The function, as `module:qualified.name` under tune_zoo.mixers; a module may have it from another.
        old: What stands there, once.
    """

    mixer: str
    defect: str
    where: str
    old: str
    new: str


# fmt: off
CAUGHT_BY_CAUSALITY = [
    Mutation("attention", "no mask", "attention:Attention.attend", "is_causal=True", "is_causal=False"),
    Mutation("sliding_window", "a key too many", "sliding_window:_seen", "<= query_W1", "<= query_W1 + 1"),
    Mutation("long_conv", "a transform that wraps around", "ops.convolution:_FFTConv.forward",
             "length + num_taps - 1", "length"),
    Mutation("linear_attention", "a diagonal too many", "ops.chunks:_Chunks._pairs",
             "(x @ k.transpose(-1, -2)).tril(diagonal)", "(x @ k.transpose(-1, -2)).tril(diagonal + 1)"),
    Mutation("mamba2", "a mask that begins too late", "ops.chunks:_Chunks._pairs",
             "triu(diagonal + 1)", "triu(diagonal + 2)"),
    Mutation("input_dependent_conv", "matches of the whole row", "input_dependent_conv:InputDependentConv.forward",
             "match_BLT.cumsum(1)", "match_BLT.sum(1, keepdim=True).expand_as(match_BLT)"),
]

CAUGHT_BY_AGREEMENT = [
    Mutation("base_conv", "no bias", "parts.conv_mixer:ConvMixer.convolve", " + bias", ""),
    Mutation("hyena", "no first gate", "hyena:Hyena.forward", "x1_BLD * v_BLD", "v_BLD"),
    Mutation("h3", "no skip", "h3:DiagonalSSM.taps", "with_skip(taps_JH, skip_H)", "taps_JH"),
    Mutation("h3", "powers that begin at one", "h3:DiagonalSSM.taps", "* powers_r)", "* (powers_r + 1))"),
    Mutation("rwkv4", "no decay", "rwkv4:RWKV4._sums_before",
             "before_BLD - w_D - maximum_BLD", "before_BLD - maximum_BLD"),
    Mutation("gla", "a decay too few", "ops.chunks:_Chunks._pairs",
             "middle - self.decays", "middle - self.decays_before"),
    Mutation("delta_net", "nothing removed within a chunk", "ops.chunks:_Chunks._with_removal",
             " - self._read(self.a, b)", ""),
    Mutation("gated_delta_net", "a removal that sees the state decayed", "ops.chunks:_Chunks._read",
             "self.decays_before", "self.decays"),
    Mutation("rwkv7", "nothing written by the own chunk", "ops.chunks:_Chunks._with_removal",
             " + self._seen(self.q, self.k) @ self.v", ""),
    Mutation("mamba", "decays that do not add up over a block", "ops.selective_scan:_scan_blocks",
             "kept[:, :, t].mul_(kept[:, :, t - 1])", "pass"),
    Mutation("input_dependent_conv", "no threshold", "input_dependent_conv:InputDependentConv._read",
             " - largest_BQM[..., -1:]", ""),
    Mutation("attention", "scores of step not scaled", "attention:SoftmaxMixer.step",
             " / math.sqrt(q_BHC.shape[-1])", ""),
]

CAUGHT_BY_AGREEMENT_OF_GRADIENTS = [
    Mutation("base_conv", "a product for a correlation", "ops.convolution:_FFTConv.backward",
             "taps_DF.conj()", "taps_DF"),
    Mutation("rwkv4", "a factor of the position itself", "ops.scan:_Scan.backward",
             "[a_BLX[:, 1:], torch.zeros_like(a_BLX[:, :1])]", "[a_BLX]"),
    Mutation("mamba", "the state after a step for that before", "ops.selective_scan:_SelectiveScan.backward",
             "mul_(h[:, :, :-1])", "mul_(h[:, :, 1:])"),
]

CAUGHT_OVER_SEVERAL_CHUNKS = [
    Mutation("sliding_window", "a key too many behind", "sliding_window:_seen",
             "key_U > query_W1", "key_U >= query_W1"),
    Mutation("based", "chunks before forgotten", "ops.chunks:_Chunks.outputs",
             "self._from_start(self.q, self.decays) @ states + ", ""),
    Mutation("mamba2", "no decay from a chunk's start", "ops.chunks:_Chunks._from_start", "x * decays.exp()", "x"),
    Mutation("retnet", "no decay from chunk to chunk", "ops.chunks:_Chunks._carried",
             "ends[:, :, chunk] * state", "state"),
    Mutation("delta_net", "nothing removed from chunk to chunk", "ops.chunks:_Chunks._carried",
             "after + mixed[:, :, chunk] @ state", "after"),
    Mutation("gla", "a decay too many to a chunk's end", "ops.chunks:_Chunks._to_end",
             "] - self.decays)", "] - self.decays_before)"),
]

CAUGHT_AT_POSITIONS = [
    Mutation("attention", "no mask", "attention:SoftmaxMixer.forward_at", "(behind_BQL >= 0) & ", ""),
    Mutation("hyena", "no bias", "hyena:Hyena.forward_at", " + short.bias[:d]", ""),
    Mutation("retnet", "gates of other positions", "parts.matrix_state:MatrixStateMixer.forward_at",
             "take(x_BLD, at_BQ))", "take(x_BLD, at_BQ.flip(1)))"),
    Mutation("hybrid", "one part for all", "hybrid:Hybrid.forward_at",
             "for mixer in self._mixers())", "for mixer in [self.parts[0]])"),
]

CAUGHT_BY_STATE_SIZE = [
    Mutation("base_conv", "an input kept too long", "parts.conv_mixer:causal_conv_step",
             "num_seen - len(taps_KD) + 1", "num_seen - len(taps_KD)"),
    Mutation("sliding_window", "a key kept too long", "attention:SoftmaxMixer.step",
             "+ 1 - self.reach", "- self.reach"),
]

CAUGHT_IN_FLOAT32 = [
    Mutation("mamba2", "exponentials before the mask", "ops.chunks:_Chunks._pairs",
             "exponents.masked_fill(later, -torch.inf).exp()", "exponents.exp().masked_fill(later, 0)"),
]

SHARED = [
    Mutation("linear_attention", "no normaliser", "linear_attention:normalised", " / read[..., -1:]", ""),
    Mutation("delta_net", "keys of any norm", "delta_net:DeltaNet.terms",
             "q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)", "pass"),
    Mutation("gla", "a gate lost", "parts.matrix_state:HeadNorm.forward",
             "normed * F.silu(gate)", "normed + 0 * gate"),
]
# fmt: on

AGREES, LEAK = "test_agrees_with_its_recurrence", "test_the_future_changes_nothing"
TABLE = [
    (mutation, check, arguments, message)
    for mutations, check, arguments, message in (
        (CAUGHT_BY_CAUSALITY, LEAK, (12, 12), "from after|what came after"),
        (CAUGHT_BY_AGREEMENT, AGREES, (12, 12), "the outputs differ"),
        (CAUGHT_BY_AGREEMENT_OF_GRADIENTS, AGREES, (12, 12), "the gradients of"),
        (CAUGHT_OVER_SEVERAL_CHUNKS, AGREES, (LONG, LONG), "the outputs differ"),
        (CAUGHT_AT_POSITIONS, "test_forward_at_is_forward_taken_there", (12, 12), "the outputs differ"),
        (
            CAUGHT_BY_STATE_SIZE,
            "test_state_size_is_what_the_recurrence_carries",
            (LONG,),
            "the recurrence carries",
        ),
        (CAUGHT_IN_FLOAT32, "test_float32_over_many_positions", (10,), "nan"),
    )
    for mutation in mutations
]


def suite(mixer: str) -> SequenceMixerConformance:
    class Suite(SequenceMixerConformance):
        name = mixer
        options = OPTIONS.get(mixer, {})

    return Suite()


def apply(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a function rewritten from its own source in its place."""
    module_name, _, path = mutation.where.partition(":")
    module = importlib.import_module(f"tune_zoo.mixers.{module_name}")
    owner_path, _, name = path.rpartition(".")
    owner = attrgetter(owner_path)(module) if owner_path else module
    source = textwrap.dedent(inspect.getsource(getattr(owner, name)))
    assert source.count(mutation.old) == 1, f"{mutation.where} has changed: mend this row, {mutation}"
    found: dict[str, Any] = {}
    exec(compile(source.replace(mutation.old, mutation.new), mutation.where, "exec"), vars(module), found)
    monkeypatch.setattr(owner, name, found[name])


@pytest.mark.parametrize(
    ("mutation", "check", "arguments", "message"), TABLE, ids=[f"{row[0].mixer}, {row[0].defect}" for row in TABLE]
)
def test_a_defect_is_caught(
    mutation: Mutation, check: str, arguments: tuple[int, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = getattr(suite(mutation.mixer), check)
    run(*arguments)
    apply(mutation, monkeypatch)
    with pytest.raises(AssertionError, match=message):
        run(*arguments)


@pytest.mark.parametrize("mutation", CAUGHT_OVER_SEVERAL_CHUNKS, ids=lambda mutation: mutation.mixer)
def test_one_chunk_would_not_show_it(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(mutation, monkeypatch)
    suite(mutation.mixer).test_agrees_with_its_recurrence(12, 12)


@pytest.mark.parametrize("mutation", SHARED, ids=lambda mutation: mutation.mixer)
def test_what_all_forms_share_goes_unseen_here(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(mutation, monkeypatch)
    suite(mutation.mixer).test_agrees_with_its_recurrence(12, 12)
