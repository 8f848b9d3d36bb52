from typing import Any

ffi: Any
lib: Any

class Bound:
    """A signature on fixed arrays; made by Runner.bind."""

    def run(self) -> list[Any]:
        """Runs it."""

class Lock:
    """What threading.RLock gives, for runner.c; see lock.c."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Takes the lock; False if that takes longer than timeout."""

    def release(self) -> None:
        """Gives it back."""

    def __enter__(self) -> bool: ...
    def __exit__(self, *_: object) -> None: ...

class Runner:
    """A run of a signature in one call of C; see runner.c."""

    def __init__(
        self,
        help: Any,
        lock: Any,
        numpy: Any,
        table: Any,
        session: int,
        error: int,
        signature: int,
        outputs: int,
        numbers: tuple[int, ...],
        dtypes: tuple[Any, ...],
        /,
    ) -> None: ...
    def run(self, inputs: Any, out: Any = None) -> list[Any]:
        """Runs it on these arrays."""

    def bind(self, kind: type[Bound], tensors: int, keep: Any, given: Any, /) -> Bound:
        """Makes it ready for fixed arrays, to which the ci_tensors at this address point."""
