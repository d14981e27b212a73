"""The exceptions of tune_zoo, drawn as a tree.

    TuneZooError (ValueError)      a user's input cannot be used; the CLI prints it and exits with 2
    ├── SpecError                  a value of a spec breaks a rule
    │   └── SpaceError             a search-space file is missing, malformed or inconsistent
    ├── MixerError                 a sequence mixer is unknown, or cannot be built at that size
    ├── StoreError                 results cannot be read, written or held, or are not this run's
    │   └── StoreLostError         they are gone, perhaps for a while; the CLI exits with 1
    ├── ReportError                a report has nowhere to go, or nothing to be of
    ├── ClusterError               Ray cannot be reached, or cannot place the trials
    │   └── ClusterLostError       Ray died in mid-run; the CLI exits with 1, for the same command goes on
    ├── TrackerError               a tracker is unknown, not installed, or has nowhere to write to
    └── SimulationError            a simulation is asked for what its world cannot tell

Every message says the rule, the value received and the fix.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TuneZooError(ValueError):
    """Base of every error that a user can mend."""


class SpecError(TuneZooError):
    """A value of a spec breaks a rule."""


class SpaceError(SpecError):
    """A search-space file is missing, malformed or inconsistent."""


class MixerError(TuneZooError):
    """A sequence mixer is unknown, or cannot be built at that size."""


class StoreError(TuneZooError):
    """Results cannot be read, written or held, or are not this run's."""


class StoreLostError(StoreError):
    """Results are gone, perhaps for a while; the same command goes on once they are back."""


class ReportError(TuneZooError):
    """A report has nowhere to go, or nothing to be of."""


class ClusterError(TuneZooError):
    """Ray cannot be reached, or cannot place the trials."""


class ClusterLostError(ClusterError):
    """Ray died in mid-run; the same command goes on."""


class TrackerError(TuneZooError):
    """A tracker is unknown, not installed, or has nowhere to write to."""


class SimulationError(TuneZooError):
    """A simulation is asked for what its world cannot tell."""


def in_one_line(error: BaseException, *, kind: bool = True) -> str:
    """Return the words of an exception, after its kind where that is asked for."""
    return " ".join((f"{type(error).__name__}: {error}" if kind else str(error)).split())


def last_line(told: object) -> str:
    """Return the last line of what an exception or another program says; the first ones are often a traceback."""
    return (str(told).strip() or "it gave no reason").splitlines()[-1]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known name nearest to `name`, or an empty string."""
    matches = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{matches[0]}'?" if matches else ""
