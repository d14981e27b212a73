"""Trials in TensorBoard: an event file a trial, under OUT/tensorboard/<mixer>/<sizes and trial_id>.

The files are written with tensorboardX's EventsWriter. Its SummaryWriter takes threads, a pipe and an atexit hook
for each file, keeps the hook, and waits for ever once a disk is full.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from tensorboardX.event_file_writer import EventsWriter  # type: ignore[import-untyped]
from tensorboardX.proto.event_pb2 import Event, SessionLog  # type: ignore[import-untyped]
from tensorboardX.proto.summary_pb2 import Summary  # type: ignore[import-untyped]
from tensorboardX.summary import hparams, scalar, text  # type: ignore[import-untyped]

from tune_zoo.errors import TrackerError
from tune_zoo.record import Row, flatten
from tune_zoo.result import Status
from tune_zoo.spec import TrialSpec
from tune_zoo.trackers.base import Tracker
from tune_zoo.trackers.runs import FIGURES, INTERRUPTED, Destination, curve_point, final_figures

_FLUSH_EVERY_S = 10.0


class TensorBoardTracker(Tracker):
    """Writes event files beside the records.

    Args:
        to: Where the trials are shown.

    Raises:
        TrackerError: If the results folder is not a local one.
    """

    def __init__(self, to: Destination) -> None:
        if to.folder is None:
            raise TrackerError(
                f"the tracker 'tensorboard' writes local files, and the results go to {to.out}; give a local "
                "--out, or track with mlflow or wandb"
            )
        self._folder = to.folder / "tensorboard"
        self._open: dict[str, _EventFile] = {}

    def start(self, spec: TrialSpec) -> None:
        """Begin another event file of the trial, which takes over from the step it begins at."""
        self._close(spec.trial_id)
        file = self._open[spec.trial_id] = _EventFile(run_folder(self._folder, spec))
        experiment, session_start, _ = hparams(flatten(spec), dict.fromkeys(FIGURES, 0.0))
        file.write(experiment, session_start, step=0)
        file.flush()

    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None) -> None:
        """Add a point to the curves."""
        file = self._open[spec.trial_id]
        file.take_over(step)
        file.write(*_scalars(curve_point(accuracy, loss)), step=step)
        file.flush_now_and_then()

    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        """Add the final figures and close the file."""
        file = self._open[spec.trial_id]
        if record is None:
            file.write(text("status", INTERRUPTED), step=file.step)
        else:
            if file.is_new and record["steps"]:  # a lost trial tells of none, and keeps its curve
                file.take_over(record["steps"])
            status = text("status", f"{record['status']}: {record['message']}")
            file.write(*_scalars(final_figures(record)), status, step=record["steps"])
            if not Status(record["status"]).lost:
                file.write(hparams({}, {})[2], step=record["steps"])  # the session ended well
        self._close(spec.trial_id)

    def close(self) -> None:
        """Close the files that are open."""
        for trial_id in list(self._open):
            self._close(trial_id)

    def _close(self, trial_id: str) -> None:
        file = self._open.pop(trial_id, None)
        if file is not None:
            file.close()


class _EventFile:
    """One more event file of a trial.

    Args:
        folder: The folder of the trial, in which earlier starts left their files.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Files are named by the second: two starts within one must not write to the same.
        number = sum(1 for _ in folder.glob("events.out.tfevents.*"))
        self._writer = EventsWriter(str(folder / "events"), f".{number}")
        self._flushed = time.monotonic()
        self.is_new = True
        self.step = 0

    def take_over(self, step: int) -> None:
        """Have TensorBoard drop what was said from a step on, unless this file went on to that step.

        Earlier files of the trial may have said it, or this one if the trial's worker died and another goes on.
        """
        if self.is_new or step <= self.step:
            log = SessionLog(status=SessionLog.START)
            self._writer.write_event(Event(wall_time=time.time(), step=step, session_log=log))
        self.is_new = False

    def write(self, *summaries: Summary, step: int) -> None:
        """Add summaries at a step."""
        self.step = step
        for summary in summaries:
            self._writer.write_event(Event(wall_time=time.time(), step=step, summary=summary))

    def flush_now_and_then(self) -> None:
        """Let a reader see what was added, unless it could a moment ago."""
        if time.monotonic() - self._flushed > _FLUSH_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Let a reader see what was added."""
        self._writer.flush()
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()


def _scalars(figures: dict[str, float]) -> list[Summary]:
    return [scalar(name, value) for name, value in figures.items()]


def run_folder(folder: Path, spec: TrialSpec) -> Path:
    """Return the folder of a trial's event files, which TensorBoard takes for the name of its run."""
    mixer = re.sub(r"[^\w.=+-]+", "_", spec.model.mixer.label)[:100].lstrip(".") or "_"
    return folder / mixer / f"N{spec.task.seq_len}_d{spec.model.d_model}_seed{spec.seed}_{spec.trial_id}"
