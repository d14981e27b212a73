"""Waiting for a storage that is gone for a while."""

from __future__ import annotations

import errno
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tune_zoo.errors import StoreError, StoreLostError

Value = TypeVar("Value")

PATIENCE_S = 120.0
"""Seconds for which a storage may be gone."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_TOLD_AFTER_S = 5.0
_LASTING = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
}
"""Errors that somebody has to mend: waiting does not."""

_LASTING_WORDS = ("ACCESS_DENIED", "NO_SUCH_BUCKET", "InvalidAccessKeyId", "SignatureDoesNotMatch")
"""The same in the words of object stores, which give no numbers."""


def patiently(call: Callable[[], Value], *, seconds: float | None = None) -> Value:
    """Call something that reads or writes a storage, again and again while the storage is gone.

    Args:
        call: What to call; it must be harmless to repeat.
        seconds: How long to go on; None takes `PATIENCE_S`.

    Raises:
        OSError: What it raised in the end; at once if waiting would not mend it, or if a file is simply not there.
    """
    began, pause, told = time.monotonic(), _FIRST_PAUSE_S, False
    limit = PATIENCE_S if seconds is None else seconds
    while True:
        try:
            return call()
        except FileNotFoundError:
            raise
        except OSError as error:
            waited = time.monotonic() - began
            if lasts(error) or waited + pause > limit:
                raise
            if waited > _TOLD_AFTER_S and not told:
                told = True
                warnings.warn(f"the results cannot be reached: {error}; waiting for {limit:g} s", stacklevel=2)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def lasts(error: OSError) -> bool:
    """Whether somebody has to mend what raised an error of a storage."""
    return error.errno in _LASTING or any(word in str(error) for word in _LASTING_WORDS)


@contextmanager
def in_words(where: str, *, mend: str, doing: str = "read or written") -> Iterator[None]:
    """Tell what keeps a block from reading or writing results, as an error that the user can mend.

    Args:
        where: The address of the results.
        mend: What the user can do.
        doing: What cannot be done with them.

    Raises:
        StoreError: If somebody has to mend something.
        StoreLostError: If the same command may go on later.
    """
    try:
        yield
    except OSError as error:
        kind = StoreError if lasts(error) else StoreLostError
        told = f"{error.filename or where} cannot be {doing}: {error.strerror or error}"
        raise kind(f"{told}; {mend}") from None
