"""Torn, half-written and foreign files among the results, before a run and while it goes on."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from pathlib import Path

import pytest
import torch
from faults import SPACE, STEPS, Run, Tally, assert_complete, ended, finished, put, wait_for_records

from tune_zoo.resolve import resolved_plan
from tune_zoo.search_space import SearchSpace

pytest_plugins = ["cluster_fixtures"]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


class Malicious:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, int, int]]:
        return os.mknod, (str(self.path), 0o600, 0)


def as_pickle(value: object) -> bytes:
    return pickle.dumps(value)


def as_checkpoint(value: object) -> bytes:
    """Return a value in the form of a checkpoint, its digest included."""
    buffer = io.BytesIO()
    torch.save({"origin": value, "state": value}, buffer)
    return buffer.getvalue() + hashlib.sha256(buffer.getvalue()).digest()


def trial_ids() -> list[str]:
    return [spec.trial_id for spec in resolved_plan(SearchSpace.model_validate(SPACE)).trials]


def test_a_malicious_checkpoint_would_run_where_it_is_trusted(tmp_path: Path) -> None:
    torch.load(io.BytesIO(as_checkpoint(Malicious(tmp_path / "run"))), weights_only=False)
    assert (tmp_path / "run").exists()


def test_foreign_files_cost_nothing_and_are_never_run(
    start: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out, harm = tmp_path / "out", tmp_path / "harm"
    run = start(out)
    wait_for_records(out, 2, run)
    run.kill()
    before = finished(out)
    assert before.keys() < set(trial_ids())
    missing = [trial_id for trial_id in trial_ids() if trial_id not in before]
    first, second, third, *_ = missing
    table = out / "records.jsonl"
    put(
        table, (table.read_bytes() if table.exists() else b"") + b'{"a": 1}\n\xff\xfe not text\n{"trial_id": "torn'
    )
    put(out / "records" / f"{first}.json", b'{"trial_id": "' + first.encode())
    put(out / "records" / ".half.json.tmp", b"{")
    put(out / "records" / "foreign.json", b"[]")
    put(out / "records" / "README", b"not ours")
    put(out / "checkpoints" / f"{first}.pt", as_checkpoint(Malicious(harm)))
    put(out / "checkpoints" / f"{second}.pt", as_pickle(Malicious(harm)))
    put(out / "checkpoints" / f"{third}.pt", b"")
    tally.clear()
    again = start(out)
    tally.hold_amid("embedded", again)
    last = missing[-1]
    put(out / "checkpoints" / f"{last}.pt", as_checkpoint(Malicious(harm)))
    put(out / "records" / "alien.json", b"\x00" * 100)
    put(out / "records" / f"{last}.json", b"torn")
    tally.release("embedded")
    ended(again, code=0)
    assert not harm.exists()
    (out / "records" / "README").unlink()
    assert_complete(out, undisturbed, before)
    assert all(steps == STEPS for steps in tally.by_trial().values()), "none of these checkpoints is one"
    assert any((out / "set_aside").iterdir())
