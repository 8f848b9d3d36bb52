"""Pipelines of scikit-learn, XGBoost and LightGBM through ONNX: their own predictions on rows that
they have not seen, in both engines."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import c_programs
import numpy as np
import onnx
import onnxruntime
import pytest
from engines import BOTH, module
from folders import CINFER

import graphio as tf
from graphio.schema import container

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pytest.importorskip("skl2onnx", reason="skl2onnx, which writes pipelines as ONNX, is not installed")
import sklearn_models as models

PROBABILITY = 1e-5
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@functools.cache
def classifier(name: str, data: str) -> models.Fitted:
    return models.fitted(models.CLASSIFIERS[name](), data)


@functools.cache
def regressor(name: str) -> models.Fitted:
    return models.fitted(models.REGRESSORS[name](), "diabetes")


def predicted(model: onnx.ModelProto, feeds: dict[str, Any], engine: str) -> list[Any]:
    signature = module(engine).load(tf.onnx.convert(model)).signature()
    found: list[Any] = signature.run([feeds[name] for name in signature.inputs])
    return found


def check(found: list[Any], expected: list[Any]) -> None:
    """Labels equal, probabilities near."""
    np.testing.assert_array_equal(found[0], expected[0])
    for scores, expected_values in zip(found[1:], expected[1:], strict=False):
        np.testing.assert_allclose(scores, expected_values, rtol=0, atol=PROBABILITY)


@BOTH
@pytest.mark.parametrize("data", ["iris", "wine", "breast_cancer", "digits"])
@pytest.mark.parametrize("name", models.CLASSIFIERS)
def test_a_classifier_labels_and_weighs_rows_as_scikit_learn_does(
    name: str, data: str, engine: str
) -> None:
    fitted = classifier(name, data)
    check(predicted(fitted.model, fitted.feeds, engine), fitted.expected)


@BOTH
@pytest.mark.parametrize("name", models.REGRESSORS)
def test_a_regressor_gives_scikit_learns_numbers(name: str, engine: str) -> None:
    fitted = regressor(name)
    found = predicted(fitted.model, fitted.feeds, engine)[0].reshape(-1)
    np.testing.assert_allclose(found, fitted.expected[0], rtol=2e-6)


@BOTH
def test_words_numbers_and_gaps_go_through_encoders_and_an_imputer(engine: str) -> None:
    fitted = models.mixed_columns()
    check(predicted(fitted.model, fitted.feeds, engine), fitted.expected)


@BOTH
def test_a_word_that_no_encoder_has_seen_counts_for_nothing(engine: str) -> None:
    fitted = models.mixed_columns()
    feeds = {name: rows[:1] for name, rows in fitted.feeds.items()}
    feeds["words"] = np.array([["sträng".encode()]], object)
    with pytest.raises(ValueError):  # the ordinal encoder refuses it in scikit-learn
        fitted.estimator.predict(np.array([["sträng", 1, *[0.0] * 11]], object))
    labels, scores = predicted(fitted.model, feeds, engine)
    assert labels.shape == (1,) and abs(float(scores.sum()) - 1) < PROBABILITY


@BOTH
@pytest.mark.parametrize("name", ["logistic regression", "SVC of a ball", "neighbours",
                                  "Gaussian Bayes", "random forest"])  # fmt: skip
def test_classes_may_be_words_and_numbers_float64(name: str, engine: str) -> None:
    from skl2onnx import to_onnx

    x, y, unseen = models.rows("wine")
    estimator = models.CLASSIFIERS[name]().fit(x.astype(np.float64), np.array(["réd", "b", "c"])[y])
    options = {id(estimator): {"zipmap": False}}
    wide = unseen.astype(np.float64)
    model = to_onnx(estimator, wide[:1], target_opset=models.TARGET, options=options)
    labels, scores = predicted(model, {"X": wide}, engine)
    assert [label.decode() for label in labels] == estimator.predict(wide).tolist()
    np.testing.assert_allclose(scores, estimator.predict_proba(wide), rtol=0, atol=PROBABILITY)


@pytest.mark.parametrize("name", ["SVC of a ball", "random forest", "neighbours"])
def test_one_file_holds_a_pipeline_for_both_engines_and_any_number_of_rows(
    name: str, tmp_path: Path
) -> None:
    fitted = classifier(name, "iris")
    path = tmp_path / "pipeline.gio"
    tf.onnx.convert(fitted.model, path)
    rows = fitted.feeds["X"]
    for engine in ("runtime", "cinfer"):
        signature = module(engine).load(path).signature()
        whole = signature.run([rows])
        check(whole, fitted.expected)
        for i in (0, 30, 60):
            for alone, found in zip(signature.run([rows[i : i + 1]]), whole, strict=True):
                np.testing.assert_allclose(alone, found[i : i + 1], rtol=0, atol=1e-6)


def test_a_c_program_runs_a_pipeline_from_its_file_alone(tmp_path: Path) -> None:
    program = c_programs.build(CINFER / "examples" / "predict.c")
    fitted = classifier("SVC of a ball", "iris")
    tf.onnx.convert(fitted.model, tmp_path / "pipeline.gio")
    command = [str(program), str(tmp_path / "pipeline.gio")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(t for t in done.stdout.splitlines() if t.startswith("probabilities: float32[1,3]"))
    (expected,) = fitted.estimator.predict_proba(np.zeros((1, 4), np.float32))
    found = [float(word) for word in line.split()[2:]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=PROBABILITY)


@pytest.mark.parametrize("name", ["words", "random forest", "SVC of powers", "neighbours"])
def test_a_pipeline_leaves_again_as_onnx(name: str) -> None:
    fitted = models.mixed_columns() if name == "words" else classifier(name, "iris")
    tf.reset_default_graph()
    imported = tf.onnx.import_model(fitted.model)
    with tf.Session() as session:
        written = tf.onnx.export(None, session, imported.inputs, imported.outputs)
    feeds = {
        key: rows if rows.dtype != object else np.char.decode(rows.astype(np.bytes_), "utf-8")
        for key, rows in fitted.feeds.items()
    }
    other = onnxruntime.InferenceSession(written.SerializeToString())
    check(other.run(None, feeds), fitted.expected)


@BOTH
def test_maps_of_probabilities_are_a_tensor_whose_columns_are_named(engine: str) -> None:
    from skl2onnx import to_onnx

    fitted = classifier("logistic regression", "iris")
    rows = fitted.feeds["X"]
    model = to_onnx(fitted.estimator, rows[:1], target_opset=models.TARGET)
    assert model.graph.node[-1].op_type == "ZipMap"
    tf.reset_default_graph()
    imported = tf.onnx.import_model(model)
    assert imported.columns == {"output_probability": [0, 1, 2]}
    with tf.Session(engine) as session:
        found = session.run(list(imported.outputs.values()), {imported.inputs["X"]: rows})
    check(found, fitted.expected)


def test_the_labels_of_columns_go_into_the_file(tmp_path: Path) -> None:
    from skl2onnx import to_onnx

    fitted = classifier("random forest", "iris")
    model = to_onnx(fitted.estimator, fitted.feeds["X"][:1], target_opset=models.TARGET)
    tf.onnx.convert(model, tmp_path / "forest.gio")
    written, _ = container.read(tmp_path / "forest.gio")
    metadata = {entry.key: entry.value for entry in written.metadata}
    assert metadata["output_probability.columns"] == "[0, 1, 2]"


# ---- XGBoost and LightGBM ----


def boosted(kind: str, data: str) -> models.Fitted:
    onnxmltools = pytest.importorskip("onnxmltools", reason="onnxmltools is not installed")
    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    from onnxmltools.convert.common.data_types import FloatTensorType

    numbers = data == "diabetes"
    quiet = {"verbosity": 0} if kind == "xgboost" else {"verbose": -1}
    prefix = "XGB" if kind == "xgboost" else "LGBM"
    make = getattr(library, f"{prefix}{'Regressor' if numbers else 'Classifier'}")
    estimator = make(n_estimators=15, **quiet)
    x, y, unseen = models.rows(data)
    estimator.fit(x, y)
    convert = getattr(onnxmltools, f"convert_{kind}")
    options = {"zipmap": False} if kind == "lightgbm" and not numbers else {}
    kinds = [("X", FloatTensorType([None, x.shape[1]]))]
    model = convert(estimator, initial_types=kinds, target_opset=15, **options)
    if kind == "lightgbm":
        unseen = unseen[~_at_splits(model, unseen)]
    assert len(unseen) > 60
    return models.Fitted(estimator, model, {"X": unseen}, models.expected(estimator, unseen))


def _at_splits(model: onnx.ModelProto, x: Any) -> Any:
    """Rows of which a number is a split: onnxmltools rounds LightGBM's splits, which are float64,
    to float32, so that these may go the other way."""
    attrs = {a.name: a for a in model.graph.node[0].attribute}
    features, values = attrs["nodes_featureids"].ints, attrs["nodes_values"].floats
    splits = np.asarray(values, np.float32)
    inner = [mode != b"LEAF" for mode in attrs["nodes_modes"].strings]
    return (x[:, list(features)] == splits)[:, inner].any(1)


@BOTH
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("data", ["iris", "wine", "breast_cancer", "digits"])
def test_boosted_trees_of_other_libraries_label_and_weigh_rows_as_they_do(
    data: str, kind: str, engine: str
) -> None:
    fitted = _boosted(kind, data)
    check(predicted(fitted.model, fitted.feeds, engine), fitted.expected)


_boosted = functools.cache(boosted)


@BOTH
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_boosted_regressors_of_other_libraries_give_their_numbers(kind: str, engine: str) -> None:
    fitted = _boosted(kind, "diabetes")
    found = predicted(fitted.model, fitted.feeds, engine)[0].reshape(-1)
    np.testing.assert_allclose(found, fitted.expected[0], rtol=2e-6)
