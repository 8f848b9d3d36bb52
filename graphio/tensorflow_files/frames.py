"""The control flow of TensorFlow 1's graphs, Switch, Merge, Enter, Exit: what loops and branches
it makes.

A loop is a frame: values come in by Enter, meet the last iteration's by Merge, and leave by Exit.
A branch is whatever depends on a Switch of its predicate; a Merge takes what one of two has made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graphio.tensorflow_files.bodies import Body, Key, Node, behind, in_order

__all__ = ["Frames", "Loop"]

#: A predicate that holds, or does not.
Condition = tuple[Key, bool]
_PASSING = ("Identity", "RefIdentity")
ENTER, EXIT = ("Enter", "RefEnter"), ("Exit", "RefExit")
MERGE, SWITCH = ("Merge", "RefMerge"), ("Switch", "RefSwitch")
NEXT = ("NextIteration", "RefNextIteration")


@dataclass
class Loop:
    """A while loop.

    Attributes:
        frame: its name.
        test: whether it goes on.
        entering, following: of each loop variable the value before and after an iteration.
        merges: of each loop variable the Merge that is its value.
        switches: of each loop variable the Switches that take it on.
        constants: Enters of what no iteration changes, and their inputs.
        exits: names of Exits to numbers of loop variables.
    """

    frame: str
    test: Key | None = None
    entering: list[Key] = field(default_factory=list)
    following: list[Key] = field(default_factory=list)
    merges: list[str] = field(default_factory=list)
    switches: list[list[str]] = field(default_factory=list)
    constants: dict[str, Key] = field(default_factory=dict)
    exits: dict[str, int] = field(default_factory=dict)

    @property
    def border(self) -> list[Key]:
        """The values that it reads from outside."""
        return [*self.entering, *self.constants.values()]


class Frames:
    """The loops and branches of a body.

    Args:
        body: the body, in which everything that is read is there.

    Raises:
        ValueError: Enters, Merges and Switches that make no loop and no branch.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.loops: dict[str, Loop] = {}
        #: an Exit, or a Merge or Switch of a loop, to its loop
        self.of: dict[str, Loop] = {}
        self._numbers: dict[str, int] = {}  # a Merge or Switch of a loop to its loop variable's
        self._conditions: dict[Key, frozenset[Condition]] = {}
        self._borders: dict[str, list[Key]] = {}
        self._inside: set[str] | None = None
        if any(n.op in (*ENTER, *MERGE, *SWITCH, *EXIT, *NEXT) for n in body.nodes.values()):
            self._find_loops()

    # ---- loops ----

    def _find_loops(self) -> None:
        nodes = self.body.nodes
        for node in nodes.values():
            if node.op in ENTER:
                frame = node.attr["frame_name"].s.decode(errors="replace")
                loop = self.loops.setdefault(frame, Loop(frame))
                if node.attr["is_constant"].b:
                    loop.constants[node.name] = node.inputs[0]
        for node in nodes.values():
            if node.op in MERGE:
                self._loop_variable(node)
        for node in nodes.values():
            if node.op in SWITCH and node.inputs[0][0] in self.of:
                self._loop_switch(node)
        for node in nodes.values():
            if node.op in EXIT:
                left = self.of.get(node.inputs[0][0])
                if left is None:
                    raise ValueError(f"Exit '{node.name}' leaves no loop")
                self.of[node.name] = left
                left.exits[node.name] = self._numbers[node.inputs[0][0]]
        for loop in self.loops.values():
            if loop.merges and loop.test is None:
                raise ValueError(f"the loop '{loop.frame}' has no condition (LoopCond)")

    def _loop_variable(self, merge: Node) -> None:
        nodes = self.body.nodes
        makers = [nodes.get(name) for name, _ in merge.inputs]
        enter = next((n for n in makers if n is not None and n.op in ENTER), None)
        following = next((n for n in makers if n is not None and n.op in NEXT), None)
        if enter is None and following is None:
            return
        if enter is None or following is None or len(makers) != 2:
            raise ValueError(f"Merge '{merge.name}' is of neither a loop nor a branch")
        loop = self.loops[enter.attr["frame_name"].s.decode(errors="replace")]
        self.of[merge.name] = loop
        self._numbers[merge.name] = len(loop.merges)
        loop.merges.append(merge.name)
        loop.entering.append(enter.inputs[0])
        loop.following.append(following.inputs[0])
        loop.switches.append([])

    def _loop_switch(self, switch: Node) -> None:
        loop = self.of[switch.inputs[0][0]]
        test = self.body.nodes.get(switch.inputs[1][0])
        if test is None or test.op != "LoopCond":
            return  # of a branch inside the loop
        if loop.test not in (None, test.inputs[0]):
            raise ValueError(f"the loop '{loop.frame}' has two conditions")
        loop.test = test.inputs[0]
        self.of[switch.name] = loop
        number = self._numbers[switch.name] = self._numbers[switch.inputs[0][0]]
        loop.switches[number].append(switch.name)

    def inside(self) -> set[str]:
        """Nodes that are built as parts of a loop."""
        if self._inside is None:
            waiting = [name for name, loop in self.of.items() if name not in loop.exits]
            waiting += [name for loop in self.loops.values() for name in loop.constants]
            readers: dict[str, list[str]] = {}
            for node in self.body.nodes.values():
                for name in (*(k[0] for k in node.inputs), *node.controls):
                    readers.setdefault(name, []).append(node.name)
            self._inside = {n.name for n in self.body.nodes.values() if n.op in ENTER}
            while waiting:
                name = waiting.pop()
                self._inside.add(name)
                waiting += [r for r in readers.get(name, []) if not self._leaves(r)]
        return self._inside

    def _leaves(self, name: str) -> bool:
        node = self.body.nodes[name]
        return node.op in EXIT or name in (self._inside or ())

    def changing(self, loop: Loop) -> list[int]:
        """Numbers of the loop variables that an iteration does not leave as they are."""
        return [
            i
            for i, following in enumerate(loop.following)
            if self.behind(following)[0] not in (loop.merges[i], *loop.switches[i])
        ]

    # ---- branches ----

    def is_branch(self, node: Node) -> bool:
        """Whether a node is the Merge of a branch."""
        return node.op in MERGE and node.name not in self.of

    def needs(self, node: Node) -> list[Key]:
        """The values to build before a node, where loops and branches are one step each."""
        if node.op in EXIT:
            return self._entered(node)
        if self.is_branch(node):
            return self.border(node)
        return list(node.inputs)

    def _entered(self, exit_: Node) -> list[Key]:
        """The values that a loop reads, for its first Exit; the others need that Exit alone."""
        loop = self.of[exit_.name]
        first = next(iter(loop.exits))
        return loop.border if exit_.name == first else [(first, 0)]

    def behind(self, key: Key) -> Key:
        """The value before the Identities that rename it."""
        return behind(self.body, key, _PASSING)

    def decided(self, merge: Node) -> tuple[Key, list[bool]]:
        """The predicate of a branch, and for which of its values each input of its Merge is made.

        Raises:
            ValueError: they cannot be distinguished.
        """
        if len(merge.inputs) == 2:
            first, second = (self.conditions(key) for key in merge.inputs)
            for key, truth in sorted(first):
                if (key, not truth) in second:
                    return key, [truth, not truth]
        raise ValueError(f"no predicate tells the inputs of Merge '{merge.name}' apart")

    def conditions(self, key: Key) -> frozenset[Condition]:
        """The predicates that a value depends on, with what they must be."""
        key = self._alike(key)
        for item in in_order([key], self._condition_needs, self._conditions.__contains__):
            self._conditions[item] = self._conditions_of(item)
        return self._conditions[key]

    def _alike(self, key: Key) -> Key:
        """The first output of the node: only those of a Switch depend on different things."""
        node = self.body.nodes.get(key[0])
        return key if node is not None and node.op in SWITCH else (key[0], 0)

    def _condition_needs(self, key: Key) -> list[Key]:
        return list(map(self._alike, self._condition_sources(key)))

    def _condition_sources(self, key: Key) -> list[Key]:
        node = self.body.nodes.get(key[0])
        if node is None or node.op in ENTER or (node.name in self.of and node.op not in EXIT):
            return []
        if node.op in EXIT:
            return self._entered(node)
        # A node controlled by an Identity of a Switch belongs to its branch, too.
        return [*node.inputs, *((name, 0) for name in self._controls(node))]

    def _controls(self, node: Node) -> Iterable[str]:
        found = (self.body.nodes.get(name) for name in node.controls)
        return [n.name for n in found if n is not None and n.op in (*_PASSING, "Const")]

    def _conditions_of(self, key: Key) -> frozenset[Condition]:
        needed = [self._conditions[k] for k in self._condition_needs(key)]
        joined: frozenset[Condition] = frozenset().union(*needed)
        node = self.body.nodes.get(key[0])
        if node is None or node.name in self.of:
            return joined
        if node.op in SWITCH:
            return joined | {(self.behind(node.inputs[1]), bool(key[1]))}
        if self.is_branch(node):
            decided, _ = self.decided(node)
            return frozenset(c for c in joined if c[0] != decided)
        return joined

    def border(self, merge: Node) -> list[Key]:
        """The values that a branch reads from outside: its predicate first."""
        if merge.name not in self._borders:
            predicate, _ = self.decided(merge)
            self._borders[merge.name] = [predicate, *self._outside(merge, predicate)]
        return self._borders[merge.name]

    def _outside(self, merge: Node, predicate: Key) -> list[Key]:
        found: dict[Key, None] = {}
        seen: set[Key] = set()
        waiting = list(merge.inputs)
        while waiting:
            key = waiting.pop()
            if key in seen:
                continue
            seen.add(key)
            node = self.body.nodes.get(key[0])
            if node is None or all(p != predicate for p, _ in self.conditions(key)):
                found[key] = None
            elif self.switches(node, predicate):
                found[node.inputs[0]] = None
            else:
                waiting += self.needs(node)
        return list(found)

    def switches(self, node: Node, predicate: Key) -> bool:
        """Whether a node is a Switch of this predicate."""
        return (
            node.op in SWITCH
            and node.name not in self.of
            and self.behind(node.inputs[1]) == predicate
        )
