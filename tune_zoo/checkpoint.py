"""Checkpoints of a trial: what one holds, as bytes that load whole or not at all, and when one is made."""

from __future__ import annotations

import dataclasses
import hashlib
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypedDict

import numpy as np
import torch

from tune_zoo.devices import device_kind
from tune_zoo.identity import identity_of
from tune_zoo.spec import TrialSpec

FORMAT_VERSION = 1

_DIGEST_SIZE = hashlib.sha256().digest_size


class Checkpoints(Protocol):
    """Where the checkpoint of one trial is kept. Either method may raise OSError."""

    def load(self) -> bytes | None:
        """Return the bytes saved last, or None where there are none."""
        ...

    def save(self, data: bytes) -> None:
        """Keep the bytes in place of those saved before."""
        ...


class State(TypedDict):
    """A training between two evaluations.

    Attributes:
        model: The model's state by name of parameter and buffer.
        optimizer: The optimiser's own state.
        schedule: The schedule's own state.
        batches: Where the batches stand, as `tune_zoo.batches.Batches` tells it.
        step: Optimiser steps done.
        examples_seen: Rows trained on.
        curve: (step, validation accuracy) at each evaluation.
        risen_at: Rows trained on when validation last rose to the threshold.
        seconds: Wall time of the training so far.
    """

    model: dict[str, Any]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    batches: str
    step: int
    examples_seen: int
    curve: list[tuple[int, float]]
    risen_at: int | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What the trainings before and after an interruption must share for the record to be one of either.

    Attributes:
        trial_id: The trial.
        give_up_after: The step from which on it may be given up.
        device: The kind of device.
        num_threads: Threads of torch on the CPU: sums come out otherwise with another number.
        torch_version: Kernels change between versions, hence the last bits of what they compute.
        numpy_version: So may the rows that a generator draws.
        identity: And everything else, the source of the mixer included.
        format_version: How a checkpoint is laid out.
    """

    trial_id: str
    give_up_after: int | None
    device: str
    num_threads: int
    torch_version: str
    numpy_version: str
    identity: str
    format_version: int = FORMAT_VERSION


def origin(spec: TrialSpec, device: torch.device, *, num_threads: int, give_up_after: int | None) -> Origin:
    """Return what the checkpoints of a trial in this process bear."""
    return Origin(
        trial_id=spec.trial_id,
        give_up_after=give_up_after,
        device=device_kind(device),
        num_threads=num_threads,
        torch_version=str(torch.__version__),
        numpy_version=np.__version__,
        identity=identity_of(spec),
    )


def to_bytes(state: State, origin: Origin) -> bytes:
    """Return a state and its origin as bytes, closed by a digest: `torch.load` would take a flipped bit."""
    buffer = io.BytesIO()
    torch.save({"origin": dataclasses.asdict(origin), "state": dict(state)}, buffer)
    buffer.write(_digest(buffer.getvalue()))
    return buffer.getvalue()


def from_bytes(data: bytes, origin: Origin) -> State | None:
    """Return the state that bytes hold, on the CPU.

    Nothing in the bytes is run, whoever wrote them.

    Returns:
        The state; None if the bytes are not a whole checkpoint of that very origin.
    """
    content = data[:-_DIGEST_SIZE]
    if _digest(content) != data[-_DIGEST_SIZE:]:
        return None
    try:
        held = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        state: State = held["state"]
        return state if held["origin"] == dataclasses.asdict(origin) else None
    except Exception:  # foreign bytes can fail in any way, and all of them mean the same
        return None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


class Keeper:
    """Keeps the checkpoints of one training, at intervals; does nothing without a place for them."""

    def __init__(self, checkpoints: Checkpoints | None, origin: Origin, *, every_s: float) -> None:
        self._checkpoints = checkpoints
        self._origin = origin
        self._every_s = every_s
        self._last = monotonic()

    def latest(self) -> State | None:
        """Return the state to go on from, or None if there is none that this training can use."""
        if self._checkpoints is None:
            return None
        try:
            data = self._checkpoints.load()
        except OSError:  # the training is then done again, which costs time alone
            return None
        return None if data is None else from_bytes(data, self._origin)

    def keep_if_due(self, state: Callable[[], State]) -> None:
        """Save the state, which is asked for only if the interval since the last time has passed."""
        if self._checkpoints is None or monotonic() - self._last < self._every_s:
            return
        with suppress(OSError, MemoryError):  # no reason to lose a trial that may yet end undisturbed
            self._checkpoints.save(to_bytes(state(), self._origin))
        self._last = monotonic()
