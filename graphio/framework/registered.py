"""Functions of the packages above that the classes of the graph call; they are registered here.

See graphio.support.registration; graphio/__init__.py has the module of each name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphio.support.registration import Registered

if TYPE_CHECKING:
    from graphio.framework.dtypes import DType
    from graphio.framework.gradient_registry import Region
    from graphio.framework.graph import Graph
    from graphio.framework.operation import Operation
    from graphio.framework.tensor import Tensor
    from graphio.framework.tensor_shape import TensorShape

# ---- the graph's own ----

#: the graph that is the default one where a thread has entered none
new_graph: Registered[[], Graph] = Registered("new_graph")

#: a function that is to work in the graph of the tensors it is given
in_graph_of_inputs: Registered[[Callable[..., Any]], Callable[..., Any]] = Registered(
    "in_graph_of_inputs"
)

#: the output of a new node: an operator, its inputs, the dtype and the static shape
node: Registered[[str, Sequence[Tensor], DType, tuple[int | None, ...] | None], Tensor] = (
    Registered("node")
)

# ---- running ----

#: the session given, or the default one, which must be of the graph; and which method asks
session_of: Registered[[Graph, Any, str], Any] = Registered("session_of")
#: a session of a graph
new_session: Registered[[Graph], Any] = Registered("new_session")

# ---- showing and describing ----

#: a graph as text, with the last so many operations
graph_text: Registered[[Graph, int], str] = Registered("graph_text")
#: a graph as HTML, for notebooks
graph_html: Registered[[Graph], str] = Registered("graph_html")
#: an operation as text
operation_text: Registered[[Operation], str] = Registered("operation_text")
#: a graph's GraphDef, and whether it has shapes
graph_def: Registered[[Graph, bool], Any] = Registered("graph_def")
#: the versions of that format
graph_def_versions: Registered[[], Any] = Registered("graph_def_versions")
#: an operation's NodeDef
node_def: Registered[[Operation], Any] = Registered("node_def")
#: an attribute of an operation in TensorFlow's form
attribute_of: Registered[[Operation, str], Any] = Registered("attribute_of")
#: a static shape as a TensorShapeProto
shape_proto: Registered[[TensorShape], Any] = Registered("shape_proto")
#: the array of the bytes of TensorFlow's TensorProto
array_of_message: Registered[[bytes], Any] = Registered("array_of_message")
#: a variable as a VariableDef, None if it is outside of the name scope given
variable_def: Registered[[Any, str | None], Any] = Registered("variable_def")
#: the arguments of Variable.of_nodes for a VariableDef that was imported into a name scope
variable_parts: Registered[[Any, str | None], dict[str, Any]] = Registered("variable_parts")

# ---- building ----

#: an operation by TensorFlow's type; see Graph.create_op
create_by_type: Registered[
    [
        Graph,
        str,
        Sequence[Any],
        Sequence[Any] | None,
        str | None,
        Mapping[str, Any] | None,
    ],
    Operation,
] = Registered("create_by_type")
#: an operation by its NodeDef, with inputs, dtypes of outputs, control inputs; see Operation
operation_of_node_def: Registered[
    [Any, Graph, Sequence[Any], Sequence[Any] | None, Sequence[Any]], Operation
] = Registered("operation_of_node_def")
#: tensors of one shape along a new first axis, and the operation's name
stack: Registered[[Sequence[Tensor], str], Tensor] = Registered("stack")
#: a tensor in another dtype
cast: Registered[[Tensor, DType], Tensor] = Registered("cast")
#: -x
negative: Registered[[Tensor], Tensor] = Registered("negative")
#: the dense tensor of values at indices, of a dense shape; and the operation's name
dense_of_rows: Registered[[Tensor, Tensor, Tensor, str | None], Tensor] = Registered(
    "dense_of_rows"
)
#: sparse * dense, and sparse / dense
multiplied: Registered[[Any, Any], Any] = Registered("multiplied")
divided: Registered[[Any, Any], Any] = Registered("divided")
#: the result of one function if a bool tensor holds, else that of another
cond: Registered[[Tensor, Callable[[], Any], Callable[[], Any]], Any] = Registered("cond")
#: use_resource of the variable scope, None if it does not say
scope_uses_resource: Registered[[], bool | None] = Registered("scope_uses_resource")

# ---- differentiating ----

#: derivatives of the sum of ys by each x: of (ys, xs, gradients that arrive at ys, xs through which
#: no gradient passes)
gradients: Registered[
    [Sequence[Tensor], Sequence[Tensor], Sequence[Any], Sequence[Tensor]], list[Any]
] = Registered("gradients")
#: the sum of gradients of one tensor: rows, if all of them are
sum_of_gradients: Registered[[Sequence[Any]], Any] = Registered("sum_of_gradients")
#: the part of a graph whose gradient has a name: one operation as TensorFlow knows it
region_by_name: Registered[[Operation, str], Region] = Registered("region_by_name")
#: the class tf.data.experimental.Optional
class_of_optionals: Registered[[], type[Any]] = Registered("class_of_optionals")
