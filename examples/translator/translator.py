"""Translates a small made-up language, by attention and beam search.

    python examples/translator/translator.py FOLDER [--engine runtime] [--steps 300]

The language pair is made here. The other language puts the adjective after its noun, the article
after both, the verb at the end, and the negation last: "the small dog does not see a house" is
"kani mola ul tezu vid ne". FOLDER gets the checkpoint, and translator.gio with the beam search,
which is opened again and gives the same translations. What counts is how many sentences that were
not trained on are translated without a mistake.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import graphio as tf
import graphio.cinfer

seq2seq = tf.contrib.seq2seq
Array = np.ndarray
Pair = tuple[list[str], list[str]]

NOUNS = {
    "dog": "kani", "house": "tezu", "river": "alo", "child": "pimi", "bird": "suri",
    "friend": "roda",
}  # fmt: skip
ADJECTIVES = {"small": "mola", "red": "gitu", "old": "seno", "happy": "lari"}
VERBS = {"see": "vid", "find": "topa", "love": "ama", "follow": "seka", "know": "koni"}
WORDS = NOUNS | ADJECTIVES | VERBS
ENGLISH = ["<end>", "the", "a", "does", "not", *WORDS, *(f"{verb}s" for verb in VERBS)]
OTHER = ["<end>", "<start>", "ul", "ne", *WORDS.values()]
END, START = 0, 1
LONGEST = 12


def noun_phrase(rng: np.random.RandomState) -> Pair:
    """A noun with its article and perhaps an adjective, in both languages."""
    noun, article = rng.choice(list(NOUNS)), rng.choice(["the", "a"])
    adjectives = list(rng.choice(list(ADJECTIVES), rng.randint(0, 2)))
    marked = ["ul"] if article == "the" else []
    other = [NOUNS[noun], *(ADJECTIVES[a] for a in adjectives), *marked]
    return [article, *adjectives, noun], other


def sentence(rng: np.random.RandomState) -> Pair:
    """A sentence in both languages."""
    (subject, first), (thing, second) = noun_phrase(rng), noun_phrase(rng)
    verb = rng.choice(list(VERBS))
    if rng.rand() < 0.3:
        return [*subject, "does", "not", verb, *thing], [*first, *second, VERBS[verb], "ne"]
    return [*subject, f"{verb}s", *thing], [*first, *second, VERBS[verb]]


def different(count: int, rng: np.random.RandomState) -> list[Pair]:
    """Sentences of which no two are equal."""
    found: dict[str, Pair] = {}
    while len(found) < count:
        pair = sentence(rng)
        found[" ".join(pair[0])] = pair
    return list(found.values())


def numbered(sentences: list[list[str]], words: list[str]) -> tuple[Array, Array]:
    """The numbers of words with <end> after them [count, longest], and the lengths with it."""
    lengths = np.array([len(s) + 1 for s in sentences], np.int32)
    ids = np.full((len(sentences), lengths.max()), END, np.int32)
    for row, words_of in zip(ids, sentences, strict=True):
        row[: len(words_of)] = [words.index(w) for w in words_of]
    return ids, lengths


class Translator:
    """The graph. Training and translation have the same variables, by their names.

    Args:
        units: of the recurrent cells and of the words' vectors.
        beams: 0 to train; to translate the number of translations that are followed.
    """

    def __init__(self, units: int, beams: int = 0) -> None:
        self.source = tf.placeholder(tf.int32, [None, None], name="source")
        self.source_lengths = tf.placeholder(tf.int32, [None], name="source_lengths")
        outputs, state = self.encoded(units)
        lengths = self.source_lengths
        if beams:
            outputs = seq2seq.tile_batch(outputs, beams)
            state, lengths = seq2seq.tile_batch(state, beams), seq2seq.tile_batch(lengths, beams)
        attention = seq2seq.LuongAttention(units, outputs, lengths, scale=True)
        self.cell = seq2seq.AttentionWrapper(
            tf.contrib.rnn.GRUCell(units), attention, attention_layer_size=units
        )
        self.state = self.cell.zero_state(tf.size(lengths), tf.float32).clone(cell_state=state)
        self.words = tf.get_variable("other_words", [len(OTHER), units])
        self.layer = tf.layers.Dense(len(OTHER), use_bias=False, name="logits")
        if beams:
            self.translation = self.found(beams)
        else:
            self.target = tf.placeholder(tf.int32, [None, None], name="target")
            self.target_lengths = tf.placeholder(tf.int32, [None], name="target_lengths")
            self.loss = self.error()
            self.train = tf.contrib.layers.optimize_loss(
                self.loss, tf.train.get_or_create_global_step(), 0.005, "Adam",
                clip_gradients=5.0, summaries=[],
            )  # fmt: skip

    def encoded(self, units: int) -> tuple[tf.Tensor, tf.Tensor]:
        """The source as read in both directions [batch, time, units], and the last state."""
        words = tf.get_variable("english_words", [len(ENGLISH), units])
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            tf.contrib.rnn.GRUCell(units // 2), tf.contrib.rnn.GRUCell(units // 2),
            tf.nn.embedding_lookup(words, self.source), self.source_lengths, dtype=tf.float32,
        )  # fmt: skip
        return tf.concat(outputs, 2), tf.concat(states, 1)

    def error(self) -> tf.Tensor:
        """The cross entropy of a word of the target; each word is given to the next step."""
        start = tf.fill([tf.shape(self.target)[0], 1], START)
        before = tf.concat([start, self.target[:, :-1]], 1)
        helper = seq2seq.TrainingHelper(
            tf.nn.embedding_lookup(self.words, before), self.target_lengths
        )
        decoder = seq2seq.BasicDecoder(self.cell, helper, self.state, self.layer)
        outputs, _, _ = seq2seq.dynamic_decode(decoder)
        weights = tf.sequence_mask(self.target_lengths, dtype=tf.float32)
        return seq2seq.sequence_loss(outputs.rnn_output, self.target, weights)

    def found(self, beams: int) -> tf.Tensor:
        """The best translations [batch, time]; -1 after the end."""
        starts = tf.fill([tf.shape(self.source)[0]], START)
        decoder = seq2seq.BeamSearchDecoder(
            self.cell, self.words, starts, END, self.state, beams, self.layer,
            length_penalty_weight=0.6,
        )  # fmt: skip
        outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=LONGEST)
        return tf.identity(outputs.predicted_ids[:, :, 0], name="translation")


def text(ids: Array) -> str:
    """The sentence of a row of numbers."""
    return " ".join(OTHER[i] for i in ids if i > START)


def train(options: argparse.Namespace, pairs: list[Pair], prefix: str) -> None:
    """Trains, and saves the variables."""
    source, source_lengths = numbered([p[0] for p in pairs], ENGLISH)
    target, target_lengths = numbered([p[1] for p in pairs], OTHER)
    rng = np.random.RandomState(1)
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        tf.set_random_seed(1)
        model = Translator(options.units)
        session.run(tf.global_variables_initializer())
        for step in range(1, options.steps + 1):
            rows = rng.randint(0, len(pairs), options.batch)
            feed = {
                model.source: source[rows][:, : source_lengths[rows].max()],
                model.source_lengths: source_lengths[rows],
                model.target: target[rows][:, : target_lengths[rows].max()],
                model.target_lengths: target_lengths[rows],
            }
            _, loss = session.run([model.train, model.loss], feed)
            if step % 50 == 0 or step == 1:
                print(f"step {step:4d}  loss {loss:.4f}", flush=True)
        tf.train.Saver().save(session, prefix)


def translate(options: argparse.Namespace, pairs: list[Pair], prefix: str) -> None:
    """Translates unseen sentences, and exports what does it."""
    source, lengths = numbered([p[0] for p in pairs], ENGLISH)
    path = str(Path(options.folder) / "translator.gio")
    with tf.Graph().as_default(), tf.Session(options.engine) as session:
        model = Translator(options.units, options.beams)
        tf.train.Saver().restore(session, prefix)
        feed = {model.source: source, model.source_lengths: lengths}
        found = session.run(model.translation, feed)
        inputs = {"source": model.source, "source_lengths": model.source_lengths}
        tf.saved_model.save(path, session, {"translate": (inputs, {"ids": model.translation})})
    right = [text(ids) == " ".join(other) for ids, (_, other) in zip(found, pairs, strict=True)]
    for ids, (english, _) in list(zip(found, pairs, strict=True))[:3]:
        print(f"{' '.join(english)} -> {text(ids)}")
    print(f"unseen sentences: {100 * np.mean(right):.1f}% without a mistake")
    check(path, source, lengths, found)


def check(path: str, source: Array, lengths: Array, expected: Array) -> None:
    """Translates one sentence after another by the exported file, in cinfer."""
    translate = graphio.cinfer.load(path).signature("translate")
    same = 0
    for row, length, ids in zip(source[:50], lengths, expected, strict=False):
        alone = translate(source=row[None, :length], source_lengths=np.array([length]))
        same += text(alone["ids"][0]) == text(ids)
    print(f"{path}: {same} of 50 translations are the same")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="for the checkpoint and translator.gio")
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--beams", type=int, default=4)
    options = parser.parse_args()
    pairs = different(4300, np.random.RandomState(0))
    prefix = str(Path(options.folder) / "model")
    train(options, pairs[300:], prefix)
    translate(options, pairs[:300], prefix)


if __name__ == "__main__":
    main()
