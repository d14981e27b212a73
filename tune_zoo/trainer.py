"""Train one model on one trial and say what came of it. No Ray here: it runs alone, in a notebook or a test."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

import torch

from tune_zoo.checkpoint import Checkpoints, Keeper, State, origin
from tune_zoo.devices import device_kind
from tune_zoo.result import Progress, Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.stopwatch import Stopwatch
from tune_zoo.training_run import TrainingRun


def train(
    spec: TrialSpec,
    report: Callable[[Progress], None] | None = None,
    *,
    num_threads: int = 1,
    device: str = "cpu",
    timeout_s: float | None = None,
    give_up_after: int | None = None,
    checkpoints: Checkpoints | None = None,
    checkpoint_every_s: float = 30.0,
) -> TrialResult:
    """Train one trial to its end.

    Args:
        spec: The trial.
        report: Called after each evaluation; in a trial that goes on, after those still to come.
        num_threads: Threads of torch on the CPU; as many as the trial was given CPUs.
        device: A torch device, such as `cpu` or `cuda`.
        timeout_s: Wall-clock seconds after which the trial ends as timed out, those that a checkpoint took
            included; none means no limit.
        give_up_after: The step from which on the trial ends as given up once `tune_zoo.patience` sees it doomed;
            none means that it never is.
        checkpoints: Where the trial's checkpoint is kept, from which a killed trial goes on; none means nowhere.
        checkpoint_every_s: Seconds from one checkpoint to the next, at the first evaluation after them.

    Returns:
        The result. Giving up, divergence, want of memory and a timeout are statuses, not exceptions.

    Raises:
        MixerError: If the mixer is unknown or cannot have the size asked for.
    """
    progress = training(
        spec,
        num_threads=num_threads,
        device=device,
        timeout_s=timeout_s,
        give_up_after=give_up_after,
        checkpoints=checkpoints,
        checkpoint_every_s=checkpoint_every_s,
    )
    return _result_of(progress, report)


def _result_of(
    progress: Generator[Progress, None, TrialResult], report: Callable[[Progress], None] | None
) -> TrialResult:
    while True:
        try:
            step = next(progress)
        except StopIteration as end:
            result: TrialResult = end.value
            return result
        if report is not None:
            report(step)


def training(
    spec: TrialSpec,
    *,
    num_threads: int = 1,
    device: str = "cpu",
    timeout_s: float | None = None,
    give_up_after: int | None = None,
    checkpoints: Checkpoints | None = None,
    checkpoint_every_s: float = 30.0,
) -> Generator[Progress, None, TrialResult]:
    """Train one trial step by step: yields after each evaluation and returns the result. Arguments as `train`.

    With `checkpoints`, a trial that was killed goes on from its last checkpoint if that is whole and of the same
    trial, kind of device, number of threads and versions; it then ends as it would have ended undisturbed, on the
    CPU to the last bit. Any other checkpoint is passed over.

    A checkpoint is saved before the evaluation it is of is yielded, and none at the last.
    """
    stopwatch = Stopwatch(timeout_s)
    threads_before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        place = torch.device(device)
        build = partial(TrainingRun, spec, place, stopwatch=stopwatch, give_up_after=give_up_after)
        bearing = origin(spec, place, num_threads=num_threads, give_up_after=give_up_after)
        keeper = Keeper(checkpoints, bearing, every_s=checkpoint_every_s)
        run = _restored(build, keeper.latest()) or build()
        return (yield from run.run(keeper))
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        return TrialResult(
            status=Status.OUT_OF_MEMORY,
            message=f"the device ran out of memory at batch size {spec.training.batch_size}",
            seconds=stopwatch.seconds,
            device=device_kind(torch.device(device)),
        )
    finally:
        torch.set_num_threads(threads_before)


def _restored(build: Callable[[], TrainingRun], state: State | None) -> TrainingRun | None:
    """Return a run that goes on from a state; None, leaving nothing behind, if there is none that fits."""
    if state is None:
        return None
    run = build()
    try:
        run.restore(state)
    except Exception:  # whatever does not fit: half a state must never train on
        return None
    return run


def _is_out_of_memory(error: BaseException) -> bool:
    # torch reports want of CPU memory as a plain RuntimeError of its default allocator
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
