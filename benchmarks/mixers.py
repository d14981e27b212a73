"""The cost of a sequence mixer, forward and backward, against attention; and where the convolutions' forms cross.

Everything in one row is timed in turn within one process, round after round, in CPU seconds of one thread; the
least counts, which other work on the machine disturbs least.

    python benchmarks/mixers.py
    python benchmarks/mixers.py --ops
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tune_zoo.mixers.ops import direct_conv, fft_conv
from tune_zoo.mixers.registry import build, parse_config

MIXERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "attention": ("attention", {}),
    "base_conv 3": ("base_conv", {"kernels": [3]}),
    "base_conv long": ("base_conv", {"kernels": ["long"]}),
    "base_conv implicit": ("base_conv", {"kernels": ["implicit"]}),
    "long_conv long": ("long_conv", {"kernels": ["long"]}),
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


def print_row(head: str, cells: Sequence[str]) -> None:
    """Print one line of a table."""
    print(f"{head:22}" + "".join(f"{cell:>20}" for cell in cells))


def compare_mixers(widths: Sequence[int], lengths: Sequence[int], batch: int, rounds: int) -> dict[str, float]:
    """Print the mixers' times as ratios to attention's; returns those of the last row."""
    print_row("d_model, seq_len", ["attention, ms", *[name for name in MIXERS if name != "attention"]])
    ratios: dict[str, float] = {}
    for d_model in widths:
        for seq_len in lengths:
            calls = {
                label: mixer_step(*mixer, d_model=d_model, seq_len=seq_len, batch=batch)
                for label, mixer in MIXERS.items()
            }
            ms = interleaved_ms(calls, rounds)
            base = ms.pop("attention")
            ratios = {name: value / base for name, value in ms.items()}
            print_row(f"{d_model}, {seq_len}", [f"{base:.2f}", *[f"{ratio:.2f}" for ratio in ratios.values()]])
    return ratios


def compare_forms(widths: Sequence[int], lengths: Sequence[int], batch: int, rounds: int) -> None:
    """Print the milliseconds of the convolutions' forms by width, length and taps."""
    print_row("d_model, seq_len, taps", ["direct, ms", "FFT, ms"])
    forms = {"direct": direct_conv, "FFT": fft_conv}
    for d_model in widths:
        for seq_len in lengths:
            for taps in sorted({3, 6, 8, 12, seq_len}):
                size = {"d_model": d_model, "seq_len": seq_len, "taps": taps, "batch": batch}
                slow = ("direct",) if taps > 12 else ()
                calls = {name: form_step(form, **size) for name, form in forms.items() if name not in slow}
                ms = interleaved_ms(calls, rounds)
                cells = [f"{ms[name]:.2f}" if name in ms else "" for name in forms]
                print_row(f"{d_model}, {seq_len}, {taps}", cells)


def main(
    widths: Sequence[int] = (16, 64),
    lengths: Sequence[int] = (64, 256),
    *,
    batch: int = 64,
    rounds: int = 10,
    ops: bool = False,
) -> None:
    """Print one table, on one thread."""
    torch.set_num_threads(1)
    (compare_forms if ops else compare_mixers)(widths, lengths, batch, rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", action="store_true", help="compare the forms of the convolution")
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    main(options.widths, options.lengths, batch=options.batch, rounds=options.rounds, ops=options.ops)
