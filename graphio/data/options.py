"""tf.data.Options: what a program may wish of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Options"]

#: options that programs read before they set them, as None
_UNSET = (
    "dataset_name",
    "deterministic",
    "experimental_deterministic",
    "experimental_external_state_policy",
    "experimental_slack",
    "experimental_symbolic_checkpoint",
    "experimental_warm_start",
    "framework_type",
)
#: groups of options, by name; the names in a row mean one group
_GROUPS = (
    ("autotune",),
    ("experimental_distribute",),
    ("experimental_optimization",),
    ("experimental_service",),
    ("threading", "experimental_threading"),
)
_CANONICAL = {name: names[0] for names in _GROUPS for name in names}


class _Wishes:
    """Attributes that a program sets; two are equal where the same are set to the same."""

    _frozen = False

    if TYPE_CHECKING:  # any name is taken

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        if self._frozen:
            raise ValueError(
                f"Options.{name} = {value!r}: these are the options of a dataset, which do not "
                "change; make tf.data.Options(), set it there and use with_options"
            )
        self.__dict__[name] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Wishes):
            return NotImplemented
        return self._given() == other._given()

    __hash__ = None  # type: ignore[assignment]

    def _given(self) -> dict[str, Any]:
        """The options that were set; groups as nested dicts."""
        inner = {
            name: value._given() if isinstance(value, _Wishes) else value
            for name, value in self.__dict__.items()
            if name != "_frozen"
        }
        return {name: value for name, value in inner.items() if value not in (None, {})}

    def _take(self, other: _Wishes) -> None:
        """Sets what is set in other."""
        for name, value in other.__dict__.items():
            if isinstance(value, _Wishes):
                self.__dict__[name]._take(value)
            elif name != "_frozen" and value is not None:
                self.__dict__[name] = value

    def _freeze(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, _Wishes):
                value._freeze()
        self.__dict__["_frozen"] = True


class Options(_Wishes):
    """Options of a pipeline; attributes are accepted, and results do not change.

    An option that is not set is None. The options that Dataset.options gives cannot be set:
    that raises ValueError.
    """

    def __init__(self) -> None:
        self.__dict__.update(dict.fromkeys(_UNSET))
        self.__dict__.update({names[0]: _Wishes() for names in _GROUPS})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _CANONICAL and _CANONICAL[name] != name:
                return getattr(self, _CANONICAL[name])
            raise AttributeError(f"'Options' object has no attribute {name!r}: it was not set")

    def merge(self, options: Options) -> Options:
        """These wishes with those of options over them."""
        made = Options()
        made._take(self)
        made._take(options)
        return made
