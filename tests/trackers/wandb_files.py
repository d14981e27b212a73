"""Reads what wandb leaves of a run offline: records of its own protocol in the log format of LevelDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

_HEADER = 7  # of the file, and of each piece: checksum, length, kind
_BLOCK = 32768
_WHOLE, _LAST = 1, 4


def records(file: Path) -> Iterator[Any]:
    """Yield the records of a file."""
    data, at, whole = file.read_bytes(), _HEADER, b""
    assert data.startswith(b":W&B")
    while at + _HEADER <= len(data):
        if _BLOCK - at % _BLOCK < _HEADER:  # a piece never begins in the last bytes of a block
            at += _BLOCK - at % _BLOCK
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + _HEADER : at + _HEADER + length]
        at += _HEADER + length
        if kind in (_WHOLE, _LAST):
            yield Record.FromString(whole)
            whole = b""


class Left:
    """What a run left.

    Attributes:
        run: Its name, id, project and group.
        config: Its config.
        history: Its points.
        summary: Its summary.
        exit_code: How it ended.
    """

    def __init__(self, file: Path) -> None:
        self.config: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}
        for record in records(file):
            if record.HasField("run"):
                self.run = record.run
                self.config |= _plain(record.run.config.update)
            self.summary |= _plain(record.summary.update)
            if record.HasField("history"):
                self.history.append(_plain(record.history.item))
            if record.HasField("exit"):
                self.exit_code = record.exit.exit_code

    def points(self, name: str) -> dict[int, Any]:
        """Return a curve: step → value."""
        return {point["_step"]: point[name] for point in self.history}


def _plain(items: Any) -> dict[str, Any]:
    return {item.key or item.nested_key[0]: json.loads(item.value_json) for item in items}


def left_in(folder: Path) -> list[Left]:
    """Return what the runs of a results folder left, the first begun first."""
    return [
        Left(file)
        for file in sorted(folder.glob("wandb/offline-run-*/run-*.wandb"), key=lambda f: f.stat().st_ctime)
    ]
