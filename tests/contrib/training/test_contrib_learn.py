"""tf.contrib.learn. Numbers that nothing explains are those of the Python of TensorFlow 1.15.5."""

import base64
import functools
import gzip
import os
import pickle
import struct

import numpy as np
import pytest
from queue_runs import values_until_the_end

import graphio as tf

learn = tf.contrib.learn
NAN = float("nan")
DOCUMENTS = [
    "a dog sat",
    "a cat sat XYZ",
    "CamelCase don't-know a HTTPServer",
    "\u00dcn\u00efcode 42 a",
]
#: VocabularyProcessor(3) after fit(["b a", "a c"]), saved by TensorFlow
SAVED = (
    "gASV5wEAAAAAAACMOHRlbnNvcmZsb3cuY29udHJpYi5sZWFybi5weXRob24ubGVhcm4ucHJlcHJvY2Vzc2luZy50ZXh0"
    "lIwTVm9jYWJ1bGFyeVByb2Nlc3NvcpSTlCmBlH2UKIwTbWF4X2RvY3VtZW50X2xlbmd0aJRLA4wNbWluX2ZyZXF1ZW5j"
    "eZRLAIwLdm9jYWJ1bGFyeV+UjEp0ZW5zb3JmbG93LmNvbnRyaWIubGVhcm4ucHl0aG9uLmxlYXJuLnByZXByb2Nlc3Np"
    "bmcuY2F0ZWdvcmljYWxfdm9jYWJ1bGFyeZSMFUNhdGVnb3JpY2FsVm9jYWJ1bGFyeZSTlCmBlH2UKIwOX3Vua25vd25f"
    "dG9rZW6UjAU8VU5LPpSMCF9tYXBwaW5nlH2UKGgOSwCMAWKUSwGMAWGUSwKMAWOUSwN1jBBfc3VwcG9ydF9yZXZlcnNl"
    "lIiMEF9yZXZlcnNlX21hcHBpbmeUXZQoaA5oEWgSaBNljAVfZnJlcZSMC2NvbGxlY3Rpb25zlIwLZGVmYXVsdGRpY3SU"
    "k5SMCGJ1aWx0aW5zlIwDaW50lJOUhZRSlChoEUsBaBJLAmgTSwF1jAdfZnJlZXpllIh1YowKX3Rva2VuaXplcpRoAIwJ"
    "dG9rZW5pemVylJOUdWIu"
)


def rows(found):
    return [row.tolist() for row in found]


def test_words_get_numbers_in_their_order():
    words = learn.preprocessing.VocabularyProcessor(5)
    assert rows(words.fit_transform(DOCUMENTS)) == [
        [1, 2, 3, 0, 0], [1, 4, 3, 5, 0], [6, 7, 8, 1, 9], [11, 12, 1, 0, 0],
    ]  # fmt: skip
    assert list(words.reverse([[6, 7, 8], [11, 0]])) == [
        "Camel Case don't-know",
        "\u00dcn\u00efcode <UNK>",
    ]
    assert rows(words.transform(["a new dog"])) == [[1, 0, 2, 0, 0]]


def test_rare_words_are_unknown_ones():
    words = learn.preprocessing.VocabularyProcessor(4, min_frequency=1)
    expected = [[1, 0, 2, 0], [1, 0, 2, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert rows(words.fit_transform(DOCUMENTS)) == expected


def test_words_that_tensorflow_saved_are_restored(tmp_path):
    (tmp_path / "theirs").write_bytes(base64.b64decode(SAVED))
    words = learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "theirs"))
    assert rows(words.transform(["c b d a"])) == [[3, 1, 0]]
    words.save(str(tmp_path / "ours"))
    again = learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "ours"))
    assert rows(again.transform(["c b d a"])) == [[3, 1, 0]]


class _Command:
    def __reduce__(self):
        return os.system, ("exit 1",)


def _own_words(iterator):
    return (text.split("-") for text in iterator)


def test_a_file_of_a_vocabulary_loads_no_code(tmp_path):
    restore = learn.preprocessing.VocabularyProcessor.restore
    (tmp_path / "command").write_bytes(pickle.dumps(_Command()))
    with pytest.raises(tf.errors.DataLossError, match="the file names .*system"):
        restore(str(tmp_path / "command"))
    for content in (b"", b"no pickle", pickle.dumps({"a": 1})):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(tf.errors.DataLossError, match="VocabularyProcessor"):
            restore(str(tmp_path / "other"))
    words = learn.preprocessing.VocabularyProcessor(3, tokenizer_fn=_own_words)
    words.fit(["a-b", "c"])
    words.save(str(tmp_path / "own"))
    with pytest.raises(tf.errors.DataLossError, match="given as tokenizer_fn"):
        restore(str(tmp_path / "own"))
    again = restore(str(tmp_path / "own"), tokenizer_fn=_own_words)
    assert rows(again.transform(["c-a"])) == [[3, 1, 0]]


def test_a_vocabulary_is_trimmed_as_that_of_tensorflow():
    known = learn.preprocessing.CategoricalVocabulary()
    for category, count in [("a", 3), ("b", 2), ("c", 5), ("d", 2), (7, 2), ("e", 1)]:
        known.add(category, count)
    known.trim(1, 5)
    assert [known.reverse(number) for number in range(len(known))] == ["<UNK>", "a", 7, "b", "d"]
    known.trim(2)
    assert [known.reverse(number) for number in range(len(known))] == ["<UNK>", "c", "a"]


def test_a_vocabulary_without_its_words_has_no_reverse():
    with pytest.raises(ValueError, match="support_reverse"):
        learn.preprocessing.CategoricalVocabulary(support_reverse=False).reverse(0)


def test_categories_get_numbers_by_column():
    table = [["0", "Male"], [NAN, "Female"], ["0", "Male"], ["1", "Male"], ["1", "x"]]
    columns = learn.preprocessing.CategoricalProcessor(min_frequency=1)
    assert rows(columns.fit_transform(table)) == [[1, 1], [0, 0], [1, 1], [2, 1], [2, 0]]
    with pytest.raises(ValueError, match="call fit"):
        list(learn.preprocessing.CategoricalProcessor().transform(table))


def test_bytes_are_padded_and_read_back():
    codes = learn.preprocessing.ByteProcessor(4)
    found = list(codes.fit_transform(["abc", b"vwxyz", "\u00e9"]))
    assert rows(found) == [[97, 98, 99, 0], [118, 119, 120, 121], [195, 169, 0, 0]]
    assert list(codes.reverse([*found, np.array([195, 0, 0, 0])])) == ["abc", "vwxy", "\u00e9", ""]


def test_tables_are_read_from_csv_files(tmp_path):
    (tmp_path / "a.csv").write_text("3,2,first,second\n1,2,0\n3,4,1\n5,6,1\n")
    found = learn.datasets.load_iris(str(tmp_path / "a.csv"))
    assert found.data.tolist() == [[1, 2], [3, 4], [5, 6]] and found.target.tolist() == [0, 1, 1]
    assert (found.data.dtype, found.target.dtype) == (np.float64, np.int64)
    (tmp_path / "b.csv").write_text("7,one\n8,two\n9,three\n")
    base = learn.datasets.base
    base.shrink_csv(str(tmp_path / "b.csv"), 2)
    found = base.load_csv_without_header(str(tmp_path / "b_small.csv"), np.int32, str, 0)
    assert found.target.tolist() == [7, 9] and found.data.tolist() == [["one"], ["three"]]


def test_a_table_of_another_size_than_it_says_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n1,2,0\n3,4,1\n")
    with pytest.raises(ValueError, match="has 2 rows"):
        learn.datasets.base.load_csv_with_header(str(tmp_path / "a.csv"), int, float)


def test_data_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="boston_house_prices.csv"):
        learn.datasets.load_boston()
    with pytest.raises(FileNotFoundError, match="http://x/y"):
        learn.datasets.base.maybe_download("y", str(tmp_path), "http://x/y")
    with pytest.raises(ValueError, match="circles, spirals"):
        learn.datasets.make_dataset("squares")


def test_circles_are_those_of_tensorflow():
    found = learn.datasets.synthetic.circles(7, noise=0.1, seed=3, n_classes=3)
    expected = [
        [0.4772414720793119, 0.03978858601245592], [0.8939236389324311, -0.11804086155775995],
        [0.7652669824408787, 0.006629873351362279], [1.207757413711283, -0.06013124761891321],
        [0.47708425714163843, -0.06389355251899889], [-1.0055763414619001, -0.7837252322801336],
        [0.9539957879337316, -0.005792084059435568],
    ]  # fmt: skip
    np.testing.assert_allclose(found.data, expected, rtol=1e-12)
    assert found.target.tolist() == [2, 1, 1, 0, 2, 0, 0] and found.target.dtype == np.int32


@pytest.mark.parametrize(
    ("mode", "second", "fourth"),
    [
        ("archimedes", [-0.02323431617108626, 0.04309135586762633], -0.0800860501884339),
        ("bernoulli", [-0.30784385950711557, 0.1000132645348322], 0.20452349314759544),
    ],
)
def test_spirals_are_those_of_tensorflow(mode, second, fourth):
    found = learn.datasets.make_dataset("spirals", 5, 0.05, 1, mode=mode)
    expected = [
        [-1.1327130989800878, 1.0576132458215106], second,
        [1.0241747923735889, -0.9905781697417653],
        [fourth, -0.07389147854204971], [-0.9901678294579189, 0.9227392925004075],
    ]  # fmt: skip
    np.testing.assert_allclose(found.data, expected, rtol=1e-12, atol=1e-15)
    assert found.target.tolist() == [1, 1, 0, 0, 0]


def test_digits_are_read_from_open_files(tmp_path):
    (tmp_path / "images").write_bytes(
        gzip.compress(struct.pack(">IIII", 2051, 2, 1, 2) + bytes([1, 2, 3, 4]))
    )
    (tmp_path / "labels").write_bytes(gzip.compress(struct.pack(">II", 2049, 2) + bytes([2, 0])))
    with tf.gfile.Open(str(tmp_path / "images"), "rb") as file:
        images = learn.datasets.mnist.extract_images(file)
    assert images.tolist() == [[[[1], [2]]], [[[3], [4]]]]
    with tf.gfile.Open(str(tmp_path / "labels"), "rb") as file:
        labels = learn.datasets.mnist.extract_labels(file, one_hot=True, num_classes=3)
    assert labels.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_a_function_is_repeated_while_its_errors_are_worth_it():
    calls = []

    def fails_twice(error):
        calls.append(error)
        if len(calls) < 3:
            raise error
        return "done"

    retry = learn.datasets.base.retry
    assert retry(1e-9, 1e-8, is_retriable=lambda error: True)(fails_twice)(OSError()) == "done"
    calls.clear()
    with pytest.raises(KeyError):
        retry(1e-9, 1e-8, is_retriable=lambda error: False)(fails_twice)(KeyError())
    with pytest.raises(ValueError, match="factor"):
        retry(1.0, 2.0, factor=0.5)


def described(**given):
    return sorted(given.items())


@pytest.mark.parametrize(
    "metric",
    [
        lambda predictions, labels, weights=None: described(p=predictions, l=labels, w=weights),
        lambda logits, target, weight=None: described(p=logits, l=target, w=weight),
        lambda x, label, weights=None: described(p=x, l=label, w=weights),
        lambda targets, x, weights=None: described(p=x, l=targets, w=weights),
        functools.partial(
            lambda label, x, k, weights=None: described(p=x, l=label, w=weights), k=3
        ),
    ],
)
def test_a_metric_gets_its_tensors_by_their_names(metric):
    spec = learn.MetricSpec(metric, prediction_key="p", label_key="y", weight_key="w")
    found = spec.create_metric_ops({"w": 3}, {"y": 2, "z": 0}, {"p": 1, "q": 0})
    assert found == described(p=1, l=2, w=3)
    alone = learn.MetricSpec(metric).create_metric_ops(None, {"y": 2}, 1)
    assert alone == described(p=1, l=2, w=None)


def test_a_metric_without_an_argument_for_its_tensors_is_refused():
    with pytest.raises(ValueError, match="missing from"):
        learn.MetricSpec(lambda predictions: 0, label_key="y")
    with pytest.raises(ValueError, match="Ambiguous"):
        learn.MetricSpec(lambda label, targets: 0)
    spec = learn.MetricSpec(lambda predictions, labels: 0)
    with pytest.raises(ValueError, match="single element dict"):
        spec.create_metric_ops({}, {"a": 1, "b": 2}, 0)


def test_linear_models_are_those_of_numpy():
    rng = np.random.default_rng(0)
    x, w, b = (rng.normal(size=size).astype("f") for size in ((4, 3), (3, 2), (2,)))
    with tf.Graph().as_default(), tf.Session() as session:
        y = np.eye(2, dtype="f")[[0, 1, 1, 0]]
        found = learn.ops.softmax_classifier(x, tf.constant(y), w, b, class_weight=[1.0, 0.5])
        scores = (x.astype("d") @ w + b) * [1.0, 0.5]
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        given = session.run(found)
        np.testing.assert_allclose(given[0], p, rtol=1e-5)
        np.testing.assert_allclose(given[1], -np.log((p * y).sum(1)).mean(), rtol=1e-5)
        target = tf.constant([1.0, 2.0, 3.0, 4.0])
        found = learn.ops.mean_squared_error_regressor(x, target, w[:, :1], b[:1])
        guess = (x.astype("d") @ w[:, :1] + b[:1])[:, 0]
        given = session.run(found)
        np.testing.assert_allclose(given[0], guess, rtol=1e-5)
        np.testing.assert_allclose(given[1], ((guess - [1, 2, 3, 4]) ** 2).mean(), rtol=1e-5)


def test_rows_of_tables_have_the_shape_of_their_numbers():
    with tf.Graph().as_default(), tf.Session() as session:
        table = np.arange(24, dtype="f").reshape(4, 3, 2)
        numbers = np.array([[0, 3], [2, 2], [1, 0]])
        found = learn.ops.embedding_lookup(table, numbers)
        assert found.shape.as_list() == [3, 2, 3, 2]
        np.testing.assert_array_equal(session.run(found), table[numbers])
        vectors = learn.ops.categorical_variable(numbers, 4, 5, "cat")
        (variable,) = tf.global_variables()
        assert variable.op.name == "cat/cat_embeddings" and vectors.shape == [3, 2, 5]


def test_names_that_are_not_there_say_why():
    with pytest.raises(AttributeError, match="not part of this version"):
        _ = learn.Estimator
    with pytest.raises(AttributeError, match="no attribute"):
        _ = learn.Estimatr
    with pytest.raises(ValueError, match="Invalid mode"):
        learn.ModeKeys.validate("test")


def written(folder):
    """Two files of three records: x is 0 to 5, and words is x times the same word."""
    for file in range(2):
        with tf.python_io.TFRecordWriter(str(folder / f"{file}.rec")) as writer:
            for x in range(3 * file, 3 * file + 3):
                x_feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[x]))
                words = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"w"] * x))
                feature = tf.train.Features(feature={"x": x_feature, "words": words})
                writer.write(tf.train.Example(features=feature).SerializeToString())
    return str(folder / "*.rec")


FEATURES = {"x": tf.FixedLenFeature([], tf.int64), "words": tf.VarLenFeature(tf.string)}


def test_features_of_files_come_in_batches(tmp_path):
    pattern = written(tmp_path)
    with tf.Graph().as_default():
        keys, features = learn.read_keyed_batch_features(
            pattern, 4, FEATURES, tf.TFRecordReader, randomize_input=False, num_epochs=1,
            num_enqueue_threads=1,
        )  # fmt: skip
        one, two = values_until_the_end([keys, features["x"], features["words"]])
    assert one[1].tolist() == [0, 1, 2, 3] and two[1].tolist() == [4, 5]
    assert one[0][0].startswith(str(tmp_path / "0.rec").encode()) and len(two[0]) == 2
    assert one[2].dense_shape.tolist() == [4, 3] and len(two[2].values) == 9


def test_random_records_are_all_of_the_files(tmp_path):
    pattern = written(tmp_path)
    with tf.Graph().as_default():
        found = learn.read_batch_examples(
            [pattern], 2, tf.TFRecordReader, num_epochs=1, queue_capacity=8, seed=1,
            parse_fn=lambda record: {"x": tf.parse_single_example(record, FEATURES)["x"]},
        )  # fmt: skip
        batches = values_until_the_end(found["x"])
    assert sorted(np.concatenate(batches).tolist()) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"batch_size": 10}, "batch_size"),
        ({"queue_capacity": 0}, "queue_capacity"),
        ({"read_batch_size": 0}, "read_batch_size"),
        ({"num_threads": 0}, "num_threads"),
        ({"num_epochs": 0}, "num_epochs"),
        ({"file_pattern": []}, "No files given"),
        ({"file_pattern": "/nowhere/*"}, "No files match"),
    ],
)
def test_batches_of_files_refuse_what_they_cannot_have(given, text, tmp_path):
    options = {"file_pattern": written(tmp_path), "batch_size": 2, "queue_capacity": 10, **given}
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match=text):
            learn.read_batch_examples(reader=tf.TFRecordReader, **options)
        assert not graph.get_operations()


def test_tensors_are_run_with_fresh_and_with_restored_variables(tmp_path):
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", initializer=2.0)
        x = tf.placeholder_with_default(1.0, [])
        outputs = {"y": v * x}
        count = {"n": tf.assign_add(v, 1.0)}
        with tf.Session() as session:
            v.load(7.0, session)
            path = tf.train.Saver().save(session, str(tmp_path / "m"))
    before = len(graph.get_operations())
    assert learn.run_n(count, n=3) == [{"n": 3.0}, {"n": 4.0}, {"n": 5.0}]
    assert learn.run_feeds(outputs, [{x: 3.0}, {x: 4.0}]) == [{"y": 6.0}, {"y": 8.0}]
    assert learn.infer(path, outputs, {x: 2.0}) == {"y": 14.0}
    assert len(graph.get_operations()) > before
    with pytest.raises(ValueError, match="output_dict is invalid"):
        learn.run_n({})


def trained(monitors, last, loss=None):
    """Runs steps, at most to the last one, with monitors; gives the steps that were run."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", initializer=0.0)
        with tf.control_dependencies([tf.assign_add(v, 0.5, name="grow")]):
            train = tf.assign_add(step, 1)
        tf.identity(loss or 1.0, name="loss")
        hooks = [learn.monitors.RunHookAdapterForMonitors(monitors)]
        done = []
        with tf.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop() and len(done) < last:
                done.append(int(session.run(train)))
        return done


def test_monitors_act_in_every_nth_step():
    # by the rule of the source: the first step, each third after it, and the last that was run
    kept = learn.monitors.CaptureVariable("grow", every_n=3)
    stop = learn.monitors.StopAtStep(last_step=8)
    assert trained([kept, stop], 20) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert kept.values == {1: 0.5, 4: 2.0, 7: 3.5}


def test_a_monitor_ends_training_after_a_number_of_steps():
    assert trained([learn.monitors.StopAtStep(num_steps=2)], 20) == [1, 2]
    with pytest.raises(ValueError, match="Only one"):
        learn.monitors.StopAtStep(1, 2)


def test_a_loss_that_is_nan_ends_training():
    with pytest.raises(learn.NanLossDuringTrainingError):
        trained([learn.monitors.NanLoss("loss:0")], 5, NAN)
    assert trained([learn.monitors.NanLoss("loss", fail_on_nan_loss=False)], 5, NAN) == [1]


def test_a_monitor_refuses_calls_out_of_order():
    monitor = learn.monitors.BaseMonitor()
    with pytest.raises(ValueError, match="end called without begin"):
        monitor.end()
    monitor.begin(max_steps=3)
    with pytest.raises(ValueError, match="Invalid step 4"):
        monitor.step_begin(4)
    monitor.step_begin(2)
    with pytest.raises(ValueError, match="expected 2 but got 3"):
        monitor.step_end(3, {})


def test_monitors_log_values_and_write_summaries(tmp_path, caplog):
    caplog.set_level("INFO")
    with tf.Graph().as_default():
        summary = tf.summary.scalar("a", 2.0)
        saver = learn.monitors.SummarySaver(summary, output_dir=str(tmp_path))
        shown = learn.monitors.PrintTensor({"it": "a"})
        for monitor in (saver, shown):
            monitor.begin()
            assert len(monitor.step_begin(1)) == 1
        with tf.Session() as session:
            saver.step_end(1, {summary: session.run(summary)})
        shown.step_end(1, {"a": 5})
        saver.end()
    assert "Step 1: it = 5" in caplog.text
    (path,) = tmp_path.iterdir()
    (event,) = [e for e in tf.train.summary_iterator(str(path)) if e.HasField("summary")]
    assert (event.step, event.summary.value[0].simple_value) == (1, 2.0)
