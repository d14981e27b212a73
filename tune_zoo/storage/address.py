"""From what a user calls a place to its storage."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tune_zoo.errors import StoreError, in_one_line
from tune_zoo.storage.base import Storage
from tune_zoo.storage.local import LocalStorage

_BY_PYARROW = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""The schemes that pyarrow reads by itself; the others go through fsspec, which may want a package for them."""


def is_address(out: str) -> bool:
    """Whether a text is an address, such as `s3://bucket/runs/a`, and not a path."""
    return re.match(r"[A-Za-z][\w+.:-]*://", out) is not None and not out.startswith("file://")


def storage_at(out: str | Path | Storage) -> Storage:
    """Return the storage at a path or an address; reads and writes nothing.

    Args:
        out: A path, `file://…`, or an address that pyarrow or fsspec know.

    Raises:
        StoreError: If no file system has such addresses.
    """
    if isinstance(out, Storage):
        return out
    if isinstance(out, Path):
        return LocalStorage(out)
    if out.startswith("file://"):
        return LocalStorage(Path(unquote(urlsplit(out).path)))
    return _by_address(out) if is_address(out) else LocalStorage(Path(out))


def _by_address(address: str) -> Storage:
    from pyarrow import fs  # noqa: PLC0415  (takes a while to load, and folders do without)

    from tune_zoo.storage.objects import ObjectStorage  # noqa: PLC0415

    scheme, _, rest = address.partition("://")
    bare, _, query = rest.partition("?")
    if not bare.strip("/").partition("/")[2] and scheme in _BY_PYARROW:
        raise StoreError(
            f"an address must name a place inside a bucket, such as {scheme}://bucket/runs/a, got '{address}'"
        )
    if ":" in bare.partition("/")[0].rpartition("@")[0]:
        # An address is printed, written into reports and sent to workers.
        raise StoreError(
            f"an address must hold no credentials, got some before '@' in one of {scheme}://; give them in the "
            "environment of every node, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    try:
        if scheme in _BY_PYARROW:
            filesystem, path = fs.FileSystem.from_uri(_in_one_piece(address))
        else:
            filesystem, path = _by_fsspec(address)
    except (OSError, ValueError, ImportError) as error:
        raise StoreError(
            f"'{address}' cannot be used: {in_one_line(error, kind=False)}; give a folder, or an address that "
            "pyarrow or an installed package of fsspec knows"
        ) from None
    shown = f"{scheme}://{bare.rstrip('/')}"
    return ObjectStorage(f"{shown}?{query}" if query else shown, filesystem, path.rstrip("/"))


def _in_one_piece(address: str) -> str:
    """Let S3 take a small object in one request rather than in three, which may leave parts behind if cut short."""
    if not address.startswith("s3://") or "allow_delayed_open=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}allow_delayed_open=true"


def _by_fsspec(address: str) -> tuple[object, str]:
    from fsspec.core import url_to_fs  # noqa: PLC0415
    from pyarrow import fs  # noqa: PLC0415

    from tune_zoo.storage.objects import Uncached  # noqa: PLC0415

    known, path = url_to_fs(address)
    return fs.PyFileSystem(Uncached(known)), path
