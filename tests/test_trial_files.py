"""What a trial keeps beside its record."""

from __future__ import annotations

import pytest

from tune_zoo.errors import StoreError
from tune_zoo.storage.base import Storage
from tune_zoo.trial_files import TrialFiles, discard_checkpoints, logged_trials, read_log


@pytest.fixture
def results(storage: Storage) -> Storage:
    storage.prepare("checkpoints", "logs")
    return storage


def test_a_checkpoint_lasts_until_it_is_discarded(results: Storage) -> None:
    files = TrialFiles(results, "abc")
    assert files.load() is None
    files.save(b"one")
    files.save(b"two")
    assert TrialFiles(results, "abc").load() == b"two"
    assert TrialFiles(results, "abd").load() is None
    files.discard()
    files.discard()
    assert files.load() is None


def test_checkpoints_of_ended_trials_are_cleared_away(results: Storage) -> None:
    for trial in ("aa", "ab", "b"):
        TrialFiles(results, trial).save(b"1")
    discard_checkpoints(results, ["aa", "b", "never-there"])
    assert results.names("checkpoints") == ["ab.pt"]


def test_logs_are_found_by_how_their_trials_begin(results: Storage) -> None:
    assert logged_trials(results) == []
    for trial in ("aa11", "ab22", "b333"):
        TrialFiles(results, trial).write_log(f"the log of {trial} ∝\ud800")
    assert logged_trials(results) == ["aa11", "ab22", "b333"]
    assert read_log(results, "b") == "the log of b333 ∝?"
    assert read_log(results, "aa11") == "the log of aa11 ∝?"
    with pytest.raises(StoreError, match=r"got 'a' and 2 trials that do: aa11, ab22; `tune_zoo logs"):
        read_log(results, "a")
    with pytest.raises(StoreError, match=r"got 'ab23' and none; did you mean 'ab22'\?"):
        read_log(results, "ab23")


def test_a_storage_that_is_gone_costs_no_more_than_a_log_or_a_checkpoint(
    results: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("gone")

    files = TrialFiles(results, "abc")
    files.save(b"1")
    for name in ("write", "delete"):
        monkeypatch.setattr(type(results), name, fail)
    files.write_log("lost")
    files.discard()
    assert files.load() == b"1"
