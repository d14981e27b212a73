"""What a user calls a place leads to its storage, or is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tune_zoo.errors import StoreError
from tune_zoo.storage.address import is_address, storage_at
from tune_zoo.storage.local import LocalStorage


@pytest.mark.parametrize(
    "out", ["results/a", "/results/a", "example:a", "s3:/bucket", "file:///results/a", "://a/b", "results/a://b"]
)
def test_what_is_no_address(out: str) -> None:
    assert not is_address(out)


def test_a_file_address_is_a_folder(tmp_path: Path) -> None:
    storage = storage_at(f"file://{tmp_path}/with%20space")
    assert isinstance(storage, LocalStorage)
    assert storage.folder == tmp_path / "with space"


def test_a_storage_is_its_own() -> None:
    storage = storage_at("results")
    assert storage_at(storage) is storage


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("nope://bucket/a", "'nope://bucket/a' cannot be used: Protocol not known: nope"),
        ("sftp://host/a", "to be installed"),
        ("s3://bucket", "must name a place inside a bucket, such as s3://bucket/runs/a, got 's3://bucket'"),
        ("s3://bucket/", "must name a place inside a bucket"),
        ("s3://", "must name a place inside a bucket"),
        ("gs://bucket", "such as gs://bucket/runs/a"),
        ("s3://bucket/a?colour=blue", "colour"),
    ],
)
def test_addresses_that_are_refused(address: str, part: str) -> None:
    with pytest.raises(StoreError) as refusal:
        storage_at(address)
    assert part in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_follows_a_question_mark_stays(s3: str, s3_server: str) -> None:
    asked = f"{s3}/?region=us-east-1&endpoint_override={s3_server}"
    storage = storage_at(asked)
    assert storage.address == f"{s3}?region=us-east-1&endpoint_override={s3_server}"
    storage_at(storage.address).write("a", b"1")
    assert storage_at(s3).read("a") == b"1"
    assert storage.at("a") == f"{s3}/a"
    below = storage.below("report")
    storage_at(below.address).write("b", b"2")
    assert storage.read("report/b") == b"2"
