"""Training programs with everything that has a state: what an exact resume has to go on with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphio as tf

#: the fetches of a step; their values count as well as the state
Fetches = list[Any]
Build = Callable[[], Fetches]
D = tf.data.Dataset
ROWS = 23


def table() -> tuple[Any, Any]:
    """Rows that are the same in every process."""
    rng = np.random.RandomState(0)
    x = rng.randn(ROWS, 4).astype(np.float32)
    return x, x @ np.float32([[1], [-2], [0.5], [3]])


def rows(data: Any) -> Any:
    """The next batch of a dataset."""
    return data.make_one_shot_iterator().get_next()


def shuffled() -> Any:
    """Batches in an order that changes with each epoch, with noise, read ahead."""
    data = D.from_tensor_slices(table()).shuffle(11).repeat().batch(5)
    data = data.map(lambda x, y: (x + tf.random_normal(tf.shape(x), stddev=0.1), y))
    return data.prefetch(2)


def net(x: Any) -> Any:
    """Two layers with batch normalization and dropout between them."""
    hidden = tf.layers.dense(x, 6, tf.nn.relu)
    hidden = tf.layers.batch_normalization(hidden, training=True)
    return tf.layers.dense(tf.layers.dropout(hidden, 0.3, training=True), 1)


def trained(
    loss: Any, optimizer: Callable[[Any, Any], Any] | None = None, rate: Any = None
) -> Fetches:
    """A step of an optimizer, with what batch normalization updates."""
    step = tf.train.get_or_create_global_step()
    if rate is None:
        rate = tf.train.exponential_decay(0.05, step, 2, 0.9)
    made = tf.train.MomentumOptimizer(rate, 0.9) if optimizer is None else optimizer(rate, step)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return [loss, made.minimize(loss, global_step=step)]


def error(data: Any = None) -> Any:
    """The loss of the network on a dataset."""
    x, y = rows(shuffled() if data is None else data)
    return tf.reduce_mean(tf.square(net(x) - y))


#: rate and global step to the optimizer: each class of tf.train, in each of its forms
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "GradientDescent": lambda rate, step: tf.train.GradientDescentOptimizer(rate),
    "Momentum": lambda rate, step: tf.train.MomentumOptimizer(rate, 0.9),
    "Momentum, Nesterov": lambda rate, step: tf.train.MomentumOptimizer(
        rate, 0.9, use_nesterov=True
    ),
    "Adam": lambda rate, step: tf.train.AdamOptimizer(rate),
    "Adam of callables": lambda rate, step: tf.train.AdamOptimizer(
        lambda: rate, beta1=lambda: 0.8, beta2=lambda: 0.99
    ),
    "Adagrad": lambda rate, step: tf.train.AdagradOptimizer(rate),
    "Adadelta": lambda rate, step: tf.train.AdadeltaOptimizer(rate, rho=0.8),
    "RMSProp": lambda rate, step: tf.train.RMSPropOptimizer(rate, momentum=0.5),
    "RMSProp, centered": lambda rate, step: tf.train.RMSPropOptimizer(
        rate, momentum=0.5, centered=True
    ),
    "Ftrl": lambda rate, step: tf.train.FtrlOptimizer(
        rate, l1_regularization_strength=0.01, l2_regularization_strength=0.01
    ),
    "Ftrl, shrinkage": lambda rate, step: tf.train.FtrlOptimizer(
        rate, l2_shrinkage_regularization_strength=0.1
    ),
    "AdagradDA": lambda rate, step: tf.train.AdagradDAOptimizer(
        rate, step, l1_regularization_strength=0.01
    ),
    "ProximalAdagrad": lambda rate, step: tf.train.ProximalAdagradOptimizer(
        rate, l1_regularization_strength=0.01
    ),
    "ProximalGradientDescent": lambda rate, step: tf.train.ProximalGradientDescentOptimizer(
        rate, l2_regularization_strength=0.01
    ),
}


def sparse(optimizer: Callable[[Any, Any], Any]) -> Build:
    """Rows of a table that random numbers choose: gradients of rows alone."""

    def build() -> Fetches:
        words = tf.get_variable("words", [9, 3])
        picked = tf.random_uniform([4], 0, 9, tf.int32)
        found = tf.nn.embedding_lookup(words, picked)
        return trained(tf.reduce_mean(tf.square(found - 1.0)), optimizer)

    return build


# ---- random numbers ----


def drawn(*makers: Callable[[], Any]) -> Build:
    """Random numbers that are summed up in a variable."""

    def build() -> Fetches:
        sums = []
        for i, make in enumerate(makers):
            value = tf.cast(make(), tf.float32)
            total = tf.get_variable(f"sum_{i}", [], initializer=tf.zeros_initializer())
            sums.append(total.assign_add(tf.reduce_sum(value)))
        return [*sums, tf.train.get_or_create_global_step().assign_add(1)]

    return build


def gated() -> Fetches:
    """Numbers that only every second step draws."""
    step = tf.train.get_or_create_global_step()
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
    more = tf.cond(tf.equal(step % 2, 0), lambda: tf.random_normal([]), lambda: tf.constant(0.0))
    added = total.assign_add(more)
    with tf.control_dependencies([added]):
        return [added, step.assign_add(1)]


def looped() -> Fetches:
    """As many draws as the step's number, in a loop."""
    step = tf.train.get_or_create_global_step()
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
    _, found = tf.while_loop(
        lambda i, s: i < tf.cast(step, tf.int32) + 1,
        lambda i, s: [i + 1, s + tf.random_uniform([])],
        [tf.constant(0), tf.constant(0.0)],
    )
    added = total.assign_add(found)
    with tf.control_dependencies([added]):
        return [added, step.assign_add(1)]


def recurrent() -> Fetches:
    """An LSTM with dropout in its cells, over sequences of different lengths."""
    x = tf.random_normal([3, 5, 2])
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(4), 0.8, 0.8, 0.9)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=[5, 2, 3], dtype=tf.float32)
    return trained(tf.reduce_mean(tf.square(outputs - 0.5)))


def sampled() -> Fetches:
    """Losses of classes that candidate samplers draw."""
    weights = tf.get_variable("weights", [20, 3])
    biases = tf.get_variable("biases", [20], initializer=tf.zeros_initializer())
    labels = tf.random_uniform([4, 1], 0, 20, tf.int64)
    inputs = tf.random_normal([4, 3])
    softmax = tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, 5, 20)
    nce = tf.nn.nce_loss(weights, biases, labels, inputs, 5, 20)
    return trained(tf.reduce_mean(softmax + nce))


def pictured() -> Fetches:
    """Pictures that are flipped, cropped and lit at random."""
    picture = tf.reshape(tf.cast(tf.range(75), tf.float32) / 75.0, [5, 5, 3])
    picture = tf.image.random_flip_left_right(tf.random_crop(picture, [4, 4, 3]))
    picture = tf.image.random_brightness(tf.image.random_contrast(picture, 0.5, 1.5), 0.2)
    hidden = tf.layers.conv2d(picture[None], 2, 3)
    return trained(tf.reduce_mean(tf.square(hidden - 1.0)))


def partitioned() -> Fetches:
    """A variable in parts, in double precision."""
    x = tf.random_normal([3, 6], dtype=tf.float64)
    w = tf.get_variable("w", [6, 2], tf.float64, partitioner=tf.fixed_size_partitioner(3))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, tf.convert_to_tensor(w)) - 1.0))
    return trained(loss, lambda rate, step: tf.train.AdamOptimizer(0.05))


def counted_draws() -> Fetches:
    """Numbers that depend on the step alone."""
    step = tf.train.get_or_create_global_step()
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
    drawn = tf.random.stateless_normal([3], tf.stack([step, tf.constant(7, tf.int64)]))
    added = total.assign_add(tf.reduce_sum(drawn))
    with tf.control_dependencies([added]):
        return [added, step.assign_add(1)]


# ---- data ----


def summed(make: Callable[[], Any], initializable: bool = False) -> Build:
    """A pipeline of numbers; a variable depends on their order."""

    def build() -> Fetches:
        data = make().repeat()
        if initializable:
            iterator = data.make_initializable_iterator()
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            element = iterator.get_next()
        else:
            element = rows(data)
        return accumulating(element)

    return build


def two_iterators() -> Fetches:
    """One iterator in mid-epoch, and one that is only used at every third step."""
    step = tf.train.get_or_create_global_step()
    often, seldom = rows(D.range(7).shuffle(4).repeat()), rows(D.range(9).shuffle(9).repeat())
    total = tf.get_variable("total", [], tf.int64, initializer=tf.zeros_initializer())
    more = tf.cond(tf.equal(step % 3, 0), lambda: seldom * 100, lambda: tf.zeros([], tf.int64))
    added = total.assign_add(often + more)
    with tf.control_dependencies([added]):
        return [added, step.assign_add(1)]


def chosen_dataset() -> Fetches:
    """A re-initializable iterator that runs through the second of its datasets."""
    one, two = D.range(5), D.range(10, 19).shuffle(4).repeat()
    iterator = tf.data.Iterator.from_structure(two.output_types, two.output_shapes)
    iterator.make_initializer(one)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.make_initializer(two))
    return accumulating(iterator.get_next())


def by_handle() -> Fetches:
    """Two iterators of which a string names the one that gives the element."""
    step = tf.train.get_or_create_global_step()
    data = [D.range(7).shuffle(4).repeat(), D.range(100, 109).shuffle(5).repeat()]
    handles = tf.stack([d.make_one_shot_iterator().string_handle() for d in data])
    chosen = tf.data.Iterator.from_string_handle(
        handles[tf.cast(step % 2, tf.int32)], data[0].output_types, data[0].output_shapes
    )
    return accumulating(chosen.get_next())


def accumulating(element: Any) -> Fetches:
    """A variable that depends on all numbers of an iterator and their order."""
    total = tf.get_variable("total", [], tf.float64, initializer=tf.zeros_initializer())
    flat = [tf.reduce_sum(tf.cast(v, tf.float64)) for v in tf.nest.flatten(element)]
    value = total.assign(total * 0.5 + tf.add_n(flat))
    with tf.control_dependencies([value]):
        return [value, tf.train.get_or_create_global_step().assign_add(1)]


PIPELINES: dict[str, Callable[[], Any]] = {
    "shuffle, repeat, batch, prefetch": lambda: (
        D.range(9).shuffle(4).repeat(3).batch(2).prefetch(2)
    ),
    "a shuffle larger than the data": lambda: D.range(5).shuffle(99).batch(2),
    "a shuffle that is the same each epoch": lambda: D.range(7).shuffle(7, 3, False),
    "a shuffle of two": lambda: D.range(9).shuffle(3).shuffle(5),
    "interleave": lambda: D.range(5).interleave(
        lambda x: D.range(x, x + 4).map(
            lambda y: tf.cast(y, tf.float32) + tf.random_normal([], seed=1)
        ),
        3,
        2,
    ),
    "parallel interleave": lambda: D.range(5).interleave(
        lambda x: D.range(x, x + 4), 3, 2, num_parallel_calls=2
    ),
    "flat_map of shuffles": lambda: D.range(5).flat_map(lambda x: D.range(x).shuffle(5).repeat(2)),
    "parallel map": lambda: D.range(9).map(lambda x: x * 2, num_parallel_calls=3).shuffle(4),
    "filter": lambda: D.range(9).filter(lambda x: tf.equal(x % 2, 0)).shuffle(2),
    "cache after random numbers": lambda: (
        D.range(6).map(lambda x: tf.cast(x, tf.float32) + tf.random_uniform([])).cache().shuffle(3)
    ),
    "generator": lambda: D.from_generator(lambda: iter(range(8)), tf.int64).shuffle(4).batch(3),
    "windows": lambda: D.range(9).window(3, 2).flat_map(lambda w: w.batch(3)).shuffle(2),
    "padded batches": lambda: (
        D.range(7).shuffle(4).map(lambda x: tf.fill([x], x)).padded_batch(2, [None])
    ),
    "scan": lambda: D.range(6).apply(
        tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s))
    ),
    "sampled": lambda: tf.data.experimental.sample_from_datasets(
        [D.range(5), D.range(10, 15).shuffle(2)]
    ),
    "groups": lambda: D.range(9).apply(
        tf.data.experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3).shuffle(2), 3)
    ),
    "zip and concatenate": lambda: (
        D.zip((D.range(9).shuffle(3), D.range(9)))
        .map(lambda a, b: a * 10 + b)
        .concatenate(D.range(3))
    ),
    "take, skip, shard": lambda: D.range(40).shuffle(9).skip(1).shard(2, 1).take(7),
}


# ---- other state ----


def averaged() -> Fetches:
    """Moving averages of the variables, whose decay depends on the step."""
    step = tf.train.get_or_create_global_step()
    fetches = trained(error())
    average = tf.train.ExponentialMovingAverage(0.9, num_updates=step, zero_debias=True)
    with tf.control_dependencies(fetches[1:]):
        return [fetches[0], average.apply(tf.trainable_variables())]


def scaled() -> Fetches:
    """A loss scale that halves when the gradient overflows and grows after three good steps."""
    step = tf.train.get_or_create_global_step()
    scale = tf.get_variable(
        "loss_scale", [], initializer=tf.constant_initializer(4096.0), trainable=False
    )
    good = tf.get_variable(
        "good_steps", [], tf.int32, initializer=tf.zeros_initializer(), trainable=False
    )
    loss = error()
    optimizer = tf.train.AdamOptimizer(0.01)
    pairs = [(g / scale, v) for g, v in optimizer.compute_gradients(loss * scale)]
    finite = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in pairs])
    finite = tf.logical_and(finite, tf.not_equal(step % 4, 3))  # now and then one is bad
    train = optimizer.apply_gradients(
        [(tf.where(finite, g, tf.zeros_like(g)), v) for g, v in pairs], step
    )
    with tf.control_dependencies([train]):
        count = good.assign(tf.where(finite, (good + 1) % 3, 0))
        grown = tf.where(tf.equal(count, 0), scale * 2.0, scale)
        return [loss, scale.assign(tf.where(finite, grown, scale / 2.0))]


def accumulated() -> Fetches:
    """Gradients of two batches for each step of the optimizer."""
    step = tf.train.get_or_create_global_step()
    loss = error()
    optimizer = tf.train.RMSPropOptimizer(0.01)
    pairs = optimizer.compute_gradients(loss)
    second = tf.equal(step % 2, 1)
    kept, summed_up = [], []
    for i, (gradient, variable) in enumerate(pairs):
        total = tf.get_variable(
            f"sum_{i}", variable.shape, initializer=tf.zeros_initializer(), trainable=False
        )
        both = total + gradient
        summed_up.append((tf.where(second, both, tf.zeros_like(both)), variable))
        with tf.control_dependencies([both]):
            kept.append(total.assign(tf.where(second, tf.zeros_like(both), both)))
    return [loss, *kept, optimizer.apply_gradients(summed_up, step)]


def decayed(make: Callable[[Any], Any]) -> Build:
    """Adam at a rate that depends on the step."""

    def build() -> Fetches:
        rate = make(tf.train.get_or_create_global_step())
        return [rate, *trained(error(), lambda r, s: tf.train.AdamOptimizer(r), rate)]

    return build


t = tf.train
DECAYS: dict[str, Callable[[Any], Any]] = {
    "exponential": lambda step: t.exponential_decay(0.1, step, 3, 0.5, staircase=True),
    "natural": lambda step: t.natural_exp_decay(0.1, step, 3, 0.5),
    "inverse time": lambda step: t.inverse_time_decay(0.1, step, 3, 0.5),
    "piecewise": lambda step: t.piecewise_constant(step, [2, 5], [0.1, 0.05, 0.01]),
    "polynomial": lambda step: t.polynomial_decay(0.1, step, 5, 0.01, 2.0, cycle=True),
    "cosine": lambda step: t.cosine_decay(0.1, step, 7),
    "cosine restarts": lambda step: t.cosine_decay_restarts(0.1, step, 3),
    "linear cosine": lambda step: t.linear_cosine_decay(0.1, step, 7),
}

RANDOM: dict[str, Build] = {
    "random numbers of all kinds": drawn(
        lambda: tf.random_uniform([3]),
        lambda: tf.random_uniform([3], 0, 100, tf.int32),
        lambda: tf.random_normal([2, 3]),
        lambda: tf.truncated_normal([5]),
        lambda: tf.random_shuffle(tf.range(9))[0],
        lambda: tf.multinomial(tf.zeros([1, 5]), 4),
        lambda: tf.random_gamma([3], 2.0),
        lambda: tf.random_poisson(3.0, [4]),
        lambda: tf.random_crop(tf.reshape(tf.range(64), [8, 8]), [2, 2]),
        lambda: tf.nn.dropout(tf.ones([20]), rate=0.4),
    ),
    "numbers with seeds": drawn(
        lambda: tf.random_uniform([3], seed=1), lambda: tf.random_normal([3], seed=1)
    ),
    "draws in a condition": gated,
    "draws in a loop": looped,
    "a recurrent network": recurrent,
    "candidate samplers": sampled,
    "pictures": pictured,
    "a variable in parts": partitioned,
    "stateless draws": counted_draws,
}
OTHERS: dict[str, Build] = {
    "moving averages": averaged,
    "loss scaling": scaled,
    "accumulated gradients": accumulated,
    "two iterators": two_iterators,
    "a re-initializable iterator": chosen_dataset,
    "iterators by handle": by_handle,
}

PROGRAMS: dict[str, Build] = {
    **{f"optimizer: {n}": (lambda o=o: trained(error(), o)) for n, o in OPTIMIZERS.items()},
    **{f"rows: {n}": sparse(o) for n, o in OPTIMIZERS.items()},
    **{f"rate: {name}": decayed(make) for name, make in DECAYS.items()},
    **{f"data: {name}": summed(make) for name, make in PIPELINES.items()},
    **{
        f"data with an initializer: {name}": summed(PIPELINES[name], initializable=True)
        for name in ("shuffle, repeat, batch, prefetch", "cache after random numbers")
    },
    **RANDOM,
    **OTHERS,
}
