"""Tree ensembles of ai.onnx.ml: read, run in both engines, and written again; ONNX Runtime and the
standard's reference are the oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from engines import BOTH, NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import graphio as tf
from graphio.support import errors

COLUMNS = 4
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def grown(
    random: np.random.RandomState,
    kind: str,
    trees: int,
    targets: int,
    modes: Any = MODES,
    density: float = 0.7,
) -> dict[str, list[Any]]:
    """Trees in the lists of a classifier or a regressor, some of one leaf, nodes out of order;
    density: how many of its targets a leaf has a weight for."""
    lists: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                     "falsenodeids", "missing_value_tracks_true")
    }  # fmt: skip
    lists |= {f"{kind}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        inner = random.randint(0, 7)
        open_ends, edges = [0], {}
        numbers = [0, *(1 + random.permutation(2 * inner)).tolist()]
        for _ in range(inner):
            node = open_ends.pop(random.randint(len(open_ends)))
            edges[node] = (len(edges) * 2 + 1, len(edges) * 2 + 2)
            open_ends += edges[node]
        for node in [0, *(1 + random.permutation(2 * inner)).tolist()]:
            yes, no = edges.get(node, (0, 0))
            row = (tree, numbers[node], random.randint(COLUMNS), float(random.randint(-2, 3)),
                   random.choice(modes) if node in edges else "LEAF",
                   numbers[yes] if node in edges else 0, numbers[no] if node in edges else 0,
                   int(random.randint(2)))  # fmt: skip
            for column, value in zip(list(lists)[:8], row, strict=True):
                lists[column].append(value)
        for leaf in open_ends:
            for target in np.flatnonzero(random.rand(targets) < density):
                row = (tree, numbers[leaf], int(target), float(np.float32(random.randn())))
                for column, value in zip(list(lists)[8:], row, strict=True):
                    lists[column].append(value)
    return lists


def model_of(op: str, lists: dict[str, Any], outputs: dict[str, int], **attrs: Any) -> Any:
    node = helper.make_node(op, ["x"], list(outputs), domain="ai.onnx.ml", **lists, **attrs)
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, COLUMNS])],
        [helper.make_tensor_value_info(n, kind, None) for n, kind in outputs.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def rows(random: np.random.RandomState, count: int) -> np.ndarray:
    x = random.randint(-3, 4, (count, COLUMNS)).astype(np.float32)
    return np.where(random.rand(*x.shape) < 0.05, np.float32(np.nan), x)


def ours(model: Any, x: np.ndarray, engine: str) -> list[Any]:
    tf.reset_default_graph()
    imported = tf.onnx.import_model(model)
    with tf.Session(target=engine) as session:
        return session.run(list(imported.outputs.values()), {imported.inputs["x"]: x})


def theirs(model: Any, x: np.ndarray) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": x})


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), aggregate=st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"]))
def test_a_regressor_gives_what_onnxruntime_gives_and_leaves_as_it_came(
    seed: int, aggregate: str
) -> None:
    random = np.random.RandomState(seed)
    whole = bool(random.randint(2))
    lists = grown(random, "target", random.randint(1, 20), 3, density=1 if whole else 0.7)
    if not lists["target_ids"]:
        return
    if whole:  # ONNX Runtime leaves base_values out where no leaf has a weight
        lists["base_values"] = [0.5, -1.0, 2.0]
    model = model_of(
        "TreeEnsembleRegressor", lists, {"y": TensorProto.FLOAT}, n_targets=3,
        aggregate_function=aggregate,
    )  # fmt: skip
    x = rows(random, int(random.randint(1, 30)))
    (expected,) = theirs(model, x)
    for engine in NAMES:
        np.testing.assert_allclose(ours(model, x, engine)[0], expected, rtol=1e-5, atol=1e-6)
    tf.reset_default_graph()
    imported = tf.onnx.import_model(model)
    with tf.Session() as session:
        written = tf.onnx.export(None, session, imported.inputs, imported.outputs)
    onnx.checker.check_model(written)
    np.testing.assert_allclose(theirs(written, x)[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@BOTH
def test_a_classifier_of_many_classes_labels_and_weighs_as_onnxruntime(
    how: str, engine: str
) -> None:
    random = np.random.RandomState(7)
    lists = grown(random, "class", 12, 4, density=1)
    model = model_of(
        "TreeEnsembleClassifier", lists, {"l": TensorProto.INT64, "p": TensorProto.FLOAT},
        classlabels_int64s=[7, 3, 5, 9], post_transform=how, base_values=[0.1, 0.2, -0.3, 0.0],
    )  # fmt: skip
    x = rows(random, 60)
    labels, scores = ours(model, x, engine)
    expected_labels, expected = theirs(model, x)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_allclose(scores, expected, rtol=2e-5, atol=1e-6)


def test_a_classifier_leaves_as_a_regressor_and_what_follows_it() -> None:
    random = np.random.RandomState(8)
    lists = grown(random, "class", 9, 3, density=1)
    outputs = {"l": TensorProto.INT64, "p": TensorProto.FLOAT}
    model = model_of("TreeEnsembleClassifier", lists, outputs, classlabels_int64s=[7, 3, 5])
    x = rows(random, 40)
    tf.reset_default_graph()
    imported = tf.onnx.import_model(model)
    with tf.Session() as session:
        written = tf.onnx.export(None, session, imported.inputs, imported.outputs)
    onnx.checker.check_model(written)
    for found, expected in zip(theirs(written, x), theirs(model, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@BOTH
def test_equal_votes_of_a_forest_are_equal_however_many_trees_there_are(engine: str) -> None:
    """A tenth is not a binary fraction: ten of twenty trees against the ten others."""
    for trees in (20, 22, 46, 60, 98):
        lists: dict[str, list[Any]] = {
            "nodes_treeids": list(range(trees)), "nodes_nodeids": [0] * trees,
            "nodes_featureids": [0] * trees, "nodes_values": [0.0] * trees,
            "nodes_modes": ["LEAF"] * trees, "nodes_truenodeids": [0] * trees,
            "nodes_falsenodeids": [0] * trees, "class_treeids": list(range(trees)),
            "class_nodeids": [0] * trees, "class_ids": [0] * trees,
            "class_weights": [(t % 2) / trees for t in range(trees)],
        }  # fmt: skip
        outputs = {"l": TensorProto.INT64, "p": TensorProto.FLOAT}
        model = model_of("TreeEnsembleClassifier", lists, outputs, classlabels_int64s=[4, 5])
        labels, scores = ours(model, np.zeros((1, COLUMNS), np.float32), engine)
        assert labels.tolist() == [4] and scores.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("how", ["NONE", "LOGISTIC", "SOFTMAX", "PROBIT"])
@BOTH
def test_one_score_for_two_classes_becomes_two_as_in_the_reference(how: str, engine: str) -> None:
    random = np.random.RandomState(3)
    lists = grown(random, "class", 9, 1, density=1)
    lists["class_weights"] = [abs(w) / 20 for w in lists["class_weights"]]
    model = model_of(
        "TreeEnsembleClassifier", lists, {"l": TensorProto.STRING, "p": TensorProto.FLOAT},
        classlabels_strings=["no", "yes"], post_transform=how,
    )  # fmt: skip
    x = np.nan_to_num(rows(random, 40))
    labels, scores = ours(model, x, engine)
    expected_labels, expected = ReferenceEvaluator(model).run(None, {"x": x})
    found = [v.decode() if isinstance(v, bytes) else v for v in labels]
    assert found == list(expected_labels)
    np.testing.assert_allclose(scores, expected, rtol=2e-4, atol=1e-5)


@BOTH
def test_tests_for_members_of_sets_are_tests_for_each_member(engine: str) -> None:
    """x0 in {1, 2, 3} gives 10, else x1 in {} or NaN gives 20, else 30."""
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, aggregate_function=1,
        tree_roots=[0], nodes_featureids=[0, 1], nodes_truenodeids=[0, 1], nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 2], nodes_falseleafs=[0, 1], leaf_targetids=[0, 0, 0],
        nodes_missing_value_tracks_true=[0, 1],
        nodes_modes=helper.make_tensor("m", TensorProto.UINT8, [2], [6, 6]),
        nodes_splits=helper.make_tensor("s", TensorProto.FLOAT, [2], [0.0, 0.0]),
        leaf_weights=helper.make_tensor("w", TensorProto.FLOAT, [3], [10.0, 20.0, 30.0]),
        membership_values=helper.make_tensor(
            "v", TensorProto.FLOAT, [5], [1.0, 2.0, 3.0, np.nan, np.nan]
        ),
    )  # fmt: skip
    graph = helper.make_graph(
        [node], "sets",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    x = np.array([[1, 0], [3, 0], [2, np.nan], [0, np.nan], [4, 1], [np.nan, 1]], np.float32)
    (found,) = ours(model, x, engine)
    assert found.ravel().tolist() == [10, 10, 10, 20, 30, 30]


def changed(**changes: Any) -> Any:
    """A stump with one thing wrong."""
    lists = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
        "target_weights": [1.0, 2.0], "n_targets": 1,
    }  # fmt: skip
    return model_of("TreeEnsembleRegressor", lists | changes, {"y": TensorProto.FLOAT})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes_truenodeids": [3, 0, 0]}, "tree 0: node 0 leads to node 3, which is not there"),
        ({"nodes_nodeids": [0, 1, 1]}, "tree 0 has two nodes 1"),
        (
            {"nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], "nodes_truenodeids": [1, 0, 0],
             "nodes_falsenodeids": [2, 2, 0]},
            "around in a circle",
        ),
        ({"nodes_modes": ["BRANCH_MAYBE", "LEAF", "LEAF"]}, "'BRANCH_MAYBE', expected BRANCH_LEQ"),
        ({"nodes_values": [0.0, 0.0]}, "nodes_values has 2 entries, expected 3"),
        ({"nodes_featureids": [0]}, "nodes_featureids has 1 entries for 3 nodes"),
        ({"target_nodeids": [1, 5]}, "tree 0 has no node 5"),
        ({"target_weights": [1.0]}, "target_weights has 1 entries, expected 2"),
        ({"base_values": [1.0, 2.0]}, "base_values has 2 entries, expected 1"),
        ({"nodes_featureids": [-1, 0, 0]}, "compares column -1"),
        ({"nodes_featureids": [1 << 32, 0, 0]}, "compares column 4294967296"),
        ({"target_ids": [0, 1]}, "weight 1 is for target 1, expected 0 to 0"),
        ({"target_treeids": [0]}, "target_treeids has 1 entries for 2 target_ids"),
        ({"nodes_treeids": [0, 0]}, "nodes_treeids has 2 entries for 3 nodes"),
        ({"n_targets": 0}, "n_targets is 0"),
        ({"nodes_modes": [b"LEAF\xff", "LEAF", "LEAF"]}, "is not UTF-8"),
    ],
)  # fmt: skip
def test_trees_that_contradict_themselves_are_refused_at_import(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        tf.onnx.import_model(changed(**changes))
    assert words in str(caught.value)


def stump(**changes: Any) -> Any:
    """A TreeEnsemble of one comparison with one thing wrong."""
    lists = {
        "tree_roots": [0], "nodes_featureids": [0], "nodes_truenodeids": [0],
        "nodes_trueleafs": [1], "nodes_falsenodeids": [1], "nodes_falseleafs": [1],
        "leaf_targetids": [0, 0], "n_targets": 1,
        "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [1], [0]),
        "nodes_splits": helper.make_tensor("s", TensorProto.FLOAT, [1], [0.0]),
        "leaf_weights": helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]),
    }  # fmt: skip
    given = {name: value for name, value in (lists | changes).items() if value is not None}
    model = model_of("TreeEnsemble", given, {"y": TensorProto.FLOAT})
    model.opset_import[1].version = 5
    return model


@BOTH
def test_a_stump_in_tensors_has_two_leaves(engine: str) -> None:
    x = np.array([[-1] * COLUMNS, [1] * COLUMNS], np.float32)
    assert ours(stump(), x, engine)[0].tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes_falseleafs": [0], "nodes_falsenodeids": [0]}, "around in a circle"),
        ({"nodes_falsenodeids": [2]}, "node 0 leads to -3, which is not there"),
        ({"nodes_falseleafs": [0]}, "node 0 leads to 1, which is not there"),
        ({"nodes_truenodeids": [-2]}, "nodes_truenodeids has -2 at 0, expected 0 or more"),
        ({"tree_roots": [1]}, "tree_roots has 1, expected 0 to 0"),
        ({"leaf_targetids": [0]}, "1 leaf_targetids and 2 leaf_weights"),
        ({"leaf_targetids": [0, 1]}, "weight 1 is for target 1, expected 0 to 0"),
        ({"nodes_featureids": [0, 1]}, "nodes_featureids has 2 entries for 1 nodes"),
        ({"nodes_trueleafs": [1, 1]}, "nodes_trueleafs has 2 entries for 1 nodes"),
        ({"nodes_trueleafs": None}, "attribute 'nodes_trueleafs' is missing"),
        ({"aggregate_function": 7}, "aggregate_function is 7"),
        (
            {"nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [1], [7])},
            "nodes_modes has 7, expected 0 to 6",
        ),
        (
            {"nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [1], [6])},
            "membership_values has 0 sets for 1 tests",
        ),
    ],
)
def test_tensors_of_trees_that_contradict_themselves_are_refused(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        tf.onnx.import_model(stump(**changes))
    assert words in str(caught.value)


def test_a_column_that_is_not_there_is_seen_at_import_where_the_columns_are_known() -> None:
    model = changed(nodes_featureids=[COLUMNS, 0, 0])
    with pytest.raises(errors.InvalidArgumentError, match="compares column 4, but X has 4"):
        tf.onnx.import_model(model)
    model.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    tf.reset_default_graph()
    imported = tf.onnx.import_model(model)
    for engine in NAMES:
        with (
            tf.Session(target=engine) as session,
            pytest.raises(errors.InvalidArgumentError, match="compares column 4, but x has 4"),
        ):
            x = np.zeros((2, COLUMNS), np.float32)
            session.run(imported.outputs["y"], {imported.inputs["x"]: x})


@pytest.mark.parametrize("rows_at_once", [1, 7, 8, 9, 127, 128, 300])
def test_a_row_gives_the_same_bits_alone_and_in_a_batch(rows_at_once: int) -> None:
    random = np.random.RandomState(5)
    lists = grown(random, "target", 40, 3, ("BRANCH_LEQ",))
    model = model_of("TreeEnsembleRegressor", lists, {"y": TensorProto.FLOAT}, n_targets=3)
    x = random.randn(rows_at_once, COLUMNS).astype(np.float32)
    (whole,) = ours(model, x, "cinfer")
    alone = np.concatenate([ours(model, row[None], "cinfer")[0] for row in x[:9]])
    assert whole[:9].tobytes() == alone.tobytes()
    assert whole.tobytes() == ours(model, x, "")[0].tobytes()
