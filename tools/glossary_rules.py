"""The words of the project: what not to write, where, and what to write (tools/glossary.py).

A pattern is a regular expression over words, in any case; a space stands for any white space, also
a line's end, " ?" for none as well. Identifiers are matched as their words: `ci_stateRoom` as
"ci state room". Allowed phrases are taken out before a pattern is looked for.
"""

from __future__ import annotations

from dataclasses import dataclass

IDENTIFIERS, COMMENTS, DOCSTRINGS, MESSAGES, MARKDOWN = SCOPES = (
    "identifiers",
    "comments",
    "docstrings",
    "messages",
    "Markdown",
)
PROSE = (COMMENTS, DOCSTRINGS, MESSAGES, MARKDOWN)
CODE = (COMMENTS, DOCSTRINGS)


@dataclass(frozen=True)
class Rule:
    """A row of the glossary.

    Attributes:
        name: short, the key of the counts.
        pattern: what not to write.
        write: what to write instead.
        scopes: where the pattern is looked for.
        allowed: phrases in which the word is the right one.
        files: a regular expression that a path begins with; "": every file.
    """

    name: str
    pattern: str
    write: str
    scopes: tuple[str, ...] = SCOPES
    allowed: tuple[str, ...] = ()
    files: str = ""


RULES = (
    # ---- values and models ----
    Rule("texts", r"texts", "strings", allowed=(r"get texts",)),  # a method of matplotlib
    Rule(
        "a text",
        r"(an?|one|each|every|any|no) text",
        "a string, where it is a value",
        PROSE,
        (r"text (file|format|form|message|editor|input)s?",),
    ),
    Rule("text in C", r"text", "string, where it is a value", (IDENTIFIERS,), files="cinfer/src/"),
    Rule(
        "products",
        r"products?",
        "matrix multiplication, MatMul, GEMM; of a single row: GEMV",
        allowed=(
            r"(dot|inner|outer|cross|tensor|cartesian|kronecker|hadamard|cumulative) products?",
            r"reduce prod(uct)?",
            r"products? (of|over) (all |its |the |their |these )?(sizes|dimensions|axes)",
            r"products? (of|over) (all |its |the |their |these )?(elements|segments)",
            r"itertools product",
            r"two products?",  # TwoProduct, the exact product of Dekker
            r"products? reductions?",
        ),
    ),
    Rule(
        "factors",
        r"factors? owes?|owes? to (a|the|its) factors?|factors? of (a|the) products?",
        "gradient of a product reduction; an operand of a matrix multiplication",
        PROSE,
    ),
    Rule(
        "turned",
        r"turned",
        "transposed; fused transpose",
        allowed=(r"turned (off|on|into|to|out|away)",),
    ),
    Rule("panels", r"panels?", "packed weights, packed tile (32-output packed tiles)"),
    Rule(
        "places",
        r"places?",
        "buffer, offset, arena slot; of a window: window position",
        allowed=(
            r"in ?place",
            r"(takes?|took|taking|taken) (the |its )?place",
            r"in (the )?places? of",
            r"decimal places?",
        ),
    ),
    Rule(
        "cells",
        r"cells?",
        "plan value; LSTM cell only where it is one",
        allowed=(r"(l ?stm|gru|rnn|recurrent) ?cells?", r"cells? (state|clip)", r"rnn cell\w*"),
        files="cinfer/|runtime/",
    ),
    Rule(
        "rooms",
        r"rooms?",
        "package, module; for memory: capacity, buffer (`ci_state_alloc`)",
        allowed=(r"ci state room( free)?",),  # deprecated names of cinfer.h
        files="(?!examples/)",  # one has lists of words
    ),
    Rule("door", r"doors?", "public API guard, API boundary"),
    Rule(
        "arrows",
        r"arrows?",
        "dependency, import",
        PROSE,
        (r"pyarrow|apache arrow|arrow's|arrow (table|type|array|file)s?", r"arrow ?heads?"),
        files="(?!(graphio|tests)/data/)",  # of Apache Arrow
    ),
    Rule(
        "an arrow turns",
        r"(arrow|dependency|import)s? turns?( round| around)?",
        "reversed dependency",
        PROSE,
    ),
    Rule(
        "growing",
        r"growing",
        "dynamic shape, data-dependent shape",
        allowed=(r"growing files?",),
    ),
    Rule("first sight", r"first sight", "first call at a new shape", PROSE),
    Rule("not met", r"what is not met", "missed targets", PROSE),
    Rule("nothing as a value", r"(is|are) nothing", "is an empty optional, is absent", PROSE),
    Rule("anything at first", r"anything at first", "uninitialised", PROSE),
    # ---- what code does ----
    Rule(
        "told, said, asked, wanted",
        r"told|said|asked|wanted",
        "reported, given, requested, required, expected",
        allowed=(r"that said",),
    ),
    Rule(
        "nobody",
        r"nobody|somebody|whoever",
        "name the subject: the caller, another thread, the user, no node",
        PROSE,
    ),
    Rule(
        "take back",
        r"(takes?|took|taken|taking) back",
        "roll back",
    ),
    Rule(
        "foresee",
        r"foresee(n|s|ing)?|foresaw",
        "infer (`ci_infer_outputs`)",
        allowed=(r"ci foresee",),  # a deprecated name of cinfer.h
    ),
    Rule(
        "host ahead",
        r"host ahead",
        "`ci_host_peek`",
        (IDENTIFIERS, MARKDOWN),
        (r"ci host ahead",),  # a deprecated name of cinfer.h
    ),
    Rule("meter", r"meters?", "progress", files="(?!cinfer/)"),
    Rule(
        "bars",
        r"bars?",
        "progress bars",
        allowed=(r"(progress|error|tool|side|menu|nav) ?bars?", r"bar charts?", r"foo bar"),
    ),
    Rule(
        "slimming",
        r"slim(s|med|ming)?",
        "strip, size reduction",
        allowed=(r"\bslim\b", r"slim_digits"),
    ),
    Rule("watches", r"watches|what one watches", "watchpoints"),
    Rule("deeds", r"deeds?|doings", "actions"),
    Rule("made anew", r"anew", "recomputed, rebuilt; again", PROSE),
    Rule("as they do", r"as (they|it) (do|does|did)", "equivalent", PROSE),
    # ---- files ----
    Rule("texts.c", r"texts\.c", "node_names.c", PROSE),
    Rule(
        "rows.c, refit.c, plans.c",
        r"(rows|refit|plans)\.c",
        "the module of dynamic shapes; plan_cache.c",
        PROSE,
        (r"test plans\.c",),
    ),
    Rule("strangers", r"strangers?|hostile", "untrusted input"),
    # ---- grammar ----
    Rule(
        "is no X",
        r"(is|are|was|were) no",
        "is not an X",
        PROSE,
        (
            r"there (is|are|was|were) no",
            r"(is|are|was|were) no (longer|more|less|later|larger|smaller|better|worse|such)",
        ),
    ),
    Rule(
        "its like", r"(its|their) like|and the like|the likes of", "name them; similar ...", PROSE
    ),
    Rule(
        "of its own",
        r"of (its|one's|their|your|our|his|an|the (program|caller|user)'s) own",
        "custom, separate, user-defined",
        PROSE,
    ),
    Rule(
        "whole",
        r"whole",
        "complete, entire",
        PROSE,
        (r"(as a|on the) whole", r"whole (numbers?|tone)", r"WHOLE LINE"),
    ),
    Rule("beside", r"beside", "compared with, next to, as well as", PROSE),
    Rule(
        "lies in, stands in",
        r"(lies?|lay|lying|stands?|stood|standing)"
        r" (in|at|on|there|under|behind|beside|before|after|next to)",
        "is in, is stored in",
        PROSE,
        (r"stands? in for",),
    ),
    Rule("behind it", r"(behind|in front of) (it|them)", "after, before", PROSE),
    Rule("the least", r"the least", "minimum", PROSE, (r"at the least",)),
    Rule("repaired", r"repair(ed|s)?", "fixed", (MARKDOWN,)),
    Rule(
        "a tenth less",
        r"(third|quarter|fifth|sixth|seventh|eighth|tenth|half)"
        r" (less|more|faster|slower|quicker|the time)",
        "10 % faster, 10 % less time",
        PROSE,
    ),
    # ---- habits ----
    Rule(
        "history",
        r"no longer|as before|formerly|previously|used to be",
        "what holds, without history",
        CODE,
    ),
    Rule(
        "What ...",
        r"\A\W*(what|whoever|whatever)(?! (is|are|does|do|did|can|will) \w+[^.]*\?)",
        'a noun: "run-time checks" instead of "what a run checks"',
        CODE,
    ),
)
