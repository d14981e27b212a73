"""An object store in memory, for tests of what is done to one."""

from __future__ import annotations

import random
import time

from pyarrow import fs

from tune_zoo.storage.objects import ObjectStorage


class Shelf(ObjectStorage):
    """An object store in memory, whose objects appear whole; each call may take a while before and after."""

    def __init__(self, delay_s: float = 0.0) -> None:
        super().__init__("shelf://a", fs.LocalFileSystem(), "")
        self.objects: dict[str, bytes] = {}
        self.delay_s = delay_s
        self.broken = False

    def _pause(self) -> None:
        if self.delay_s:
            time.sleep(random.uniform(0, self.delay_s))
        if self.broken:
            raise OSError("the store does not answer")

    def prepare(self, *folders: str) -> None:
        pass

    def read(self, name: str) -> bytes:
        self._pause()
        try:
            return self.objects[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def write(self, name: str, data: bytes) -> None:
        self._pause()
        self.objects[name] = data
        self._pause()

    def names(self, folder: str = "") -> list[str]:
        self._pause()
        return sorted(name.partition("/")[2] for name in list(self.objects) if name.startswith(f"{folder}/"))

    def exists(self, name: str) -> bool:
        self._pause()
        return name in self.objects

    def delete(self, name: str) -> None:
        self._pause()
        self.objects.pop(name, None)
