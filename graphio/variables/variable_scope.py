"""get_variable and the scopes in which variables are shared by name.

Variable scopes are independent of name scopes: get_variable's names follow the former alone.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes, registered, scopes, source
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import as_array, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Graph, Tensor
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.modes import VariableAggregation, VariableSynchronization
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.framework.undo import Journal, Table
from graphio.framework.variable_reads import outermost
from graphio.support import api_guard
from graphio.variables.initializers import (
    Initializer,
    glorot_uniform_initializer,
    zeros_initializer,
)
from graphio.variables.partitioned_variables import (
    PartitionedVariable,
    PartitionInfo,
    cut,
    slices,
    split_value,
)
from graphio.variables.variables import Variable, is_trainable

__all__ = [
    "AUTO_REUSE",
    "VariableScope",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "no_regularizer",
    "variable_op_scope",
    "variable_scope",
]


class _Reuse(enum.Enum):
    AUTO_REUSE = 1

    def __repr__(self) -> str:
        return "AUTO_REUSE"


#: get_variable makes what is not there and takes what is.
AUTO_REUSE = _Reuse.AUTO_REUSE

#: options inherited by the scopes and variables inside a scope
_INHERITED = (
    "initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "constraint",
)  # fmt: skip


class _Here(threading.local):
    """The current scope of each thread."""

    def __init__(self) -> None:
        self.scope = VariableScope(None)


class _Store:
    """The variables that get_variable has made in a graph, and its current scope."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.variables: Table[str, Variable] = Table(journal)
        self.partitioned: Table[str, PartitionedVariable] = Table(journal)
        self._here = _Here()
        self.names = _ScopeNames(journal)

    @property
    def scope(self) -> VariableScope:
        """The scope that this thread is in."""
        return self._here.scope

    @scope.setter
    def scope(self, scope: VariableScope) -> None:
        self._here.scope = scope

    @classmethod
    def of(cls, graph: Graph) -> _Store:
        # functions of datasets make the variables of the graph around
        return _STORE.of(outermost(graph.root))


_STORE: Attachment[_Store] = Attachment("variable_store", lambda root: _Store(root.journal))


class _ScopeNames:
    """Names of the scopes that were opened, and which default names are free.

    A scope that is entered again counts the default names inside it from the start: what was
    counted below it is forgotten when it is left.
    """

    def __init__(self, journal: Journal) -> None:
        #: when a name was opened last; when what is below it was forgotten; the number after
        #: those of a default name that are taken, and when that was found
        self.opened: Table[str, int] = Table(journal)
        self.forgotten: Table[str, int] = Table(journal)
        self.free: Table[str, tuple[int, int]] = Table(journal)
        self._now = 0

    def open(self, full: str) -> None:
        """Notes that a scope was opened."""
        self._now += 1
        self.opened[full] = self._now

    def forget_below(self, full: str) -> None:
        """Counts the default names inside a scope from the start."""
        self._now += 1
        self.forgotten[full] = self._now

    def unique(self, prefix: str, name: str) -> str:
        """name, with a number if a scope of that name was opened in the current one."""
        base = prefix + name
        number, found = self.free.get(base, (0, 0))
        if number and not self._holds(base, found):
            number = 0
        while self._is_open(f"{base}_{number}" if number else base):
            number += 1
        self.free[base] = number, self._now
        return f"{name}_{number}" if number else name

    def restore(self, journal: Journal, mark: int) -> None:
        """Gives the names as they were at a mark of the journal."""
        tables: tuple[Table[str, Any], ...] = (self.opened, self.forgotten, self.free)
        for table in tables:
            journal.restore(table, mark)

    def _is_open(self, full: str) -> bool:
        return self._holds(full, self.opened.get(full, 0))

    def _holds(self, full: str, since: int) -> bool:
        """Whether what was noted of a scope has not been forgotten since."""
        if not since:
            return False
        end = full.rfind("/")
        while end > 0:
            if self.forgotten.get(full[:end], 0) > since:
                return False
            end = full.rfind("/", 0, end)
        return True


def targets_by_name(graph: Graph) -> dict[str, list[Variable]]:
    """The variables of a graph that get_variable made, a list of one; of a name that is cut up,
    its parts."""
    store = _Store.of(graph)
    wholes = {name: list(whole) for name, whole in store.partitioned.items()}
    parts = {part for whole in wholes.values() for part in whole}
    return {name: [v] for name, v in store.variables.items() if v not in parts} | wholes


@api_guard.makes_variables
def no_regularizer(_: Any) -> None:
    """A regularizer that stops an outer scope's from being applied."""


class VariableScope:
    """A prefix of names with defaults for get_variable.

    Attributes:
        name: the prefix, without a "/" at its end.
        reuse: None, True or AUTO_REUSE.
        initializer, regularizer, dtype, constraint, custom_getter, partitioner: defaults of
            get_variable.
        original_name_scope: the name scope in which it was opened first.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: Any = None,
        constraint: Any = None,
    ) -> None:
        self._name = name
        self._reuse = reuse
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.original_name_scope = name_scope
        self.dtype = dtypes.as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint

    @property
    def name(self) -> str:
        """The prefix, without a "/" at its end; "" at the root."""
        return self._name

    @property
    def reuse(self) -> Any:
        """None: make; True: take; AUTO_REUSE: take what is there, else make."""
        return self._reuse

    def reuse_variables(self) -> None:
        """From now on variables are taken, not made."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets the default regularizer."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        """Sets the default dtype."""
        self.dtype = dtypes.as_dtype(dtype)

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Sets the default custom getter."""
        self.custom_getter = custom_getter

    def set_caching_device(self, caching_device: Any) -> None:
        """Sets the default device that variables are read on."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Sets the default partitioner."""
        self.partitioner = partitioner

    def set_use_resource(self, use_resource: Any) -> None:
        """Accepted: reads and assignments never race."""
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """The members of a collection that belong to this scope."""
        prefix = self._name + "/" if self._name else ""
        return scopes.get_default_graph().get_collection(name, prefix)

    def get_variable(self, _store: Any, name: str, *arguments: Any, **options: Any) -> Any:
        """tf.get_variable in this scope; the first argument, TensorFlow's store, has no effect."""
        with variable_scope(self):
            return get_variable(name, *arguments, **options)

    def global_variables(self) -> list[Variable]:
        """The global variables in this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self) -> list[Variable]:
        """The trainable variables in this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def local_variables(self) -> list[Variable]:
        """The local variables in this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)


@api_guard.makes_variables
def get_variable_scope() -> VariableScope:
    """The scope that get_variable is in."""
    return _Store.of(scopes.get_default_graph()).scope


# ---- opening scopes ----


class variable_scope:
    """A context in which get_variable's names begin with the scope's.

    Args:
        name_or_scope: a name, which is nested in the current scope; or a VariableScope, which is
            entered as it is; or None, when default_name is given.
        default_name: taken, and made unique, when name_or_scope is None.
        values: as of name_scope.
        initializer, regularizer, constraint, dtype, partitioner: defaults of get_variable; None:
            those of the scope around.
        caching_device: default of get_variable.
        use_resource: as of tf.Variable.
        custom_getter: called as f(getter, name, ...) in the place of get_variable.
        reuse: None or False: as the scope around; True; AUTO_REUSE.
        auxiliary_name_scope: False opens no name scope.

    The context's value is the VariableScope.

    Raises:
        ValueError: reuse without a name.
        TypeError: name_or_scope is neither name nor scope, or there is no default name either;
            auxiliary_name_scope is not a bool.
        RuntimeError: leaving it while a scope that was opened inside is still open.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: Any = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if not isinstance(name_or_scope, (str, VariableScope, type(None))):
            raise TypeError(
                f"VariableScope: name_or_scope must be a string or VariableScope, got "
                f"{type(name_or_scope).__name__}"
            )
        if reuse not in (None, True, False, AUTO_REUSE):
            raise ValueError(f"The reuse parameter must be True or False or None, got {reuse!r}")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, got {auxiliary_name_scope!r}"
            )
        self._given = name_or_scope
        self._default_name = default_name
        self._values = values
        self._reuse = reuse
        self._with_name_scope = auxiliary_name_scope
        self._changes = {
            "initializer": initializer, "regularizer": regularizer,
            "caching_device": caching_device, "partitioner": partitioner,
            "custom_getter": custom_getter, "constraint": constraint, "dtype": dtype,
            "use_resource": use_resource,
        }  # fmt: skip
        self._store: _Store | None = None
        self._inside: VariableScope | None = None
        self._context: contextlib.AbstractContextManager[VariableScope] | None = None

    def __enter__(self) -> VariableScope:
        other = scopes.graph_of(self._values or ())
        self._context = self._opened() if other is None else self._opened_in(other)
        return self._context.__enter__()

    def __exit__(self, *details: Any) -> bool | None:
        assert self._context is not None and self._store is not None
        if self._store.scope is not self._inside:
            raise RuntimeError("Improper nesting of variable_scope.")
        return self._context.__exit__(*details)

    @contextlib.contextmanager
    def _opened_in(self, other: Graph) -> Iterator[VariableScope]:
        with other.as_default(), self._opened() as scope:
            yield scope

    @contextlib.contextmanager
    def _opened(self) -> Iterator[VariableScope]:
        graph = scopes.get_default_graph()
        store = _Store.of(graph)
        before = store.scope
        counted = isinstance(self._given, VariableScope)  # names opened inside are free afterwards
        mark, full, inside = 0, "", None
        if counted:
            with graph.root.building:
                mark = store.journal.open()
        try:
            full, last = self._names(store)
            around = graph.get_name_scope()
            names = scopes.name_scope(last) if self._with_name_scope and last else None
            same = contextlib.nullcontext(around + "/" if around else "")
            with names or same as name_scope:
                inside = store.scope = self._scope(before, full, name_scope)
                self._store, self._inside = store, inside
                yield inside
        finally:
            store.scope = before
            if inside is not None and not counted:
                with graph.root.building:
                    store.names.forget_below(full)
            if counted:
                with graph.root.building:
                    try:
                        store.names.restore(store.journal, mark)
                    finally:
                        store.journal.close()

    def _names(self, store: _Store) -> tuple[str, str]:
        """The scope's full name, and the name scope to open."""
        given = self._given
        if isinstance(given, VariableScope):
            return given.name, given.name.rsplit("/", 1)[-1]
        prefix = store.scope.name + "/" if store.scope.name else ""
        if given is None:
            assert self._default_name is not None
            given = store.names.unique(prefix, self._default_name)
            full = prefix + given
            store.names.open(full)
            return full, self._default_name
        full = prefix + given
        store.names.open(full)
        return full, given

    def _scope(self, outer: VariableScope, full: str, name_scope: str) -> VariableScope:
        given = self._given
        base = given if isinstance(given, VariableScope) else outer
        reuse = self._reuse or (given.reuse if isinstance(given, VariableScope) else None)
        inherited = {key: getattr(base, key) for key in (*_INHERITED, "dtype", "use_resource")}
        inherited.update({k: v for k, v in self._changes.items() if v is not None})
        getter, around = self._changes["custom_getter"], base.custom_getter
        if getter is not None and around is not None:
            inherited["custom_getter"] = _nested_getter(getter, around)
        original = given.original_name_scope if isinstance(given, VariableScope) else name_scope
        return VariableScope(reuse or outer.reuse, name=full, name_scope=original, **inherited)


def _nested_getter(inner: Callable[..., Any], outer: Callable[..., Any]) -> Callable[..., Any]:
    def getter(true_getter: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        def through_outer(*a: Any, **o: Any) -> Any:
            return outer(true_getter, *a, **o)

        return inner(through_outer, *arguments, **options)

    return getter


@api_guard.makes_variables
@contextlib.contextmanager
def variable_op_scope(
    values: Any, name_or_scope: Any, default_name: str | None = None, **options: Any
) -> Iterator[VariableScope]:
    """variable_scope in an older order of arguments."""
    with variable_scope(name_or_scope, default_name, values, **options) as scope:
        yield scope


# ---- get_variable ----


@api_guard.makes_variables
@source.locating
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Variable | Any:
    """The variable of a name in the current variable scope, made or shared as the scope says.

    Args:
        name: within the scope; name scopes play no part.
        shape: None when the initializer is a value.
        dtype: None: the scope's, float32 unless it says otherwise.
        initializer: class, instance, callable(shape[, dtype, partition_info]), tensor, array or
            list; None: the scope's, else Glorot uniform for floats and zeros for the others.
        regularizer: a function from the variable to a loss, which joins REGULARIZATION_LOSSES.
        trainable: whether optimizers change it; None: unless synchronization is ON_READ.
        collections: names of collections to join; None: the global variables.
        caching_device: as of tf.Variable.
        partitioner: a function of shape and dtype to a list that says how many parts each axis is
            cut into, such as tf.fixed_size_partitioner(2), for a variable that is not a scalar; the
            result is a tf.PartitionedVariable then. None: the scope's.
        use_resource: as of tf.Variable.
        validate_shape: False takes an initial value of unknown shape, or another than shape.
        custom_getter: called as f(getter, name, ...) in the place of this function.
        constraint: a function from the value after an update to the value to keep.
        synchronization, aggregation: kept for who asks.

    Raises:
        ValueError: trainable with synchronization ON_READ; a partitioner that is none;
            the variable exists and the scope does not reuse, or it does not exist and the
            scope does; the shape, dtype or initializer disagrees.
    """
    scope = get_variable_scope()
    options: dict[str, Any] = {
        "shape": shape,
        "dtype": scope.dtype if dtype is None and _gives_no_dtype(initializer) else dtype,
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "reuse": scope.reuse,
        "trainable": is_trainable(trainable, synchronization),
        "collections": collections,
        "caching_device": scope.caching_device if caching_device is None else caching_device,
        "partitioner": scope.partitioner if partitioner is None else partitioner,
        "validate_shape": validate_shape,
        "use_resource": scope.use_resource if use_resource is None else use_resource,
        "constraint": scope.constraint if constraint is None else constraint,
        "synchronization": synchronization,
        "aggregation": aggregation,
    }
    full = f"{scope.name}/{name}" if scope.name else name
    getter = scope.custom_getter if custom_getter is None else custom_getter
    if custom_getter is not None and scope.custom_getter is not None:
        getter = _nested_getter(custom_getter, scope.custom_getter)
    if getter is not None:
        if not callable(getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {getter!r}")
        with scopes.name_scope(None):  # variables are named by variable scopes alone
            return getter(_get, full, **options)
    return _get(full, **options)


def partitioned_as_scope(**options: Any) -> Any:
    """A partitioned variable that is called as the current scope; options: as get_variable's.

    Raises:
        ValueError: the scope has a custom getter, which would have to be called for it.
    """
    scope = get_variable_scope()
    if scope.custom_getter is not None:
        raise ValueError(
            "create_partitioned_variables makes variables without the custom getter of the "
            "variable scope; use get_variable with a partitioner"
        )
    defaults = {
        "regularizer": scope.regularizer, "constraint": scope.constraint,
        "use_resource": scope.use_resource,
    }  # fmt: skip
    return _get(scope.name, reuse=scope.reuse, **{**defaults, **options})


@api_guard.makes_variables
def get_local_variable(name: str, *arguments: Any, **options: Any) -> Variable | Any:
    """As get_variable, for a variable that checkpoints leave out; it joins `collections`, too."""
    others = options.get("collections") or ()
    options["collections"] = [*others, GraphKeys.LOCAL_VARIABLES]
    options["trainable"] = False
    return get_variable(name, *arguments, **options)


def _gives_no_dtype(initializer: Any) -> bool:
    return initializer is None or callable(initializer)


def _get(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Any = None,
    partitioner: Any = None,
    **options: Any,
) -> Variable | PartitionedVariable:
    store = _Store.of(scopes.get_default_graph())
    requested = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    made = _Made(initializer, regularizer, options)
    if partitioner is not None and not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner!r}")
    again = partitioner is None and reuse is True and name in store.partitioned
    if again or (partitioner is not None and not _is_scalar(shape)):
        return _get_partitioned(store, name, shape, requested, reuse, partitioner, made)
    if f"{name}/part_0" in store.variables:
        raise ValueError(
            f"No partitioner was provided, but the variable {name} is partitioned: "
            f"{name}/part_0 exists. Give the partitioner that it was made with, or reuse=True"
        )
    return _get_single(store, name, shape, requested, reuse, made)


class _Made(NamedTuple):
    """How a variable is made.

    Attributes:
        initializer, regularizer: as get_variable's.
        options: other arguments of get_variable.
        part: of a partitioned variable: the description of the complete variable for the
            initializer.
    """

    initializer: Any
    regularizer: Any
    options: dict[str, Any]
    part: PartitionInfo | None = None


def _is_scalar(shape: Any) -> bool:
    return shape is not None and as_shape(shape).ndims == 0


def _get_single(
    store: _Store, name: str, shape: Any, dtype: DType | None, reuse: Any, how: _Made
) -> Variable:
    if name in store.variables:
        return _shared(store.variables[name], name, shape, dtype, reuse)
    _check_may_make(name, reuse)
    validate = how.options.get("validate_shape", True)
    value, kind = _initial_value(name, shape, dtype, how.initializer, validate, how.part)
    with scopes.name_scope(None):
        made = Variable(
            value,
            trainable=how.options.get("trainable"),
            caching_device=how.options.get("caching_device"),
            collections=how.options.get("collections"),
            validate_shape=validate,
            name=name,
            dtype=kind,
            constraint=how.options.get("constraint"),
            use_resource=how.options.get("use_resource"),
            synchronization=how.options.get("synchronization"),
            aggregation=how.options.get("aggregation"),
        )
    store.variables[name] = made
    if how.regularizer is not None:
        _regularize(made, how.regularizer, name)
    return made


def _check_may_make(name: str, reuse: Any) -> None:
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you "
            "mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )


def _get_partitioned(
    store: _Store,
    name: str,
    shape: Any,
    dtype: DType | None,
    reuse: Any,
    partitioner: Any,
    how: _Made,
) -> PartitionedVariable:
    if name in store.variables:
        raise ValueError(
            f"A partitioner was provided, but the variable {name} exists unpartitioned; leave the "
            "partitioner out, or take another name"
        )
    value = how.initializer
    static = as_shape(shape)
    if isinstance(value, Tensor):
        static, dtype = static.merge_with(value.shape), value.dtype
    kind = dtype or dtypes.float32
    requested = None if partitioner is None else cut(partitioner, static, kind, name)
    if name in store.partitioned:
        return _shared_parts(store.partitioned[name], static, dtype, requested, reuse)
    _check_may_make(name, reuse)
    assert requested is not None
    parts = []
    for i, info in enumerate(slices(name, static, requested)):
        own = f"{name}/part_{i}"
        known = PartitionInfo(list(info.full_shape or ()), list(info.var_offset or ()))
        size: Any = info.var_shape
        if value is not None and not callable(value):
            with scopes.name_scope(None), scopes.name_scope(f"{own}/PartitionedInitializer"):
                how, size = how._replace(initializer=split_value(value, dtype, info)), None
        part = _get_single(store, own, size, kind, reuse, how._replace(part=known))
        part._set_save_slice_info(info)
        parts.append(part)
    made = store.partitioned[name] = PartitionedVariable(name, static, kind, parts, requested)
    return made


def _shared_parts(
    found: PartitionedVariable,
    shape: TensorShape,
    dtype: DType | None,
    partitions: list[int] | None,
    reuse: Any,
) -> PartitionedVariable:
    if not reuse:
        raise ValueError(
            f"Partitioned variable with name {found.name} already exists. Did you mean to set "
            "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        )
    pairs = [
        ("shape", shape, found.shape, shape.is_compatible_with(found.shape)),
        ("dtype", dtype, found.dtype, dtype in (None, found.dtype)),
        ("partitions", partitions, found._get_partitions(),
         partitions in (None, found._get_partitions())),
    ]  # fmt: skip
    for what, given, there, fits in pairs:
        if not fits:
            raise ValueError(
                f"Trying to reuse partitioned variable {found.name}, but specified {what} {given} "
                f"and found {what} {there}."
            )
    return found


def _shared(found: Variable, name: str, shape: Any, dtype: DType | None, reuse: Any) -> Variable:
    if not reuse:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at: {found.op.source}"
        )
    if shape is not None and not as_shape(shape).is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {as_shape(shape)} and found "
            f"shape {found.shape}."
        )
    if dtype is not None and dtype != found.dtype:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.name}."
        )
    return found


def _check_fits(value: Any, dtype: DType) -> None:
    try:
        as_array(value, dtype)
    except TypeError as error:
        raise ValueError(
            f"Initializer {value!r} and explicit dtype '{dtype.name}' don't match: {error}"
        ) from None


def _initial_value(
    name: str,
    shape: Any,
    dtype: DType | None,
    initializer: Any,
    validate: bool,
    part: PartitionInfo | None = None,
) -> tuple[Any, DType | None]:
    """The initial value for Variable: a value, or a function that builds one."""
    static = as_shape(shape)
    if initializer is not None and not callable(initializer):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        given = _dtype_of(initializer)
        if dtype is not None and given is not None and given != dtype:
            raise ValueError(
                f"Initializer type '{given.name}' and explicit dtype '{dtype.name}' don't match."
            )
        if dtype is not None and given is None:
            _check_fits(initializer, dtype)
        return initializer, dtype
    if initializer is None:
        initializer = _default(dtype or dtypes.float32)
    if inspect.isclass(initializer):
        initializer = initializer()
    if not static.is_fully_defined():
        if _required(initializer):
            raise ValueError(
                f"Shape of a new variable ({name}) must be fully defined, but instead was {static}."
            )
        return initializer, dtype

    def build() -> Any:
        given = _call(initializer, static, dtype, part)
        value = convert_to_tensor(given, dtype, name="initial_value")
        if validate and not value.shape.is_compatible_with(static):
            raise ValueError(
                f"The initializer of variable {name} gave shape {value.shape}, expected {static}, "
                "the requested shape; validate_shape=False accepts any"
            )
        return value

    return build, dtype


def _dtype_of(value: Any) -> DType | None:
    """The dtype that a value has of itself; Python's numbers adapt."""
    if isinstance(value, (Tensor, Variable, np.ndarray, np.generic)):
        return dtypes.as_dtype(value.dtype)
    return None


def _default(dtype: DType) -> Any:
    if dtype.is_floating:
        return glorot_uniform_initializer()
    if dtype.is_integer or dtype in (dtypes.bool, dtypes.string):
        return zeros_initializer()
    raise ValueError(f"An initializer for a variable of {dtype.name} is required")


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """As inspect.signature has them, which takes long: an initializer has those of its class."""
    kind: Any = type(function)
    if issubclass(kind, Initializer):
        return _parameters_of_calls(kind)
    return inspect.signature(function).parameters


@functools.cache
def _parameters_of_calls(kind: Any) -> Mapping[str, inspect.Parameter]:
    own = inspect.signature(kind.__call__).parameters
    return {name: own[name] for name in list(own)[1:]}


def _required(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters that a call must give."""
    try:
        parameters = _parameters(function).values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds and p.default is p.empty]


def _call(
    initializer: Callable[..., Any],
    shape: TensorShape,
    dtype: DType | None,
    part: PartitionInfo | None,
) -> Any:
    """Calls an initializer with what it takes of shape, dtype and partition_info."""
    try:
        parameters = _parameters(initializer)
    except (TypeError, ValueError):
        return initializer(shape.as_list())
    if not parameters:
        return initializer()
    available = {"dtype": dtype or dtypes.float32, "partition_info": part}
    if not available.keys() <= parameters.keys():
        every = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        available = {k: v for k, v in available.items() if every or k in parameters}
    return initializer(shape.as_list(), **available)


def _regularize(variable: Variable, regularizer: Any, name: str) -> None:
    with scopes.name_scope(name + "/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        variable.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


@registered.scope_uses_resource.register
def _uses_resource() -> bool | None:
    given: bool | None = get_variable_scope().use_resource
    return given
