"""Random programs that read and assign variables, and a sequential interpreter of the rule.

A program is a tree of statements. `Builder` makes a graph of it with graphio; `Interpreter` says
what a run gives, from the rule alone: statements run one after another in the order in which they
were made, and each use of a variable reads its start, its present or its end.

    python tests/variables/read_programs.py [COUNT]     # 100,000 programs, or as many
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import graphio as tf

NAMES = ("v", "w")
_KINDS = ["use", "same", "sum", "now", "set", "add", "step", "after", "if", "loop"]
_WEIGHTS = [6, 2, 4, 2, 3, 3, 2, 4, 2, 2]


@dataclass(eq=False)
class Statement:
    """A statement.

    Attributes:
        kind: use: 2 * variable + 1; same: tf.identity(variable); sum: of two values; now:
            read_value(); set, add: an assignment of a value; step: an optimizer's, of a gradient;
            if, loop: of bodies, whose value is the sum of the values in the body.
        variable: the name of the one concerned; of a loop: the one that its condition reads.
        inputs: the statements whose values it takes.
        bodies: statements inside; holds: whether the first body of an if is taken.
        waits: the statements of control dependencies around it, up to the next body.
    """

    kind: str
    variable: str | None = None
    inputs: list[Statement] = field(default_factory=list)
    bodies: list[list[Statement]] = field(default_factory=list)
    holds: bool = True
    waits: list[Statement] = field(default_factory=list)

    def inside(self) -> Iterator[Statement]:
        """The statements of its bodies, nested ones too."""
        for body in self.bodies:
            for statement in body:
                yield statement
                yield from statement.inside()

    def assigned(self) -> set[str]:
        """The variables that it or its bodies assign."""
        every = (self, *self.inside())
        return {s.variable for s in every if s.kind in ("set", "add", "step") and s.variable}

    def sources(self) -> set[Statement]:
        """The statements outside of it whose values it takes, in its bodies too."""
        inner = set(self.inside())
        return {i for s in (self, *inner) for i in s.inputs} - inner

    def __str__(self) -> str:
        bodies = "; ".join(", ".join(map(str, body)) for body in self.bodies)
        waits = f" after {len(self.waits)}" if self.waits else ""
        return f"{self.kind}({self.variable or ''}{f' [{bodies}]' if bodies else ''}){waits}"


@dataclass
class Program:
    """A program: its statements, what a run fetches, and which variables are resources."""

    statements: list[Statement]
    fetched: list[Statement]
    variables: list[str]
    resources: list[str]

    def __str__(self) -> str:
        positions = [self.statements.index(s) for s in self.fetched]
        lines = "\n".join(f"{i}: {s}" for i, s in enumerate(self.statements))
        return f"{lines}\nfetched {positions} {self.variables}, resources {self.resources}"


def random_program(seed: int) -> Program:
    """The program of a seed."""
    draw = random.Random(seed)
    statements: list[Statement] = []
    _fill(draw, statements, draw.randint(2, 9), [], [], depth=0)
    fetched = [s for s in statements if draw.random() < 0.6]
    variables = [name for name in NAMES if draw.random() < 0.5]
    resources = [name for name in NAMES if draw.random() < 0.2]
    return Program(statements, fetched, variables, resources)


def _fill(
    draw: random.Random,
    body: list[Statement],
    count: int,
    outer: list[Statement],
    waits: list[Statement],
    depth: int,
) -> None:
    """Adds statements to a body; outer: those around whose values can be taken."""
    while count > 0:
        count -= 1
        seen = [s for s in (*outer, *body) if s.kind != "step"]
        kind = draw.choices(_KINDS, _WEIGHTS)[0]
        if kind in ("sum", "set", "add", "step") and not seen:
            kind = "use"
        if depth and kind == "step" or depth > 1 and kind in ("if", "loop"):
            kind = "add" if seen else "use"
        if kind == "after":
            if body:
                inner = draw.randint(1, 3)
                _fill(draw, body, inner, outer, [*waits, draw.choice(body)], depth)
                count -= inner
            continue
        made = Statement(kind, draw.choice(NAMES), waits=list(waits))
        if kind in ("sum", "set", "add", "step"):
            made.inputs = [draw.choice(seen) for _ in range(2 if kind == "sum" else 1)]
        elif kind in ("if", "loop"):
            made.holds = draw.random() < 0.5
            made.bodies = [[] for _ in range(2 if kind == "if" else 1)]
            for inside in made.bodies:
                _fill(draw, inside, draw.randint(1, 3), seen, [], depth + 1)
        body.append(made)


# ---- with graphio ----


class Builder:
    """Makes the graph of a program in the default graph."""

    def __init__(self, program: Program) -> None:
        self.variables = {
            name: tf.Variable(float(i + 1), name=name, dtype=tf.float64,
                              use_resource=name in program.resources)
            for i, name in enumerate(NAMES)
        }  # fmt: skip
        self._made: dict[Statement, Any] = {}
        self._build(program.statements)
        self.fetches = [self._made[s] for s in program.fetched]
        self.fetches += [self.variables[name] for name in program.variables]

    def _build(self, body: Sequence[Statement]) -> Any:
        """Makes the statements, and the sum of their values."""
        total = tf.constant(0.0, tf.float64)
        for statement in body:
            with tf.control_dependencies([self._made[s] for s in statement.waits]):
                made = self._made[statement] = self._one(statement)
            if statement.kind != "step":
                total = total + made
        return total

    def _one(self, s: Statement) -> Any:
        variable, values = self.variables[s.variable or ""], [self._made[i] for i in s.inputs]
        if s.kind == "use":
            return variable * 2.0 + 1.0
        if s.kind == "same":
            return tf.identity(variable)
        if s.kind == "sum":
            return values[0] + values[1]
        if s.kind == "now":
            return variable.read_value()
        if s.kind in ("set", "add"):
            return (variable.assign if s.kind == "set" else variable.assign_add)(values[0])
        if s.kind == "step":
            optimizer = tf.train.GradientDescentOptimizer(1.0)
            return optimizer.apply_gradients([(values[0], variable)])
        if s.kind == "if":
            holds = tf.constant(s.holds)
            return tf.cond(holds, *[lambda body=body: self._build(body) for body in s.bodies])
        return tf.while_loop(
            lambda i, _: tf.logical_and(i < 2, variable < 40.0),
            lambda i, _: (i + 1, self._build(s.bodies[0])),
            [0, tf.constant(0.0, tf.float64)],
        )[1]


# ---- by the rule ----


class Interpreter:
    """The results of a run of a program.

    Attributes:
        values: of what is fetched, in order; None of a step.
        present: the variables after the run.
    """

    def __init__(self, program: Program) -> None:
        self.present = {name: float(i + 1) for i, name in enumerate(NAMES)}
        self._start = dict(self.present)
        needed = _needed(program.fetched)
        self._explicit = _explicit(needed)
        self._values: dict[Statement, float] = {}
        for statement in program.statements:
            if statement in needed:
                self._around: list[Statement] = [statement]
                self._values[statement] = self._run(statement)
        self.values = [self._shown(s, program) for s in program.fetched]
        for name in program.variables:
            table = self._start if name in program.resources else self.present
            self.values.append(table[name])

    def _shown(self, s: Statement, program: Program) -> float | None:
        if s.kind == "same" and s.variable not in program.resources:
            return self.present[s.variable or ""]
        return None if s.kind == "step" else self._values[s]

    def _read(self, name: str) -> float:
        """The value that a plain use reads in the innermost of the statements around."""
        waits = any(s.waits for s in self._around)
        inside = any(name in s.assigned() for s in self._around if s.bodies)
        is_present = waits or inside or self._around[0] in self._explicit
        return (self.present if is_present else self._start)[name]

    def _run(self, s: Statement) -> float:
        name, values = s.variable or "", [self._values[i] for i in s.inputs]
        if s.kind == "use":
            return self._read(name) * 2.0 + 1.0
        if s.kind == "same":
            return self._read(name)
        if s.kind == "sum":
            return values[0] + values[1]
        if s.kind == "now":
            return self.present[name]
        if s.kind in ("set", "add", "step"):
            before = {"set": 0.0, "add": self.present[name], "step": self.present[name]}[s.kind]
            self.present[name] = before + (-values[0] if s.kind == "step" else values[0])
            return self.present[name]
        if s.kind == "if":
            return self._body(s.bodies[0 if s.holds else 1])
        result, i = 0.0, 0
        while i < 2 and self._read(name) < 40.0:
            result, i = self._body(s.bodies[0]), i + 1
        return result

    def _body(self, body: Sequence[Statement]) -> float:
        for statement in body:
            self._around.append(statement)
            self._values[statement] = self._run(statement)
            self._around.pop()
        return sum(self._values[s] for s in body if s.kind != "step")


def _needed(fetched: Sequence[Statement]) -> set[Statement]:
    found: set[Statement] = set()
    pending = list(fetched)
    while pending:
        statement = pending.pop()
        if statement not in found:
            found.add(statement)
            pending += [*statement.sources(), *statement.waits]
    return found


def _explicit(needed: set[Statement]) -> set[Statement]:
    """The statements that explicit assignments take their values from, and they themselves."""
    found: set[Statement] = set()
    pending = [s for s in needed if s.kind in ("set", "add") or s.bodies and s.assigned()]
    while pending:
        statement = pending.pop()
        if statement not in found:
            found.add(statement)
            pending += statement.sources()
    return found


# ---- side by side ----


def difference(seed: int, target: str) -> str | None:
    """The difference of an engine from the rule for the program of a seed; None: none."""
    program = random_program(seed)
    expected = Interpreter(program)
    with tf.Graph().as_default():
        built = Builder(program)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            found = session.run(built.fetches) if built.fetches else []
            present = {name: float(session.run(v)) for name, v in built.variables.items()}
    values = [None if value is None else float(value) for value in found]
    if values == expected.values and present == expected.present:
        return None
    return (
        f"seed {seed} in {target}:\n{program}\nfound {values} {present}\n"
        f"expected {expected.values} {expected.present}"
    )


def differences(count: int) -> list[str]:
    """Those of the first programs, which the engines run in turns."""
    each = (difference(seed, ("runtime", "cinfer")[seed % 2]) for seed in range(count))
    return [text for text in each if text is not None]


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    all_differences = differences(number)
    print("\n\n".join(all_differences[:10]))
    print(f"{number} programs, {len(all_differences)} differences")
    sys.exit(bool(all_differences))
