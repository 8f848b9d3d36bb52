"""Module paths of graphio 0.1 before its packages: they import for one version, with a warning.

`import graphio.graph` gives graphio.framework.graph, the same module object, so that classes stay
the same and pickles that name old paths load. The table goes with the next version.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["MOVED", "install", "names_of"]

#: old module path -> the module's path
MOVED = {
    "graphio.api_boundary": "graphio.framework.api_boundary",
    "graphio.api_guard": "graphio.support.api_guard",
    "graphio.assertions": "graphio.testing.assertions",
    "graphio.bars": "graphio.support.progress_bars",
    "graphio.behavior": "graphio.framework.behavior",
    "graphio.by_type": "graphio.tensorflow_files.by_type",
    "graphio.c_makefile": "graphio.model.c_makefile",
    "graphio.c_source": "graphio.model.c_source",
    "graphio.carrying": "graphio.framework.carrying",
    "graphio.chrome_trace": "graphio.observe.chrome_trace",
    "graphio.collection_def": "graphio.protos.collection_def",
    "graphio.collections": "graphio.framework.collections",
    "graphio.composite": "graphio.framework.composite",
    "graphio.constants": "graphio.framework.constants",
    "graphio.costs": "graphio.model.costs",
    "graphio.custom_gradients": "graphio.autodiff.custom_gradients",
    "graphio.custom_operators": "graphio.ops.state.custom_operators",
    "graphio.debug_values": "graphio.observe.debug_values",
    "graphio.describing": "graphio.model.describing",
    "graphio.devices": "graphio.framework.devices",
    "graphio.drawing": "graphio.observe.drawing",
    "graphio.engines": "graphio.execution.engines",
    "graphio.export": "graphio.model.export",
    "graphio.feeding": "graphio.execution.feeding",
    "graphio.fetching": "graphio.execution.fetching",
    "graphio.folding": "graphio.framework.folding",
    "graphio.gradient_registry": "graphio.framework.gradient_registry",
    "graphio.gradients": "graphio.autodiff.gradients",
    "graphio.graph": "graphio.framework.graph",
    "graphio.graph_def": "graphio.protos.graph_def",
    "graphio.graph_import": "graphio.protos.graph_import",
    "graphio.graph_io": "graphio.protos.graph_io",
    "graphio.handle_reads": "graphio.framework.handle_reads",
    "graphio.importing": "graphio.model.importing",
    "graphio.indexed_slices": "graphio.framework.indexed_slices",
    "graphio.io.remote_files": "graphio.storage.remote_files",
    "graphio.loop_needs": "graphio.model.loop_needs",
    "graphio.meta_graph": "graphio.protos.meta_graph",
    "graphio.model_texts": "graphio.model.model_strings",
    "graphio.modes": "graphio.framework.modes",
    "graphio.node_def": "graphio.protos.node_def",
    "graphio.node_order": "graphio.model.node_order",
    "graphio.node_writer": "graphio.model.node_writer",
    "graphio.notebook": "graphio.observe.notebook",
    "graphio.objects": "graphio.framework.objects",
    "graphio.onnx.class_scores": "graphio.onnx.ml.class_scores",
    "graphio.onnx.composed_images": "graphio.onnx.composed.images",
    "graphio.onnx.composed_random": "graphio.onnx.composed.random",
    "graphio.onnx.composed_windows": "graphio.onnx.composed.windows",
    "graphio.onnx.maps": "graphio.onnx.ml.maps",
    "graphio.onnx.ml_features": "graphio.onnx.ml.features",
    "graphio.onnx.ml_linear": "graphio.onnx.ml.linear",
    "graphio.onnx.ml_lookup": "graphio.onnx.ml.lookup",
    "graphio.onnx.ml_nodes": "graphio.onnx.ml.nodes",
    "graphio.onnx.ml_svm": "graphio.onnx.ml.svm",
    "graphio.onnx.naming": "graphio.framework.operation_names",
    "graphio.onnx.problems": "graphio.support.problems",
    "graphio.onnx.tree_reading": "graphio.onnx.ml.tree_reading",
    "graphio.onnx.tree_writing": "graphio.onnx.ml.tree_writing",
    "graphio.onnx.trees": "graphio.onnx.ml.trees",
    "graphio.operation": "graphio.framework.operation",
    "graphio.ops.activations": "graphio.ops.nn.activations",
    "graphio.ops.any_rank": "graphio.ops.linalg.any_rank",
    "graphio.ops.arithmetic": "graphio.ops.math.arithmetic",
    "graphio.ops.arranging": "graphio.ops.array.arranging",
    "graphio.ops.array_cells": "graphio.ops.control_flow.array_cells",
    "graphio.ops.assert_shapes": "graphio.ops.checks.assert_shapes",
    "graphio.ops.assert_types": "graphio.ops.checks.assert_types",
    "graphio.ops.asserts": "graphio.ops.checks.asserts",
    "graphio.ops.assigning": "graphio.ops.state.assigning",
    "graphio.ops.attention": "graphio.ops.nn.attention",
    "graphio.ops.batches": "graphio.ops.nn.batches",
    "graphio.ops.bitcasting": "graphio.ops.array.bitcasting",
    "graphio.ops.bits": "graphio.ops.math.bits",
    "graphio.ops.boxes": "graphio.ops.image.boxes",
    "graphio.ops.branch_values": "graphio.ops.control_flow.branch_values",
    "graphio.ops.candidates": "graphio.ops.nn.candidates",
    "graphio.ops.check": "graphio.ops.checks.check",
    "graphio.ops.clip": "graphio.ops.math.clip",
    "graphio.ops.colours": "graphio.ops.image.colours",
    "graphio.ops.comparison": "graphio.ops.math.comparison",
    "graphio.ops.console": "graphio.ops.state.console",
    "graphio.ops.control_flow_grad": "graphio.ops.control_flow.gradients",
    "graphio.ops.conv": "graphio.ops.nn.conv",
    "graphio.ops.conv_nd": "graphio.ops.nn.conv_nd",
    "graphio.ops.copying": "graphio.ops.control_flow.copying",
    "graphio.ops.counting": "graphio.ops.math.counting",
    "graphio.ops.cropping": "graphio.ops.image.cropping",
    "graphio.ops.crossentropy": "graphio.ops.nn.crossentropy",
    "graphio.ops.ctc": "graphio.ops.nn.ctc",
    "graphio.ops.deform": "graphio.ops.nn.deform",
    "graphio.ops.diagonals": "graphio.ops.linalg.diagonals",
    "graphio.ops.draws": "graphio.ops.random.draws",
    "graphio.ops.edit_distance": "graphio.ops.strings.edit_distance",
    "graphio.ops.einsum": "graphio.ops.math.einsum",
    "graphio.ops.embedding": "graphio.ops.nn.embedding",
    "graphio.ops.emit": "graphio.ops.base.emit",
    "graphio.ops.example": "graphio.ops.strings.example",
    "graphio.ops.factoring": "graphio.ops.linalg.factoring",
    "graphio.ops.fake_quantize": "graphio.ops.nn.fake_quantize",
    "graphio.ops.files": "graphio.ops.state.files",
    "graphio.ops.filling": "graphio.ops.array.filling",
    "graphio.ops.functional": "graphio.ops.control_flow.functional",
    "graphio.ops.fused": "graphio.ops.base.fused",
    "graphio.ops.gamma_slopes": "graphio.ops.math.gamma_slopes",
    "graphio.ops.growing": "graphio.ops.control_flow.dynamic_shapes",
    "graphio.ops.hashes": "graphio.ops.strings.hashes",
    "graphio.ops.host": "graphio.ops.base.host",
    "graphio.ops.imaging": "graphio.ops.image.imaging",
    "graphio.ops.immediate": "graphio.ops.base.immediate",
    "graphio.ops.index": "graphio.ops.array.index",
    "graphio.ops.index_gradients": "graphio.ops.array.index_gradients",
    "graphio.ops.joining": "graphio.ops.array.joining",
    "graphio.ops.linear": "graphio.ops.linalg.matmul",
    "graphio.ops.loops": "graphio.ops.control_flow.loops",
    "graphio.ops.losses": "graphio.evaluation.losses",
    "graphio.ops.math_gradients": "graphio.ops.math.elementwise_gradients",
    "graphio.ops.matrices": "graphio.ops.linalg.matrices",
    "graphio.ops.matrix_functions": "graphio.ops.linalg.matrix_functions",
    "graphio.ops.metrics": "graphio.evaluation.metrics",
    "graphio.ops.metrics_best": "graphio.evaluation.metrics_best",
    "graphio.ops.metrics_thresholds": "graphio.evaluation.metrics_thresholds",
    "graphio.ops.narrow_integers": "graphio.ops.nn.narrow_integers",
    "graphio.ops.normalize": "graphio.ops.nn.normalize",
    "graphio.ops.order": "graphio.ops.array.order",
    "graphio.ops.padding": "graphio.ops.nn.padding",
    "graphio.ops.patches": "graphio.ops.image.patches",
    "graphio.ops.permuting": "graphio.ops.array.permuting",
    "graphio.ops.pool_nd": "graphio.ops.nn.pool_nd",
    "graphio.ops.pooling": "graphio.ops.nn.pooling",
    "graphio.ops.primitive": "graphio.ops.base.primitive",
    "graphio.ops.products": "graphio.ops.math.reduce_prod_gradients",
    "graphio.ops.py_func": "graphio.ops.state.py_func",
    "graphio.ops.quantize": "graphio.ops.nn.quantize",
    "graphio.ops.ragged_rows": "graphio.ops.control_flow.ragged_rows",
    "graphio.ops.random_more": "graphio.ops.random.more",
    "graphio.ops.recompute": "graphio.ops.base.recompute",
    "graphio.ops.recurrent": "graphio.ops.nn.recurrent",
    "graphio.ops.reduction": "graphio.ops.math.reduction",
    "graphio.ops.regions": "graphio.ops.nn.regions",
    "graphio.ops.repeating": "graphio.ops.array.repeating",
    "graphio.ops.report": "graphio.ops.state.report",
    "graphio.ops.reshaping": "graphio.ops.array.reshaping",
    "graphio.ops.run_axis": "graphio.ops.array.run_axis",
    "graphio.ops.run_blocks": "graphio.ops.array.run_blocks",
    "graphio.ops.run_checks": "graphio.ops.checks.run_checks",
    "graphio.ops.sampling": "graphio.ops.image.sampling",
    "graphio.ops.scattering": "graphio.ops.array.scattering",
    "graphio.ops.sequence": "graphio.ops.control_flow.sequence",
    "graphio.ops.sequence_example": "graphio.ops.strings.sequence_example",
    "graphio.ops.shapes": "graphio.ops.base.shapes",
    "graphio.ops.shaping": "graphio.ops.array.shaping",
    "graphio.ops.signal": "graphio.ops.signals.dft",
    "graphio.ops.signatures": "graphio.ops.base.signatures",
    "graphio.ops.slicing": "graphio.ops.array.slicing",
    "graphio.ops.solving": "graphio.ops.linalg.solving",
    "graphio.ops.sparse_arranging": "graphio.ops.sparse.arranging",
    "graphio.ops.sparse_map": "graphio.ops.sparse.map",
    "graphio.ops.sparse_math": "graphio.ops.sparse.math",
    "graphio.ops.sparse_parts": "graphio.ops.sparse.parts",
    "graphio.ops.special": "graphio.ops.math.special",
    "graphio.ops.stateless": "graphio.ops.random.stateless",
    "graphio.ops.static_values": "graphio.ops.array.static_values",
    "graphio.ops.statistics": "graphio.ops.nn.statistics",
    "graphio.ops.tensor_array": "graphio.ops.control_flow.tensor_array",
    "graphio.ops.tensor_array_grad": "graphio.ops.control_flow.tensor_array_grad",
    "graphio.ops.text": "graphio.ops.strings.core",
    "graphio.ops.text_calls": "graphio.ops.strings.python_strings",
    "graphio.ops.text_csv": "graphio.ops.strings.csv_lines",
    "graphio.ops.text_numbers": "graphio.ops.strings.numbers",
    "graphio.ops.text_patterns": "graphio.ops.strings.patterns",
    "graphio.ops.text_segments": "graphio.ops.strings.segments",
    "graphio.ops.text_transcode": "graphio.ops.strings.transcode",
    "graphio.ops.trees": "graphio.ops.ml.trees",
    "graphio.ops.varying": "graphio.ops.control_flow.varying",
    "graphio.ops.windows": "graphio.ops.nn.windows",
    "graphio.partitioned_variables": "graphio.variables.partitioned_variables",
    "graphio.partitioners": "graphio.variables.partitioners",
    "graphio.placement": "graphio.execution.placement",
    "graphio.plain_nodes": "graphio.model.plain_nodes",
    "graphio.printing": "graphio.observe.printing",
    "graphio.profile": "graphio.observe.profile",
    "graphio.read_once": "graphio.ops.control_flow.read_once",
    "graphio.refusals": "graphio.framework.refusals",
    "graphio.rewrite": "graphio.model.rewrite",
    "graphio.rewrite.attention": "graphio.model.rewrite.attention",
    "graphio.rewrite.batch_norm": "graphio.model.rewrite.batch_norm",
    "graphio.rewrite.chains": "graphio.model.rewrite.chains",
    "graphio.rewrite.common": "graphio.model.rewrite.common",
    "graphio.rewrite.dead_code": "graphio.model.rewrite.dead_code",
    "graphio.rewrite.dimensions": "graphio.model.rewrite.dimensions",
    "graphio.rewrite.folding": "graphio.model.rewrite.folding",
    "graphio.rewrite.gelu": "graphio.model.rewrite.gelu",
    "graphio.rewrite.identities": "graphio.model.rewrite.identities",
    "graphio.rewrite.layer_norm": "graphio.model.rewrite.layer_norm",
    "graphio.rewrite.panels": "graphio.model.rewrite.packed_weights",
    "graphio.rewrite.patterns": "graphio.model.rewrite.patterns",
    "graphio.rewrite.products": "graphio.model.rewrite.fused_matmuls",
    "graphio.rewrite.program": "graphio.model.rewrite.program",
    "graphio.rewrite.transposes": "graphio.model.rewrite.transposes",
    "graphio.rewrite.turned": "graphio.model.rewrite.transposed_operands",
    "graphio.rewrite.work": "graphio.model.rewrite.work",
    "graphio.rnn": "graphio.layers.rnn",
    "graphio.rnn_cell": "graphio.layers.rnn_cell",
    "graphio.run_metadata": "graphio.execution.run_metadata",
    "graphio.run_reads": "graphio.model.run_reads",
    "graphio.save_slice_info": "graphio.framework.save_slice_info",
    "graphio.schema.array_likes": "graphio.engine.array_likes",
    "graphio.schema.calls": "graphio.engine.calls",
    "graphio.schema.collecting": "graphio.support.collecting",
    "graphio.schema.commit_record": "graphio.storage.commit_record",
    "graphio.schema.custom": "graphio.engine.custom",
    "graphio.schema.engine": "graphio.engine.interface",
    "graphio.schema.errors": "graphio.support.errors",
    "graphio.schema.files": "graphio.storage.files",
    "graphio.schema.host": "graphio.engine.host",
    "graphio.schema.html": "graphio.support.html",
    "graphio.schema.images": "graphio.engine.images",
    "graphio.schema.installation": "graphio.support.installation",
    "graphio.schema.meter": "graphio.support.progress",
    "graphio.schema.native": "graphio.storage.native",
    "graphio.schema.panels": "graphio.schema.packed_weights",
    "graphio.schema.remote": "graphio.storage.remote",
    "graphio.schema.reprs": "graphio.engine.reprs",
    "graphio.schema.rooms": "graphio.support.buffers",
    "graphio.schema.run_lock": "graphio.engine.run_lock",
    "graphio.schema.store_paths": "graphio.storage.store_paths",
    "graphio.schema.store_protocols": "graphio.storage.store_protocols",
    "graphio.schema.stores": "graphio.storage.stores",
    "graphio.schema.summary": "graphio.engine.tensor_text",
    "graphio.scopes": "graphio.framework.scopes",
    "graphio.session": "graphio.execution.session",
    "graphio.sharper_shapes": "graphio.model.sharper_shapes",
    "graphio.signature_def": "graphio.protos.signature_def",
    "graphio.slimming": "graphio.model.size_reduction",
    "graphio.source": "graphio.framework.source",
    "graphio.sparse_tensor": "graphio.framework.sparse_tensor",
    "graphio.stepping": "graphio.observe.stepping",
    "graphio.tables": "graphio.variables.table_initializers",
    "graphio.templates": "graphio.variables.templates",
    "graphio.tensor": "graphio.framework.tensor",
    "graphio.tensor_shape": "graphio.framework.tensor_shape",
    "graphio.tensor_spec": "graphio.framework.tensor_spec",
    "graphio.tensorflow_files.loading": "graphio.saved_model.tensorflow_loading",
    "graphio.tensorflow_messages": "graphio.protos.tensorflow_messages",
    "graphio.tracebacks": "graphio.framework.tracebacks",
    "graphio.train.adaptive": "graphio.train.optimizers.adaptive",
    "graphio.train.background": "graphio.train.checkpoints.background",
    "graphio.train.casting": "graphio.model.casting",
    "graphio.train.checkpoint_copy": "graphio.train.checkpoints.checkpoint_copy",
    "graphio.train.checkpoint_hook": "graphio.train.loops.checkpoint_hook",
    "graphio.train.checkpoint_reader": "graphio.train.checkpoints.checkpoint_reader",
    "graphio.train.checkpoint_state": "graphio.train.checkpoints.checkpoint_state",
    "graphio.train.checkpoint_text": "graphio.train.checkpoints.checkpoint_text",
    "graphio.train.comparing": "graphio.train.checkpoints.comparing",
    "graphio.train.coordinator": "graphio.train.loops.coordinator",
    "graphio.train.curves": "graphio.train.loops.curves",
    "graphio.train.exporting": "graphio.train.interop.exporting",
    "graphio.train.folder_indexes": "graphio.train.checkpoints.folder_indexes",
    "graphio.train.hints": "graphio.train.checkpoints.hints",
    "graphio.train.history": "graphio.train.loops.history",
    "graphio.train.hooked_session": "graphio.train.loops.hooked_session",
    "graphio.train.hooks": "graphio.train.loops.hooks",
    "graphio.train.inspecting": "graphio.train.checkpoints.inspecting",
    "graphio.train.keeping": "graphio.train.checkpoints.keeping",
    "graphio.train.latest": "graphio.train.checkpoints.latest",
    "graphio.train.learning_rate_decay": "graphio.train.optimizers.learning_rate_decay",
    "graphio.train.loop_arguments": "graphio.train.loops.loop_arguments",
    "graphio.train.meta_graphs": "graphio.train.checkpoints.meta_graphs",
    "graphio.train.monitored_session": "graphio.train.loops.monitored_session",
    "graphio.train.moving_averages": "graphio.train.optimizers.moving_averages",
    "graphio.train.optimizer": "graphio.train.optimizers.optimizer",
    "graphio.train.pairing": "graphio.train.checkpoints.pairing",
    "graphio.train.progress": "graphio.train.loops.progress",
    "graphio.train.ranking": "graphio.train.checkpoints.ranking",
    "graphio.train.regularized": "graphio.train.optimizers.regularized",
    "graphio.train.renaming": "graphio.train.checkpoints.renaming",
    "graphio.train.restoring": "graphio.train.checkpoints.restoring",
    "graphio.train.retention": "graphio.train.checkpoints.retention",
    "graphio.train.saveables": "graphio.train.checkpoints.saveables",
    "graphio.train.saver": "graphio.train.checkpoints.saver",
    "graphio.train.saver_arguments": "graphio.train.checkpoints.saver_arguments",
    "graphio.train.saver_messages": "graphio.train.checkpoints.saver_messages",
    "graphio.train.saver_operators": "graphio.train.checkpoints.saver_operators",
    "graphio.train.saving": "graphio.train.checkpoints.saving",
    "graphio.train.scaffold": "graphio.train.loops.scaffold",
    "graphio.train.session_manager": "graphio.train.loops.session_manager",
    "graphio.train.session_run_hook": "graphio.train.loops.session_run_hook",
    "graphio.train.slices": "graphio.train.checkpoints.slices",
    "graphio.train.sources": "graphio.train.interop.sources",
    "graphio.train.step_counter": "graphio.train.loops.step_counter",
    "graphio.train.stop_signals": "graphio.train.loops.stop_signals",
    "graphio.train.subclassing": "graphio.train.optimizers.subclassing",
    "graphio.train.training_loop": "graphio.train.loops.training_loop",
    "graphio.train.user_state": "graphio.train.checkpoints.user_state",
    "graphio.train.values": "graphio.train.interop.values",
    "graphio.train.warm_starting": "graphio.train.checkpoints.warm_starting",
    "graphio.undo": "graphio.framework.undo",
    "graphio.variable_def": "graphio.protos.variable_def",
    "graphio.variable_reads": "graphio.framework.variable_reads",
    "graphio.variable_scope": "graphio.variables.variable_scope",
    "graphio.watches": "graphio.observe.watchpoints",
    "graphio.xplane": "graphio.observe.xplane",
}


class _OldPaths:
    """Finds the modules of MOVED, before a folder of an old name that a checkout left behind."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that loads a moved module; None for any other name."""
        new = MOVED.get(fullname)
        if new is None:
            return None
        # a loader by its methods: the base class is in importlib.abc, whose import takes longer
        # than the rest of `import graphio`
        return importlib.machinery.ModuleSpec(fullname, _Moved(new))  # type: ignore[arg-type]


class _Moved:
    """Loads a moved module under its old path: it is the module of the new path itself."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The module of the new path, after a warning at the line that imports the old one."""
        _warn(spec.name, self._path)
        module = importlib.import_module(self._path)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Gives the module, which has run before, its own spec again."""
        module.__spec__ = self._spec


def _warn(old: str, new: str) -> None:
    text = f"the module {old} is {new} now; its old path goes with the next version"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def install() -> None:
    """Makes the old paths importable, once."""
    if not any(isinstance(finder, _OldPaths) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OldPaths())


def names_of(old: str, *new: str) -> Callable[[str], Any]:
    """The __getattr__ of a package whose path was a module's: it finds that module's names in the
    new modules."""

    def find(name: str) -> Any:
        for path in () if name.startswith("__") else new:
            module = importlib.import_module(path)
            if hasattr(module, name):
                _warn(f"{old} (with {name})", path)
                return getattr(module, name)
        raise AttributeError(
            f"module {old!r} has no attribute {name!r}", name=name, obj=sys.modules[old]
        )

    return find
