"""What every refusal of the command line has in common."""

from __future__ import annotations

from pathlib import Path


def refused(outcome: tuple[int, str, str]) -> str:
    code, out, err = outcome
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not list(Path.cwd().iterdir())
    return err
