"""`tune_zoo train`: one trial, without Ray."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console

from tune_zoo.api import trial
from tune_zoo.errors import SpecError
from tune_zoo.overrides import override
from tune_zoo.record import make_record
from tune_zoo.result import Progress, TrialResult, failure
from tune_zoo.space_file import parse_value
from tune_zoo.spec import TrialSpec

SECTIONS = ("config", "task", "model", "optimizer", "training")


def described(axes: dict[str, Any], settings: Sequence[str]) -> TrialSpec:
    """Return the trial that options and settings describe, its mixer known and its size possible.

    Args:
        axes: Arguments of `tune_zoo.api.trial`.
        settings: `section.key=value`, the section one of `SECTIONS`.

    Raises:
        TuneZooError: If a value breaks a rule.
    """
    sections = override({section: {} for section in SECTIONS}, settings, parse_value)
    unknown = sorted(set(sections) - set(SECTIONS))
    if unknown:
        raise SpecError(f"--set {unknown[0]}…: a setting begins with one of {', '.join(SECTIONS)}")
    whole = [section for section in SECTIONS if not isinstance(sections[section], dict)]
    if whole:
        raise SpecError(f"--set {whole[0]}=…: name a key of the section, such as task.vocab_size=8192")
    from tune_zoo.resolve import checked  # noqa: PLC0415  (imports torch)

    return checked(trial(**axes, **sections))


def train_one(spec: TrialSpec, *, device: str, num_threads: int, as_json: bool, console: Console) -> int:
    """Train a trial and print what came of it; returns the exit code."""
    import torch  # noqa: PLC0415

    from tune_zoo.trainer import train  # noqa: PLC0415

    try:
        torch.empty(1, device=device).item()
    except Exception:  # torch has a kind of error for each way a device can be missing
        raise SpecError(
            f"--device must be one that torch finds here, got '{device}'; leave it out for the CPU"
        ) from None
    report = None if as_json else _reporter(console)
    try:
        result = train(spec, report, num_threads=num_threads, device=device)
    except Exception as error:  # the trial's own, such as a mixer that fails: as under Ray, a result
        result = failure(error)
    if as_json:
        record = make_record(spec, result, num_threads=num_threads)
        console.print(json.dumps(record, indent=1), soft_wrap=True)
    else:
        console.print(_ending(result), soft_wrap=True)
    return 1 if result.status.lost else 0


def _reporter(console: Console) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        console.print(
            f"step {progress.step:>6}  loss {progress.loss:6.3f}  "
            f"validation accuracy {progress.validation_accuracy:.4f}"
        )

    return report


def _ending(result: TrialResult) -> str:
    rows = "" if result.accuracy_per_sequence is None else f", {result.accuracy_per_sequence:.4f} a sequence"
    if result.num_params is None or result.state_size is None:
        return f"{result.status}: {result.message}"
    return (
        f"{result.status}: {result.message}{rows}; {result.num_params:,} parameters, "
        f"state of {result.state_size:,} elements, {result.seconds:.1f} s on {result.device}"
    )
