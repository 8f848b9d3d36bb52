"""The kind and the contents of a file."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.tree import Tree

from graphio.command_line import fitting, opening, output
from graphio.command_line.arguments import Signature, Sizes, engine_names
from graphio.command_line.commands import ls
from graphio.storage import stores
from graphio.support import errors

NAME = "inspect"
Facts = dict[str, Any]


def command(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A model, checkpoint or file of weights.")],
    cost: Annotated[
        bool,
        typer.Option(
            "--cost",
            help="Run a model once on random numbers: what operations and memory it takes.",
        ),
    ] = False,
    signature: Signature = None,
    size: Sizes = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="List every node, too.")] = False,
    as_json: output.Json = False,
) -> None:
    """Show what FILE is and holds, and which of its operators the engines lack."""
    kind = opening.kind_of(file)
    if kind not in opening.MODELS:
        unused = dict.fromkeys(("cost", "signature", "size", "nodes"), "for models")
        fitting.refuse_unused(context, unused, f"For '{file}' ({kind})")
        ls.command(file, as_json)
        return
    if not cost:
        unused = dict.fromkeys(("signature", "size"), "for --cost")
        fitting.refuse_unused(context, unused, "Without --cost")
    facts = model_facts(file, kind, nodes)
    if cost:
        from graphio.command_line.cost import cost_of

        facts["cost"] = cost_of(opening.model_bytes(file), signature, size)
    output.show(facts, as_json, lambda console: console.print(tree(facts)))
    if any(engine["runs"] is False for engine in facts["engines"].values()):
        raise typer.Exit(1)


def model_facts(path: str, kind: str, nodes: bool = False) -> Facts:
    """Facts of a model of any format; one that cannot be converted has what hinders."""
    facts: Facts = {"file": path, "kind": kind, "bytes": _bytes_of(path)}
    try:
        data = opening.model_bytes(path, "none" if kind != opening.MODEL else "exact")
    except errors.UnimplementedError as error:
        lacks = {"runs": False, "why": str(error)}
        return facts | {"engines": dict.fromkeys(engine_names(), lacks)}
    from graphio.model.describing import describe
    from graphio.schema import container

    with opening.naming(path):
        model, _ = container.unpack(data)
        facts |= describe(model)
        facts["engines"] = _engines(data)
    if nodes:
        facts["node_list"] = [
            {"name": n.name, "op": n.op, "inputs": list(n.input)} for n in model.graph.node
        ]
    return facts


def _engines(data: bytes) -> Facts:
    """Whether each engine has all operators; None for one that is not installed."""
    from graphio.execution import engines

    found: Facts = {}
    for name in engine_names():
        try:
            loaded = engines.load(name, data, lazy=True)
        except ImportError as error:
            found[name] = {"runs": None, "why": str(error)}
        except errors.UnimplementedError as error:
            found[name] = {"runs": False, "why": str(error)}
        else:
            found[name] = {"runs": True}
            if hasattr(loaded, "close"):
                loaded.close()
    return found


def _bytes_of(path: str) -> int:
    if stores.is_remote(path):
        return opening.size_in_store(path)
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def tree(facts: Facts) -> Tree:
    """The facts as a tree for a terminal."""
    root = Tree(output.name(f"{facts['file']}: {facts['kind']}, {facts['bytes']:,} bytes"))
    if "nodes" in facts:
        _add_signatures(root, facts["signatures"])
        _add_contents(root, facts)
    for engines, says in _verdicts(facts["engines"]):
        root.add(output.lines(f"{engines}: {says}"))
    if "cost" in facts:
        _add_cost(root, facts["cost"])
    return root


def _verdicts(engines: Facts) -> list[tuple[str, str]]:
    """The obstacles, each once with all engines that it concerns; or a line for each engine."""
    whys: dict[str, list[str]] = {}
    for engine, found in engines.items():
        whys.setdefault("" if found["runs"] else found["why"], []).append(engine)
    running = [(engine, "runs it") for engine in whys.pop("", [])]
    return running + [(" and ".join(names), why) for why, names in whys.items()]


def _add_signatures(root: Tree, signatures: list[Facts]) -> None:
    for signature in signatures:
        branch = root.add(output.name(f"signature {signature['name']}"))
        for way in ("inputs", "outputs"):
            for row in signature[way]:
                text = f"{way[:-1]} {row['name']}: {row['type']}{output.sizes(row['shape'])}"
                branch.add(output.name(text))
        if signature["targets"]:
            branch.add(output.name(f"runs {', '.join(signature['targets'])}"))


def _add_contents(root: Tree, facts: Facts) -> None:
    weights = facts["parameters"]
    if facts["variables"]:
        trainable = [row for row in facts["variables"] if row["trainable"] and not row["slot_of"]]
        text = f"{weights['count']:,} numbers in {len(facts['variables'])} variables and slots"
        branch = root.add(f"{text}, {weights['trainable']:,} trainable")
        for row in trainable[:_MOST_ROWS]:
            branch.add(output.name(f"{row['name']}: {row['dtype']}{output.sizes(row['shape'])}"))
        if len(trainable) > _MOST_ROWS:
            branch.add(f"{len(trainable) - _MOST_ROWS} more, see `graphio ls`")
    numbers = sum(prod(row["shape"]) for row in facts["constants"])
    size = sum(row["bytes"] for row in facts["constants"])
    root.add(f"{numbers:,} numbers in {len(facts['constants'])} constants, {size:,} bytes")
    opsets = ", ".join(f"{name} {version}" for name, version in facts["opsets"].items())
    inner = f", branches and loops {facts['depth']} deep" if facts["depth"] else ""
    branch = root.add(output.name(f"{facts['nodes']:,} nodes ({opsets}){inner}"))
    for name, count in facts["operators"].items():
        branch.add(output.name(f"{count:,} {name}"))
    for row in facts["resources"]:
        root.add(output.name(f"{row['kind']} {row['name']}"))
    for row in facts["rewrites"]:
        exact = "approximate" if row["approximate"] else "exact"
        root.add(output.name(f"rewritten: {row['name']} ({exact}) {row['detail']}"))
    for key, value in facts["metadata"].items():
        root.add(output.name(f"{key}: {value}"))
    for row in facts.get("node_list", ()):
        root.add(output.name(f"{row['op']} {row['name']}({', '.join(row['inputs'])})"))


def _add_cost(root: Tree, cost: Facts) -> None:
    where = ", ".join(f"{name}{output.sizes(shape)}" for name, shape in cost["inputs"].items())
    branch = root.add(output.name(f"a run of {cost['signature']} with {where or 'no inputs'}"))
    branch.add(f"{cost['operations']:,} operations on numbers (a multiply-add is two)")
    branch.add(f"{cost['moved']:,} bytes read and written at least")
    branch.add(f"{cost['arena_bytes']:,} bytes held for values by cinfer")
    for row in cost["nodes"][:_MOST_NODES]:
        branch.add(output.name(f"{row['share']:6.1%} {row['op']} {row['name']}"))


_MOST_NODES = 10
_MOST_ROWS = 20
