"""Parts of a model that cannot be imported, gathered so that one error reports all of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from graphio.support import errors

__all__ = ["Problems"]

_SHOWN = 50


@dataclass
class Problems:
    """Sentences about one model.

    Attributes:
        source: what the model is called in the message.
        action: what cannot be done with it.
        unknown: whether something asks for what graphio lacks, rather than being wrong.
        noted: how often something was noted, repetitions included.
    """

    source: str
    action: str = "imported"
    found: dict[str, None] = field(default_factory=dict)  # in order, each once
    unknown: bool = False
    noted: int = 0

    def add(self, text: str, *, unknown: bool = False) -> None:
        """Notes a problem once."""
        self.noted += 1
        self.found.setdefault(errors.one_line(text))
        self.unknown = self.unknown or unknown

    def mark(self) -> tuple[int, bool, int]:
        """The notes so far, for back_to."""
        return len(self.found), self.unknown, self.noted

    def back_to(self, mark: tuple[int, bool, int]) -> None:
        """Forgets what was noted since."""
        count, self.unknown, self.noted = mark
        while len(self.found) > count:
            self.found.popitem()

    def raise_if_any(self) -> None:
        """Raises UnimplementedError or InvalidArgumentError with everything that was noted."""
        if not self.found:
            return
        count = len(self.found)
        shown = "\n".join(f"  {text}" for text in itertools.islice(self.found, _SHOWN))
        rest = f"\n  ... and {count - _SHOWN} more" if count > _SHOWN else ""
        number = "1 problem" if count == 1 else f"{count} problems"
        kind = errors.UnimplementedError if self.unknown else errors.InvalidArgumentError
        raise kind(message=f"{self.source} cannot be {self.action}, {number}:\n{shown}{rest}")
