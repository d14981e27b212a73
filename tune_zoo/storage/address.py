"""From what a user calls a place to its storage."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from tune_zoo.errors import StoreError, in_one_line
from tune_zoo.storage.base import Storage
from tune_zoo.storage.local import LocalStorage

_BY_PYARROW = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""The schemes that pyarrow reads by itself; the others go through fsspec, which may want a package for them."""

_OPTIONS = (
    *("endpoint_override", "region", "scheme", "allow_bucket_creation", "allow_bucket_deletion"),
    *("allow_delayed_open", "smart_defaults", "tls_ca_file_path", "tls_verify_certificates"),  # s3
    *("project_id", "retry_limit_seconds"),  # gs
    *("enable_tls", "blob_storage_authority", "dfs_storage_authority", "background_writes"),  # abfs
    *("client_id", "tenant_id", "credential_kind"),
    *("user", "replication", "buffer_size", "default_block_size"),  # hdfs
)
"""What may follow a question mark: what pyarrow takes there, but for secrets."""


def is_address(out: str) -> bool:
    """Whether a text is an address, such as `s3://bucket/runs/a`, and not a path."""
    return re.match(r"[A-Za-z][\w+.:-]*://", out) is not None and not out.startswith("file://")


def storage_at(out: str | Path | Storage) -> Storage:
    """Return the storage at a path or an address; reads and writes nothing.

    Args:
        out: A path, `file://…`, or an address that pyarrow or fsspec know.

    Raises:
        StoreError: If no file system has such addresses, or one holds what must not be printed.
    """
    if isinstance(out, Storage):
        return out
    if isinstance(out, Path):
        return LocalStorage(out)
    if out.startswith("file://"):
        return LocalStorage(_path_of(out))
    return _by_address(out) if is_address(out) else LocalStorage(Path(out))


def shared_storage_at(out: str | Path | Storage) -> Storage:
    """Return the storage at a path or an address that other processes see too, where results may go.

    Raises:
        StoreError: As for `storage_at`, or if only this process sees what is there.
    """
    storage = storage_at(out)
    if storage.address.startswith("memory://"):
        raise StoreError(
            f"results must outlive this process, and {storage.address} is in its memory; give a folder, or an "
            "address such as s3://bucket/runs/a"
        )
    return storage


def _path_of(address: str) -> Path:
    parts = urlsplit(address)
    if parts.netloc not in ("", "localhost"):
        raise StoreError(
            "an address of a file must name a path of this machine after three slashes, such as "
            "file:///data/results, and after two there is a host; add a slash, or give the path without file://"
        )
    return Path(unquote(parts.path))


def _by_address(address: str) -> Storage:
    from pyarrow import fs  # noqa: PLC0415  (takes a while to load, and folders do without)

    from tune_zoo.storage.objects import ObjectStorage  # noqa: PLC0415

    scheme, _, rest = address.partition("://")
    bare, _, query = rest.partition("?")
    _refuse_secrets(scheme, rest, query)
    if not bare.strip("/").partition("/")[2] and scheme in _BY_PYARROW:
        raise StoreError(
            f"an address must name a place inside a bucket, such as {scheme}://bucket/runs/a, and this one of "
            f"{scheme}:// names none; add one"
        )
    try:
        if scheme in _BY_PYARROW:
            filesystem, path = fs.FileSystem.from_uri(_in_one_piece(address))
        else:
            filesystem, path = _by_fsspec(address)
    except Exception as error:  # packages of fsspec have their own
        raise StoreError(
            f"'{address}' cannot be used: {in_one_line(error, kind=False)}; give a folder, or an address that "
            "pyarrow or an installed package of fsspec knows"
        ) from None
    shown = f"{scheme}://{bare.rstrip('/')}"
    return ObjectStorage(f"{shown}?{query}" if query else shown, filesystem, path.rstrip("/"))


def _refuse_secrets(scheme: str, rest: str, query: str) -> None:
    """Refuse what an address must not hold, without a word of it: one is printed, written and sent to workers."""
    mend = "give them in the environment of every node, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    # A secret may itself hold slashes and question marks.
    if ":" in unquote(rest.rpartition("@")[0]):
        raise StoreError(f"an address must hold no credentials, got some before '@' in one of {scheme}://; {mend}")
    if any(name not in _OPTIONS for name, _ in parse_qsl(query, keep_blank_values=True)):
        raise StoreError(
            f"after '?' an address may hold {', '.join(_OPTIONS)}, and one of {scheme}:// holds something else; "
            f"leave it out, and if it is credentials, {mend}"
        )


def _in_one_piece(address: str) -> str:
    """Let S3 take a small object in one request rather than three, which may leave parts behind if cut short."""
    if not address.startswith("s3://") or "allow_delayed_open=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}allow_delayed_open=true"


def _by_fsspec(address: str) -> tuple[object, str]:
    from fsspec.core import url_to_fs  # noqa: PLC0415
    from pyarrow import fs  # noqa: PLC0415

    from tune_zoo.storage.objects import Uncached  # noqa: PLC0415

    known, path = url_to_fs(address)
    return fs.PyFileSystem(Uncached(known)), path
