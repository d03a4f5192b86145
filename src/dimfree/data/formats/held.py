"""A file that is in memory: standard input, or one fetched from elsewhere. Nothing of it is written to a disk."""

from io import BytesIO
from typing import BinaryIO


class Held:
    """Private: the content of a file, behind the few methods of a path that the readers of formats use."""

    def __init__(self, name: str, ending: str, content: bytes) -> None:
        self._name, self.suffix, self.content = name, ending, content

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        return BytesIO(self.content)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<Held: {self._name}>"
