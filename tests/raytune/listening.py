"""At which addresses processes listen, as Linux tells."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Iterable
from pathlib import Path

_LISTENING = "0A"


def listening(pids: Iterable[int]) -> set[str]:
    """Return the addresses, without ports, at which processes accept TCP connections."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):  # ended meanwhile
            for handle in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inodes.add(str(handle.readlink()))
    lines = [line.split() for kind in ("tcp", "tcp6") for line in _table(kind)]
    return {_address(line[1]) for line in lines if line[3] == _LISTENING and f"socket:[{line[9]}]" in inodes}


def _table(kind: str) -> list[str]:
    path = Path(f"/proc/net/{kind}")
    return path.read_text().splitlines()[1:] if path.exists() else []


def _address(text: str) -> str:
    """Return an address of the kernel's table: words of 32 bits, each in this machine's order of bytes."""
    words = bytes.fromhex(text.partition(":")[0])
    ordered = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
    address = ipaddress.ip_address(ordered)
    return str(getattr(address, "ipv4_mapped", None) or address)
