"""tf.test: test cases that run graphs, and numeric checks of gradients."""

from __future__ import annotations

import contextlib
import os
import random
import re
import tempfile
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np

from graphio.autodiff.gradients import gradients
from graphio.execution.config import ConfigProto
from graphio.execution.session import Session, get_default_session
from graphio.framework import nest, scopes
from graphio.framework.constants import constant
from graphio.framework.dtypes import as_dtype
from graphio.framework.graph import Graph, Tensor
from graphio.ops.array import surface as array
from graphio.protos.graph_def import GraphDef
from graphio.support import api_guard, errors
from graphio.support.version import GRAPH_DEF_VERSION
from graphio.testing.assertions import Assertions

__all__ = [
    "TestCase", "assert_equal_graph_def", "compute_gradient", "compute_gradient_error",
    "get_temp_dir", "gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available", "main", "mock", "test_src_dir_path",
]  # fmt: skip

Array = np.ndarray[Any, Any]
SEED = 87654321


class TestCase(Assertions):
    """A unittest.TestCase with a new graph for each test, and assertions on arrays.

    Each test begins with an empty default graph and fixed seeds.
    """

    __test__ = False  # pytest collects the subclasses of programs, not this

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__test__" not in vars(cls):
            cls.__test__ = True

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        # not in setUp, which a test's class may replace
        self._cached: Session | None = None
        self._cached_for: dict[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        random.seed(SEED)
        np.random.seed(SEED)
        scopes.reset_default_graph()
        scopes.get_default_graph().seed = SEED

    def tearDown(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None
        super().tearDown()

    def get_temp_dir(self) -> str:
        """A folder for the test."""
        if not hasattr(self, "_folder"):
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return self._folder.name

    # ---- running ----

    @contextlib.contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:  # fmt: skip
        """A context with a new session, the default one, on a graph or the default graph.

        Args:
            config: None: operations on a GPU run on the processor, unless force_gpu is True.
        """
        with Session("", graph, _placing(config, force_gpu)) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:  # fmt: skip
        """As session, but one and the same in all of the test; it stays open.

        Raises:
            ValueError: the test had it with another graph, config or force_gpu.
        """
        given = {"graph": graph, "config": config, "force_gpu": force_gpu}
        if self._cached is None:
            placed = _placing(config, force_gpu)
            self._cached, self._cached_for = Session("", graph, placed), given
        for name, value in given.items():
            if value is not self._cached_for[name]:
                raise ValueError(
                    f"The {name} used to get the cached session is different than the one that was "
                    "used to create it: use self.session() for another session"
                )
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    @property
    def test_session(self) -> Callable[..., contextlib.AbstractContextManager[Session]]:
        """As cached_session, or session if a graph is given; see there.

        A property, for unittest takes methods of such a name for tests.
        """

        def context(graph: Graph | None = None, config: Any = None, **options: Any) -> Any:
            chosen = self.cached_session if graph is None else self.session
            return chosen(graph, config, **options)

        return context

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors by the default session."""
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as cached:
            return cached.run(tensors)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Tensor) or hasattr(value, "initial_value"):
            return self.evaluate(value)
        return value

    # ---- assertions ----

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Arrays of one shape with equal elements; NaN equals NaN."""
        one, two = np.asarray(self._value(a)), np.asarray(self._value(b))
        self.assertEqual(one.shape, two.shape, f"Shape mismatch. {msg or ''}")
        np.testing.assert_array_equal(one, two, msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Arrays that differ somewhere."""
        with self.assertRaises(
            AssertionError, msg=msg or "The two values are equal at all elements."
        ):
            self.assertAllEqual(a, b)

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Arrays of one shape with |a - b| <= atol + rtol |b|; also in structures of them."""
        one, two = nest.map_structure(self._value, a), nest.map_structure(self._value, b)
        if isinstance(one, dict) != isinstance(two, dict):
            raise ValueError(f"Can't compare dict to non-dict, {a!r} vs {b!r}. {msg or ''}")
        if isinstance(one, dict):
            self.assertCountEqual(one, two, msg)
            for key in one:
                self.assertAllClose(one[key], two[key], rtol, atol, f"{msg or ''}[{key!r}]")
            return
        listed = (list, tuple)
        if isinstance(one, listed) and isinstance(two, listed) and not _regular(one, two):
            self.assertEqual(len(one), len(two), msg)
            for x, y in zip(one, two, strict=True):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        x, y = np.asarray(one), np.asarray(two)
        self.assertEqual(x.shape, y.shape, f"Shape mismatch. {msg or ''}")
        np.testing.assert_allclose(x, y, rtol, atol, err_msg=msg or "")

    def assertNotAllClose(self, a: Any, b: Any, **options: Any) -> None:
        """Arrays that differ somewhere by more than the tolerance."""
        try:
            self.assertAllClose(a, b, **options)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6,
        float_rtol: float = 1e-6, float_atol: float = 1e-6, half_rtol: float = 1e-3,
        half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2, bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:  # fmt: skip
        """As assertAllClose, with the tolerance of the coarser of the arrays' dtypes."""
        one, two = np.asarray(self._value(a)), np.asarray(self._value(b))
        tolerances = (
            ("float32", float_rtol, float_atol), ("complex64", float_rtol, float_atol),
            ("float16", half_rtol, half_atol), ("bfloat16", bfloat16_rtol, bfloat16_atol),
        )  # fmt: skip
        for name, relative, absolute in tolerances:
            if name in (one.dtype.name, two.dtype.name):
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(one, two, rtol, atol, msg)

    def assertItemsEqual(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """The same elements in any order."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any) -> None:
        """A message equals another one, or the same in protobuf's text format; that of a GraphDef
        is of TensorFlow's message."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str) and isinstance(message, GraphDef):
            message = message.tensorflow_message()
        if isinstance(expected, str):
            from google.protobuf import text_format

            expected = text_format.Parse(expected, type(message)())
        self.assertEqual(expected, message)

    def assertProtoEqualsVersion(
        self,
        expected: Any,
        actual: Any,
        producer: int = GRAPH_DEF_VERSION,
        min_consumer: int = 0,
        msg: str | None = None,
    ) -> None:
        """A GraphDef equals the text of TensorFlow's message with these versions added.

        Args:
            expected: text without versions.
            actual: the GraphDef.
            producer, min_consumer: its versions.
            msg: accepted: the failure shows both messages.
        """
        versions = f"versions {{ producer: {producer} min_consumer: {min_consumer} }}"
        self.assertProtoEquals(f"{versions}\n{expected}", actual)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Numbers that differ by at most err."""
        ok = f1 == f2 or abs(f1 - f2) <= err
        self.assertTrue(ok, f"{f1!r} != {f2!r} +/- {err!r}{f' ({msg})' if msg else ''}")

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Lists of numbers that differ by at most err each."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, a: Any, b: Any, err: float, msg: str | None = None) -> None:
        """Arrays whose difference has a norm of less than err."""
        distance = float(np.linalg.norm(np.asarray(a) - np.asarray(b)))
        self.assertLess(distance, err, msg)

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """All elements are greater."""
        self.assertGreater(np.min(self._value(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """All elements are less."""
        self.assertLess(np.max(self._value(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """All elements are greater or equal."""
        self.assertGreaterEqual(np.min(self._value(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """All elements are less or equal."""
        self.assertLessEqual(np.max(self._value(a)), comparison_target)

    def assertAllInRange(
        self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:  # fmt: skip
        """All elements are within bounds."""
        values = np.asarray(self._value(target))
        if not (np.issubdtype(values.dtype, np.integer) or _is_real(values.dtype)):
            self.fail(
                f"The value of {values} does not have an ordered numeric type, instead it has "
                f"type: {values.dtype}"
            )
        low = values > lower_bound if open_lower_bound else values >= lower_bound
        high = values < upper_bound if open_upper_bound else values <= upper_bound
        bad = values[~(low & high)]
        self.assertFalse(bad.size, f"{bad.size} elements are out of range, such as {bad[:5]}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """All elements are of a set."""
        bad = set(np.asarray(self._value(target)).ravel().tolist()) - set(expected_set)
        self.assertFalse(bad, f"{bad} are not in the set {expected_set}")

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """A tensor has an array's shape, statically."""
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        if not isinstance(tf_tensor, Tensor):
            raise TypeError("tf_tensor must be a Tensor")
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """A tensor or array is of a dtype."""
        found = target.dtype if hasattr(target, "dtype") else np.asarray(target).dtype
        self.assertEqual(as_dtype(found), as_dtype(expected_dtype))

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """A string begins with another."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} begins otherwise")

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """The block raises an error whose text matches, or of which a function is true."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, exception_type):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            text = error.message if isinstance(error, errors.OpError) else str(error)
            matches: Any = expected_err_re_or_predicate
            if not callable(matches):
                pattern = matches
                matches = lambda _: re.search(pattern, text)  # noqa: E731
            if not matches(error):
                raise AssertionError(
                    f"Exception of type {type(error)}: {error}, not as expected"
                ) from error
        else:
            self.fail(f"{exception_type} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """The block raises an OpError whose message matches."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


def _placing(config: Any, force_gpu: bool) -> Any:
    """The config of a test's session."""
    return ConfigProto(allow_soft_placement=not force_gpu) if config is None else config


def _is_real(dtype: Any) -> bool:
    return np.issubdtype(dtype, np.floating) or as_dtype(dtype).is_floating


def _regular(*values: Any) -> bool:
    """Whether lists are arrays, too."""
    try:
        return all(np.asarray(v).dtype != object for v in values)
    except ValueError:
        return False


@api_guard.unguarded
def main(argv: Sequence[str] | None = None) -> None:
    """Runs all tests of the program that runs."""
    unittest.main(module="__main__", argv=None if argv is None else list(argv))


@api_guard.unguarded
def get_temp_dir() -> str:
    """A folder for tests, one for the process."""
    found: str | None = _folder.get("path")
    if found is None:
        found = _folder["path"] = tempfile.mkdtemp()
    return found


_folder: dict[str, str] = {}


@api_guard.unguarded
def test_src_dir_path(relative_path: str) -> str:
    """A path relative to the working folder."""
    return os.path.join(os.getcwd(), relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]


@api_guard.unguarded
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """False: both engines use the processor."""
    return False


@api_guard.unguarded
def is_built_with_cuda() -> bool:
    """False: both engines use the processor."""
    return False


@api_guard.unguarded
def is_built_with_rocm() -> bool:
    """False: both engines use the processor."""
    return False


@api_guard.unguarded
def is_built_with_gpu_support() -> bool:
    """False: both engines use the processor."""
    return False


@api_guard.unguarded
def gpu_device_name() -> str:
    """ "": there is none."""
    return ""


@api_guard.unguarded
def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Raises AssertionError unless two messages of graphs have the same nodes, in any order.

    Args:
        actual, expected: GraphDefs.
        checkpoint_v2: accepted: nodes of checkpoints have no random names.
        hash_table_shared_name: whether the shared names that TensorFlow makes up for hash tables
            do not count, "hash_table_" and hexadecimal numbers.

    Raises:
        TypeError: one of them is not a GraphDef.
    """
    for which, given in (("actual", actual), ("expected", expected)):
        if not isinstance(given, GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {which}, got {type(given).__name__}")
    found = {node.name: _compared(node, hash_table_shared_name) for node in actual.node}
    needed = {node.name: _compared(node, hash_table_shared_name) for node in expected.node}
    problems = [
        *(f"Found unexpected node '{{{{node {name}}}}}'" for name in found.keys() - needed.keys()),
        *(
            f"Did not find expected node '{{{{node {name}}}}}'"
            for name in needed.keys() - found.keys()
        ),
        *(
            f"Node named '{name}' differs:\n{found[name]}--\n{needed[name]}"
            for name in found.keys() & needed.keys()
            if found[name] != needed[name]
        ),
    ]
    if problems:
        raise AssertionError("\n".join(sorted(problems)))


def _compared(node: Any, without_shared_names: bool) -> str:
    """A node as text; without_shared_names: without one that TensorFlow made up for a table."""
    if without_shared_names and node.op == "HashTableV2" and "shared_name" in node.attr:
        if re.match(rb"hash_table_[0-9a-z\-]+", node.attr["shared_name"].s):
            copied = type(node)()
            copied.CopyFrom(node)
            del copied.attr["shared_name"]
            return str(copied)
    return str(node)


# ---- numeric gradients ----


@api_guard.unguarded
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian of y by x, by tf.gradients and by differences, in the default session.

    Args:
        x: a tensor or a list of them.
        x_shape: its shape, as a list of numbers; a list of shapes for several.
        y: a tensor.
        y_shape: its shape.
        x_init_value: where to differentiate; None: random numbers in [0, 1).
        delta: the step of the differences.
        init_targets: operations to run before.
        extra_feed_dict: values of other tensors.

    Returns:
        (theoretical, numeric), each of shape (elements of x, elements of y), a complex element
        being two, its parts; for several x a list of pairs.
    """
    several = isinstance(x, (list, tuple))
    xs = list(x) if several else [x]
    shapes = list(x_shape) if several else [x_shape]
    given = [None] * len(xs) if x_init_value is None else x_init_value
    starts = list(given) if several or x_init_value is None else [given]
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: `with tf.Session():`")
    if init_targets is not None:
        session.run(init_targets)
    feeds = dict(extra_feed_dict or {})
    for tensor, shape, start in zip(xs, shapes, starts, strict=True):
        value = np.random.random_sample(shape) if start is None else np.asarray(start)
        feeds[tensor] = value.astype(tensor.dtype.as_numpy_dtype)
    pairs = []
    for tensor in xs:
        run = _runner(session, feeds, tensor)
        pairs.append(
            (_theoretical(run, tensor, y, y_shape), _numeric(run, feeds[tensor], y, delta))
        )
    return pairs if several else pairs[0]


def _runner(session: Session, feeds: dict[Any, Any], tensor: Any) -> Callable[..., Any]:
    def run(fetch: Any, value: Any = None, more: Any = None) -> Any:
        at = {**feeds, **(more or {})}
        if value is not None:
            at[tensor] = value
        return session.run(fetch, at)

    return run


def _theoretical(run: Callable[..., Any], x: Any, y: Tensor, y_shape: Any) -> Array:
    with y.graph.as_default():
        seed = constant(np.zeros(y_shape, y.dtype.as_numpy_dtype))
        (dx,) = gradients(y, x, grad_ys=seed, unconnected_gradients="zero")
        dx = array.identity(dx)  # dense, where slices arrive
    columns = []
    for i in range(_flat_parts(np.zeros(y_shape, y.dtype.as_numpy_dtype)).size):
        direction = np.zeros(y_shape, y.dtype.as_numpy_dtype)
        _flat_parts(direction)[i] = 1
        columns.append(_flat_parts(run(dx, more={seed: direction})))
    return np.stack(columns, 1)


def _flat_parts(array: Array) -> Array:
    """The numbers of an array in a row, of complex ones their parts; a view where it can be."""
    flat: Array = np.ravel(array)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _numeric(run: Callable[..., Any], start: Array, y: Tensor, delta: float) -> Array:
    rows = []
    for i in range(_flat_parts(start).size):
        ends = []
        for sign in (1, -1):
            moved = np.array(start, order="C")
            _flat_parts(moved)[i] += sign * delta
            ends.append(_flat_parts(run(y, moved)).astype(np.float64))
        rows.append((ends[0] - ends[1]) / (2 * delta))
    return np.stack(rows)


@api_guard.unguarded
def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """The largest difference between the two Jacobians of compute_gradient."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = found if isinstance(found, list) else [found]
    error: np.float64 = np.float64(0)
    for one, other in pairs:
        error = np.maximum(error, np.float64(np.abs(one - other).max(initial=0)))
    return error
