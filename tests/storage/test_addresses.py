"""What a user calls a place leads to its storage, or is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tune_zoo.errors import StoreError
from tune_zoo.storage.address import is_address, shared_storage_at, storage_at
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
        ("s3://bucket", "must name a place inside a bucket, such as s3://bucket/runs/a, and"),
        ("s3://bucket/", "must name a place inside a bucket"),
        ("s3://", "must name a place inside a bucket"),
        ("gs://bucket", "such as gs://bucket/runs/a"),
        ("s3://bucket/a?colour=blue", "after '?' an address may hold endpoint_override, region"),
        ("s3://bucket/a?project_id=b", "project_id"),  # another store's
        ("file://results/quickstart", "after three slashes"),
        ("file://host/results/quickstart", "after three slashes"),
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


@pytest.mark.parametrize(
    "address",
    [
        "s3://KEY:SECRET@bucket/a",
        "s3://KEY:SECRET@bucket",
        "s3://KEY:SECRET",
        "s3://KEY:SEC/RET@bucket/a",
        "s3://KEY:SEC?RET@bucket/a",
        "s3://KEY%3ASECRET@bucket/a",
        "s3://bucket/a?endpoint_override=http://KEY:SECRET@host",
        "abfss://:SECRET@account.dfs.core.windows.net/container/a",
        "abfss://c@account.dfs.core.windows.net/a?tenant_id=t&client_id=c&client_secret=SECRET",
        "abfss://c@account.dfs.core.windows.net/a?sv=1&sig=SECRET",
        "https://host/a?token=SECRET",
        "https://host/a?SECRET",
        "sftp://user:SECRET@host/a",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(StoreError) as refusal:
        storage_at(address)
    for part in ("KEY", "SEC/", "RET@", "SECRET"):
        assert part not in str(refusal.value).replace("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "")


def test_what_pyarrow_takes_without_secrets_is_taken() -> None:
    for address in (
        "s3://bucket/a?region=us-east-1&scheme=http&endpoint_override=host:1&tls_verify_certificates=false",
        "gs://anonymous@bucket/a?project_id=b&retry_limit_seconds=3",
        "abfss://c@account.dfs.core.windows.net/a?credential_kind=cli&enable_tls=false",
    ):
        assert storage_at(address).address == address


def test_a_file_address_of_this_machine_by_name(tmp_path: Path) -> None:
    assert storage_at(f"file://localhost{tmp_path}/a").folder == tmp_path / "a"


def test_results_go_where_other_processes_see_them(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"results must outlive this process, and memory://a/b is in its memory"):
        shared_storage_at("memory://a/b")
    assert shared_storage_at(tmp_path).folder == tmp_path


def test_names_and_neighbours_of_places(s3: str, tmp_path: Path) -> None:
    far = storage_at(f"{s3}?region=us-east-1")
    assert (far.name, far.neighbour) == ("a", f"{s3}-2?region=us-east-1")
    near = storage_at(tmp_path / "b?c")
    assert (near.name, near.neighbour) == ("b?c", f"{tmp_path}/b?c-2")
    assert storage_at(s3).neighbour == f"{s3}-2"


def test_what_a_package_of_fsspec_raises_at_an_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise LookupError("no token")

    monkeypatch.setattr("fsspec.core.url_to_fs", fail)
    with pytest.raises(StoreError, match=r"'memory://a/b' cannot be used: .*no token; give a folder"):
        storage_at("memory://a/b")
