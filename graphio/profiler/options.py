"""Options of tf.profiler.profile: dicts, and the class that makes them."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["ProfileOptionBuilder"]

Options = dict[str, Any]

_COMMON: Options = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": True,
    "select": ["params"],
    "step": -1,
    "output": "stdout",
}


class ProfileOptionBuilder:
    """Makes options of tf.profiler.profile.

    Args:
        options: to begin with; None: those of trainable_variables_parameter, of all types.

    Example:
        counted = tf.profiler.profile(options=tf.profiler.ProfileOptionBuilder.float_operation())
        print(counted.total_float_ops)
    """

    def __init__(self, options: Options | None = None) -> None:
        self._options = copy.deepcopy(_COMMON if options is None else options)

    @staticmethod
    def trainable_variables_parameter() -> Options:
        """The elements of trainable variables, in the order of names."""
        return {**copy.deepcopy(_COMMON), "account_type_regexes": ["_trainable_variables"]}

    @staticmethod
    def float_operation() -> Options:
        """The operations on floats of all nodes, the largest number first."""
        numbers = {"min_float_ops": 1, "order_by": "float_ops", "select": ["float_ops"]}
        return {**copy.deepcopy(_COMMON), **numbers}

    def build(self) -> Options:
        """The options; later calls of the builder do not change them."""
        return copy.deepcopy(self._options)

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows so many levels of scopes, or types of operations."""
        return self._with(max_depth=max_depth)

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows nodes with at least so many elements of variables."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows types with at least so many nodes."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows nodes with at least so many operations on floats."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Any) -> ProfileOptionBuilder:
        """Counts nodes one of whose types matches: MatMul, _trainable_variables, a device."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Any = None,
        show_name_regexes: Any = None,
        hide_name_regexes: Any = None,
        trim_name_regexes: Any = None,
    ) -> ProfileOptionBuilder:
        """Shows nodes by name: from those that match start_name_regexes down, those that match
        show_name_regexes and not hide_name_regexes, nothing below a match of trim_name_regexes."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{k: list(v) for k, v in given.items() if v is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """True: totals are of the nodes that are shown; False: of those that are counted."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Prints nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints to the standard output."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Prints to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Sorts by name, params, float_ops or occurrence, the largest first."""
        return self._with(order_by=attribute)

    def select(self, attributes: Any) -> ProfileOptionBuilder:
        """Prints params, float_ops, occurrence or op_types."""
        return self._with(select=list(attributes))

    def _with(self, **options: Any) -> ProfileOptionBuilder:
        self._options.update(options)
        return self
