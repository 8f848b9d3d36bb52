"""A Saver as a message: in a graph file, a meta graph, or text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from graphio.engine.pickling import Unpicklable
from graphio.protos import meta_graph
from graphio.protos.meta_graph import MetaGraphDef, SaverDef
from graphio.protos.node_def import message_of
from graphio.schema import model_pb2
from graphio.train.checkpoints import saver_operators
from graphio.train.checkpoints.retention import Retention
from graphio.train.checkpoints.saver_operators import Operators
from graphio.variables.variables import Variable

__all__ = ["Described"]


class Described(Unpicklable):
    """The descriptions of a Saver: its repr, and its SaverDef."""

    pickling_hint = (
        "send saver.to_proto(), or make a Saver in the process of the session that it saves"
    )

    _retention: Retention
    _sharded: bool
    _scope: str
    _variables: dict[str, Variable] | None
    _operators: Operators | None
    _filename: Any

    def __repr__(self) -> str:
        variables = "not built" if self._variables is None else f"{len(self._variables)} variables"
        return f"<tf.train.Saver: {variables}, keeps {self._retention.max_to_keep or 'all'}>"

    def _built(self, what: str) -> Mapping[str, Variable]:
        """The variables. Raises RuntimeError if they were not looked for yet."""
        if self._variables is None:
            raise RuntimeError(f"`build()` should be called before {what} if defer_build==True")
        return self._variables

    def as_item(self) -> bytes:
        """The Saver as an item of a collection in a file; b"" before build, if that was
        deferred."""
        if self._variables is None:
            return b""
        content: bytes = message_of(self.to_proto()).SerializeToString()
        return content

    def to_proto(self, export_scope: str | None = None) -> SaverDef:
        """The Saver as a message: its variables, their names in checkpoints, how many it keeps.

        Args:
            export_scope: names lose this name scope; variables outside it are left out.
        """
        prefix = f"{export_scope}/" if export_scope else ""
        kept = self._retention
        message = model_pb2.Saver(
            max_to_keep=kept.max_to_keep, keep_every_hours=kept.hours, sharded=self._sharded
        )
        for key, variable in self._built("to_proto").items():
            if variable.op.name.startswith(prefix):
                message.variable.append(variable.op.name.removeprefix(prefix))
                message.key.append(key)
        return SaverDef(message)

    def as_saver_def(self) -> SaverDef | Any:
        """As saver_def."""
        return self.saver_def

    @property
    def saver_def(self) -> SaverDef | Any:
        """The Saver as a message; None before build, if that was deferred.

        It names operators that save and restore, which are added to the graph when this is first
        requested: sess.run(saver_def.restore_op_name, {saver_def.filename_tensor_name: prefix}).
        If the graph was finalized before, the names stay "".
        """
        if self._variables is None:
            return None
        made = self.to_proto()
        if self._variables and self._operators is None:
            graph = next(iter(self._variables.values())).graph
            if not graph.finalized:
                self._operators = saver_operators.add(
                    graph, self._variables, self._scope, self._filename
                )
        if self._operators is not None:
            made.filename_tensor_name, made.save_tensor_name, made.restore_op_name = self._operators
        return made

    def export_meta_graph(
        self,
        filename: str | os.PathLike[str] | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> MetaGraphDef:
        """The default graph with this Saver as a message; see tf.train.export_meta_graph."""
        return meta_graph.export_meta_graph(
            filename=filename,
            saver_def=self.to_proto(),
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
        )
