"""Pipelines of scikit-learn on its bundled data, and what skl2onnx makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from sklearn import (
    calibration,
    compose,
    datasets,
    decomposition,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    naive_bayes,
    neighbors,
    pipeline,
    preprocessing,
    svm,
    tree,
)

Array = np.ndarray[Any, Any]
TARGET = {"": 21, "ai.onnx.ml": 3}
steps = pipeline.make_pipeline
scaled = preprocessing.StandardScaler


@dataclass(frozen=True)
class Fitted:
    """A model and rows that it has not seen.

    Attributes:
        estimator: of scikit-learn or alike.
        model: the same as ONNX, probabilities as a tensor.
        feeds: the rows by input of the model.
        expected: labels or numbers, then probabilities where there are some.
    """

    estimator: Any
    model: onnx.ModelProto
    feeds: dict[str, Array]
    expected: list[Array]


def rows(data: str) -> tuple[Array, Array, Array]:
    """Rows to learn from and their targets, then rows to predict."""
    x, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    x = x.astype(np.float32)
    return x[::2], y[::2], np.ascontiguousarray(x[1::2][:200])


def expected(estimator: Any, x: Any) -> list[Array]:
    """The predictions of scikit-learn."""
    if not hasattr(estimator, "predict"):
        return [estimator.transform(x)]
    found = [estimator.predict(x)]
    return [*found, estimator.predict_proba(x)] if hasattr(estimator, "predict_proba") else found


def fitted(estimator: Any, data: str) -> Fitted:
    """Learns on half of the rows of a bundled data set."""
    from skl2onnx import to_onnx

    x, y, unseen = rows(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(x, y)
        options: Any = None
        if hasattr(estimator, "predict_proba"):
            options = {id(estimator): {"zipmap": False}}
        elif "linearsvc" in getattr(estimator, "named_steps", ()):  # skl2onnx 1.20 fails without
            options = {svm.LinearSVC: {"raw_scores": True}}
        model = to_onnx(estimator, x[:1], target_opset=TARGET, options=options)
        return Fitted(estimator, model, {"X": unseen}, expected(estimator, unseen))


def sure(**options: Any) -> Any:
    """An SVC with probabilities: its own, which scikit-learn 1.11 takes away, or calibrated."""
    if "probability" in svm.SVC().get_params():
        return svm.SVC(probability=True, random_state=0, **options)
    return calibration.CalibratedClassifierCV(svm.SVC(**options), ensemble=False)


Make = Callable[[], Any]
#: by name: a classifier
CLASSIFIERS: dict[str, Make] = {
    "logistic regression": lambda: steps(scaled(), linear_model.LogisticRegression()),
    "SVC of a ball": lambda: steps(scaled(), sure()),
    "SVC of a plane": lambda: steps(scaled(), sure(kernel="linear")),
    "SVC of powers": lambda: steps(scaled(), svm.SVC(kernel="poly", degree=2, coef0=1.0)),
    "SVC of tanh": lambda: steps(scaled(), svm.SVC(kernel="sigmoid")),
    "calibrated SVC": lambda: steps(
        scaled(), calibration.CalibratedClassifierCV(svm.SVC(), ensemble=False)
    ),
    "NuSVC": lambda: steps(scaled(), svm.NuSVC(nu=0.1)),
    "LinearSVC": lambda: steps(scaled(), svm.LinearSVC(random_state=0)),
    "neighbours": lambda: steps(preprocessing.MinMaxScaler(), neighbors.KNeighborsClassifier()),
    "Gaussian Bayes": lambda: steps(scaled(), naive_bayes.GaussianNB()),
    "multinomial Bayes": lambda: steps(preprocessing.MinMaxScaler(), naive_bayes.MultinomialNB()),
    "Bernoulli Bayes": lambda: steps(
        scaled(), preprocessing.Binarizer(), naive_bayes.BernoulliNB()
    ),
    "decision tree": lambda: tree.DecisionTreeClassifier(random_state=0),
    "random forest": lambda: ensemble.RandomForestClassifier(30, random_state=0),
    "gradient boosting": lambda: ensemble.GradientBoostingClassifier(
        n_estimators=10, random_state=0
    ),
    "PCA": lambda: steps(
        scaled(), decomposition.PCA(3, random_state=0), linear_model.LogisticRegression()
    ),
    "rows of one length": lambda: steps(
        preprocessing.MaxAbsScaler(), preprocessing.Normalizer(), linear_model.LogisticRegression()
    ),
    "best columns": lambda: steps(
        feature_selection.SelectKBest(k=3), scaled(), linear_model.LogisticRegression()
    ),
}
REGRESSORS: dict[str, Make] = {
    "least squares": lambda: steps(scaled(), linear_model.LinearRegression()),
    "SVR of a ball": lambda: steps(scaled(), svm.SVR()),
    "SVR of a plane": lambda: steps(scaled(), svm.SVR(kernel="linear")),
    "outliers": lambda: steps(scaled(), svm.OneClassSVM()),
    "neighbours": lambda: steps(scaled(), neighbors.KNeighborsRegressor()),
    "random forest": lambda: ensemble.RandomForestRegressor(20, random_state=0),
    "gradient boosting": lambda: ensemble.GradientBoostingRegressor(
        n_estimators=20, random_state=0
    ),
}


def mixed_columns() -> Fitted:
    """Strings, numbers and gaps: the wines with two columns made words, one of them with gaps."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    x, y = datasets.load_wine(return_X_y=True)
    words = np.where(x[:, :1] > 13, "strong", np.where(x[:, :1] > 12.3, "mild", "lïght"))
    grades = np.digitize(x[:, 1:2], [1.5, 2.5, 4.0]).astype(np.int64)
    numbers = x[:, 2:].astype(np.float32)
    numbers[::7, 3] = np.nan
    table = np.concatenate([words.astype(object), grades.astype(object), numbers.astype(object)], 1)
    encoder = preprocessing.OneHotEncoder
    columns = compose.ColumnTransformer(
        [
            ("words", encoder(handle_unknown="ignore"), [0]),
            ("order", preprocessing.OrdinalEncoder(), [0]),
            ("grades", encoder(handle_unknown="ignore"), [1]),
            ("rest", steps(impute.SimpleImputer(), scaled()), list(range(2, 13))),
        ]
    )
    estimator = steps(columns, linear_model.LogisticRegression(max_iter=200))
    estimator.fit(table[::2], y[::2])
    kinds = [
        ("words", StringTensorType([None, 1])),
        ("grades", Int64TensorType([None, 1])),
        ("numbers", FloatTensorType([None, 11])),
    ]
    options = {id(estimator): {"zipmap": False}}
    model = to_onnx(estimator, initial_types=kinds, target_opset=TARGET, options=options)
    strings = np.empty((len(words[1::2]), 1), object)
    strings[:, 0] = [w.encode() for w in words[1::2, 0].tolist()]
    feeds = {
        "words": strings,
        "grades": np.ascontiguousarray(grades[1::2]),
        "numbers": np.ascontiguousarray(numbers[1::2]),
    }
    return Fitted(estimator, model, feeds, expected(estimator, table[1::2]))
