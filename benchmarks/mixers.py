"""What a layer of every sequence mixer costs, forward and backward, by length and against attention.

Everything in one column is timed in turn within one process, round after round, in CPU seconds of one thread; the
least counts, which other work on the machine disturbs least. `--ops` shows where the convolution's forms cross.

    python benchmarks/mixers.py
    python benchmarks/mixers.py --ops
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tune_zoo.mixers.ops.convolution import direct_conv, fft_conv
from tune_zoo.mixers.registry import MIXERS, build, parse_config

ENTRIES: Mapping[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in sorted(MIXERS) if name not in ("hybrid", "base_conv", "long_conv")},
    "base_conv, 3 taps": ("base_conv", {"kernels": [3]}),
    "base_conv, long": ("base_conv", {"kernels": ["long"]}),
    "base_conv, implicit": ("base_conv", {"kernels": ["implicit"]}),
    "long_conv, long": ("long_conv", {"kernels": ["long"]}),
}


def interleaved_ms(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least CPU milliseconds of each call, made in turn; the first round warms up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(1e3 * (time.process_time() - start))
    return {name: min(values[1:]) for name, values in times.items()}


def mixer_step(
    name: str, options: Mapping[str, Any], *, d_model: int, seq_len: int, batch: int
) -> Callable[[], None]:
    """Return a call that runs one layer forward and backward."""
    config = parse_config(name, options)
    mixer = build(name, config, d_model=d_model, seq_len=seq_len, layer_idx=0, num_layers=2)
    x_BLD = torch.randn(batch, seq_len, d_model, requires_grad=True)
    grad_BLD = torch.randn(batch, seq_len, d_model)
    wanted = [x_BLD, *mixer.parameters()]

    def call() -> None:
        torch.autograd.grad(mixer(x_BLD), wanted, grad_BLD)

    return call


def form_step(
    form: Callable[..., torch.Tensor], *, d_model: int, seq_len: int, taps: int, batch: int
) -> Callable[[], None]:
    """Return a call that runs one form of the convolution forward and backward."""
    x_BLD = torch.randn(batch, seq_len, d_model, requires_grad=True)
    taps_KD = torch.randn(taps, d_model, requires_grad=True)
    grad_BLD = torch.randn(batch, seq_len, d_model)

    def call() -> None:
        torch.autograd.grad(form(x_BLD, taps_KD), (x_BLD, taps_KD), grad_BLD)

    return call


def print_row(cells: Sequence[object]) -> None:
    """Print one line of a Markdown table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_head(columns: Sequence[str]) -> None:
    """Print the head of a Markdown table."""
    print_row(columns)
    print_row(["---"] * len(columns))


def compare_mixers(d_model: int, lengths: Sequence[int], batch: int, rounds: int) -> None:
    """Print the milliseconds of every mixer by length, the ratios to attention and the growth with length."""
    at = {
        n: interleaved_ms(
            {
                label: mixer_step(name, options, d_model=d_model, seq_len=n, batch=batch)
                for label, (name, options) in ENTRIES.items()
            },
            rounds,
        )
        for n in lengths
    }
    first, last = lengths[0], lengths[-1]
    print(f"d_model {d_model}, batch {batch}; growth: time a position at N {last} over that at N {first}\n")
    columns = [column for n in lengths for column in (f"N {n}, ms", "ratio")]
    print_head(["mixer", *columns, "growth"])
    for label in sorted(ENTRIES, key=lambda label: at[last][label]):
        cells = [cell for ms in at.values() for cell in (f"{ms[label]:.1f}", f"{ms[label] / ms['attention']:.2f}")]
        growth = at[last][label] / last / (at[first][label] / first)
        print_row([label, *cells, f"{growth:.1f}"])


def compare_forms(d_model: int, lengths: Sequence[int], batch: int, rounds: int) -> None:
    """Print the milliseconds of the convolution's forms by length and taps."""
    print_head(["N", "taps", "direct, ms", "FFT, ms"])
    forms = {"direct": direct_conv, "FFT": fft_conv}
    for n in lengths:
        for taps in sorted({3, 6, 8, 12, n}):
            slow = ("direct",) if taps > 12 else ()
            calls = {
                name: form_step(form, d_model=d_model, seq_len=n, taps=taps, batch=batch)
                for name, form in forms.items()
                if name not in slow
            }
            ms = interleaved_ms(calls, rounds)
            print_row([n, taps, *(f"{ms[name]:.2f}" if name in ms else "" for name in forms)])


def main(
    lengths: Sequence[int] = (64, 256, 1024),
    *,
    d_model: int = 64,
    batch: int = 32,
    rounds: int = 5,
    ops: bool = False,
) -> None:
    """Print one table, on one thread."""
    torch.set_num_threads(1)
    (compare_forms if ops else compare_mixers)(d_model, lengths, batch, rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", action="store_true", help="compare the forms of the convolution")
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    main(options.lengths, d_model=options.d_model, batch=options.batch, rounds=options.rounds, ops=options.ops)
