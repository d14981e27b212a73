"""What one layer of a mixer needs of a GPU's memory, in elements: the table behind `tune_zoo.footprint`.

The letters are the mixers' own: N positions, d width, H heads, K and V channels of a key and a value a head, C
positions of a chunk. The factors were measured on the CPU in float32: what is kept with
`torch.autograd.graph.saved_tensors_hooks`, what passes with torch's profiler of memory; N 32 to 512, d 16 to 512,
several options of each mixer. They are rounded up: what is kept is estimated at 1 to 2 times what it measures.

Scores of attention, N² a head, count only where a kernel has to write them down: in a window, whose blocks have
five dimensions, which torch's fused kernels do not take, and in heads whose channels are no multiple of 8. So
attention of width 12 may need more than of width 16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

SCAN_ELEMENTS = 2**26  # of a buffer, as in tune_zoo.mixers.ops.selective_scan
DIRECT_MAX_TAPS = 6  # as in tune_zoo.mixers.ops.convolution


class Layer(NamedTuple):
    """What one layer of a mixer needs, in elements.

    Attributes:
        kept: For backward, a position of a row.
        passing: What comes and goes on top in the worse of both directions, a position of a row.
        weights: Parameters; never fewer than there are, but for those a position that `filter` has.
        filter: What a filter of N taps keeps for backward, however many rows there are.
        buffer: Of one of the buffers of a scan, a position of a row; all rows have `SCAN_ELEMENTS` together, or
            what one row needs. Backward has four, a forward pass two.
        bfloat16: The part of `kept` and `passing` that autocast leaves.
    """

    kept: float
    passing: float
    weights: float
    filter: float = 0.0
    buffer: float = 0.0
    bfloat16: float = 1.0


class Place(NamedTuple):
    """Where a layer stands: N positions, width d, its index, and the queries it reads at (0: at all positions)."""

    n: int
    d: int
    layer_idx: int
    queries: int


Options = Mapping[str, Any]


def _attention(options: Options, at: Place) -> Layer:
    heads = options.get("num_heads", 1)
    seen = heads * at.n if at.d // heads % 8 else 0
    kept = (2.5 if options.get("dropout", 0.0) else 1.0) * seen
    mask = 1.5 * at.queries  # of queries against positions: given as booleans, copied as numbers
    return Layer(kept=6 * at.d + kept + mask, passing=4 * at.d + 2 * seen, weights=5 * at.d**2, bfloat16=0.75)


def _sliding_window(options: Options, at: Place) -> Layer:
    seen = 2 * options.get("num_heads", 1) * min(options.get("window", 64), at.n)
    kept = (2.8 if options.get("dropout", 0.0) else 1.0) * seen
    return Layer(kept=8 * at.d + kept + 1.5 * at.queries, passing=7 * at.d + 2.2 * seen, weights=5 * at.d**2)


def _convolution(options: Options, at: Place, *, short: float, long: float, gate: bool) -> Layer:
    """Keep `short` times d for a filter of a few taps, `long` for one that is applied by its spectrum."""
    kernels = options.get("kernels", (3, "long"))
    kernel = kernels[at.layer_idx % len(kernels)]
    weights = gate * at.d**2 + 2 * at.n * at.d
    if isinstance(kernel, int) and kernel <= DIRECT_MAX_TAPS:
        return Layer(short * at.d, 3.5 * at.d, weights + kernel * at.d)
    taps, hidden = (kernel, 0) if isinstance(kernel, int) else (at.n, 320 * (kernel == "implicit"))
    weights += taps * at.d + 64 * at.d + 25 * hidden
    return Layer(long * at.d, 9 * at.d, weights, filter=at.n * (4 * at.d + hidden))


def _hyena(options: Options, at: Place) -> Layer:
    hidden = options.get("filter_width", 64)
    weights = 5 * at.d**2 + (hidden + 64) * at.d + 3 * hidden**2 + 40 * hidden
    return Layer(17 * at.d, 8 * at.d, weights, filter=at.n * (6 * at.d + 8 * hidden))


def _h3(options: Options, at: Place) -> Layer:
    states, dim = options.get("d_state", 64), options.get("head_dim", 1)
    powers = 4 * states * math.sqrt(at.n) * at.d / dim
    kept = (12 + 4 * dim) * at.d
    return Layer(
        kept, (1 + 7 * dim) * at.d, 5 * at.d**2 + 4 * states * at.d, filter=at.n * 4 * at.d * dim + powers
    )


def _input_dependent_conv(options: Options, at: Place) -> Layer:
    picks = options.get("num_distances", 4)
    kept, passing = (7 + picks) * at.d + 1.2 * at.n + 64, (4 + 1.5 * picks) * at.d + 3.5 * at.n
    return Layer(kept, passing, 5 * at.d**2, bfloat16=0.75)


def _mamba(options: Options, at: Place) -> Layer:
    inner, states = options.get("expand", 2) * at.d, options.get("d_state", 16)
    kept = 14 * inner + 8 * states + states * inner / math.sqrt(at.n)
    weights = inner * (3.2 * at.d + 4 * states + 64)
    return Layer(kept, 9 * inner + 8 * states, weights, buffer=states * inner)


def _rwkv4(options: Options, at: Place) -> Layer:
    return Layer(21 * at.d, 9 * at.d, 5 * at.d**2)


class Matrix(NamedTuple):
    """Factors of what a mixer with a matrix a head keeps.

    Attributes:
        values: Of H·V.
        keys: Of H·K.
        pairs: Of H·C, the pairs of positions within a chunk.
        states: Of H·K·V/C, the states at the starts of chunks.
        width: Of d.
    """

    values: float
    keys: float
    pairs: float
    states: float
    width: float = 0.0


def _matrix(factors: Matrix, options: Options, at: Place, *, key: float, value: float, chunk: int = 64) -> Layer:
    """A mixer with `key` and `value` channels in all heads together."""
    heads, chunk_len = options.get("num_heads", 1), min(options.get("chunk_len", chunk), at.n)
    pairs, states = heads * chunk_len, key * value / heads / chunk_len
    convolved = 3.0 * (2 * at.d + value) if options.get("short_conv", 0) else 0.0
    kept = factors.values * value + factors.keys * key + factors.width * at.d
    return Layer(
        kept=kept + convolved + factors.pairs * pairs + factors.states * states,
        passing=4 * value + 3 * key + 5 * pairs + 4 * states,
        weights=at.d * (2 * min(key, 2 * at.d) + 3 * value + 2 * at.d + 256),
    )


def _based(options: Options, at: Place) -> Layer:
    heads, channels = options.get("num_heads", 1), options.get("feature_dim", 16)
    key = heads * (1 + channels + channels**2)
    return _matrix(Matrix(4.5, 4.0, 1.1, 1.1, width=2.0), options, at, key=key, value=at.d + heads)


def _delta_net(options: Options, at: Place) -> Layer:
    return _matrix(Matrix(20.0, 0.0, 3.3, 3.1), {"short_conv": 4, **options}, at, key=at.d, value=at.d)


def _gated_delta_net(options: Options, at: Place) -> Layer:
    value = options.get("expand_v", 1) * at.d
    return _matrix(Matrix(16.0, 10.0, 7.5, 3.1), {"short_conv": 4, **options}, at, key=at.d, value=value)


def _gla(options: Options, at: Place) -> Layer:
    return _matrix(Matrix(18.0, 0.0, 1.8, 2.1), options, at, key=at.d / 2, value=at.d, chunk=16)


def _linear_attention(options: Options, at: Place) -> Layer:
    value = at.d + options.get("num_heads", 1)
    return _matrix(Matrix(14.5, 0.0, 1.2, 1.1), options, at, key=at.d, value=value)


def _mamba2(options: Options, at: Place) -> Layer:
    own = {"num_heads": 2, "short_conv": 0, **options}
    key, value = own["num_heads"] * own.get("d_state", 64), own.get("expand", 2) * at.d
    return _matrix(Matrix(14.0, 10.0, 2.7, 2.3), {**own, "short_conv": 0}, at, key=key, value=value)


def _retnet(options: Options, at: Place) -> Layer:
    value = options.get("expand_v", 2) * at.d
    return _matrix(Matrix(6.0, 11.0, 2.2, 1.1), {"num_heads": 2, **options}, at, key=at.d, value=value)


def _rwkv7(options: Options, at: Place) -> Layer:
    return _matrix(Matrix(70.0, 0.0, 5.5, 3.1), options, at, key=at.d, value=at.d, chunk=32)


def _unknown(options: Options, at: Place) -> Layer:
    """A mixer that is not ours: more than most of ours, with room for a few numbers a pair of positions."""
    return Layer(40 * at.d + 4 * at.n + 1.5 * at.queries, 20 * at.d + 4 * at.n, 16 * at.d**2, 8 * at.n * at.d)


LAYERS: Mapping[str, Callable[[Options, Place], Layer]] = {
    "attention": _attention,
    "base_conv": partial(_convolution, short=4.4, long=6.0, gate=True),
    "based": _based,
    "delta_net": _delta_net,
    "gated_delta_net": _gated_delta_net,
    "gla": _gla,
    "h3": _h3,
    "hyena": _hyena,
    "input_dependent_conv": _input_dependent_conv,
    "linear_attention": _linear_attention,
    "long_conv": partial(_convolution, short=2.3, long=2.8, gate=False),
    "mamba": _mamba,
    "mamba2": _mamba2,
    "retnet": _retnet,
    "rwkv4": _rwkv4,
    "rwkv7": _rwkv7,
    "sliding_window": _sliding_window,
}
"""What a layer of each mixer needs; `hybrid` is made of these."""


def layer(name: str, options: Options, at: Place) -> Layer:
    """Return what a layer needs; a mixer that is not ours gets a cautious guess.

    Args:
        name: The mixer, as a spec names it.
        options: Its own options; what is not given has its default.
        at: Where the layer stands.
    """
    if name != "hybrid":
        return LAYERS.get(name, _unknown)(options, at)
    parts = options["layers"]
    if options.get("combine", "stack") == "stack":
        parts = [parts[at.layer_idx % len(parts)]]
    found = [layer(part["name"], part.get("config", {}), at) for part in parts]
    summed = Layer(*(sum(values) for values in zip(*found, strict=True)))
    return summed._replace(bfloat16=max(part.bfloat16 for part in found))
