"""The lint of words finds what the glossary replaces, where it replaces it, and nothing else."""

from __future__ import annotations

import glossary
import pytest
from glossary_rules import RULES

#: for rules with exceptions: a sentence that breaks the rule, and one that does not
EXAMPLES = {
    "texts": ("Texts of a tensor.", "legend.get_texts()"),
    "rows.c, refit.c, plans.c": ("See rows.c.", "See test_plans.c."),
    "a text": ("Writes a text.", "Writes a text file."),
    "products": ("A product of one row.", "The dot product of two vectors."),
    "turned": ("Its operand is turned.", "The check is turned off."),
    "places": ("Values have places.", "It is written in place."),
    "cells": ("A cell of the plan.", "The LSTM cell of a layer."),
    "arrows": ("An arrow between packages.", "A column of Apache Arrow."),
    "rooms": ("A room of bytes.", "ci_state_room_free is deprecated."),
    "foresee": ("It foresees shapes.", "ci_foresee is deprecated."),
    "growing": ("A growing shape.", "Two growing files."),
    "told, said, asked, wanted": ("The limit is told.", "That said, it holds."),
    "bars": ("A bar is shown.", "A progress bar is shown."),
    "is no X": ("This is no list.", "There is no list."),
    "whole": ("The whole file.", "A whole number."),
    "lies in, stands in": ("It lies in a file.", "It stands in for a file."),
    "the least": ("The least time.", "At the least two."),
    "What ...": ("# What a run checks", "# Run-time checks of what a run reads"),
}


def names(path: str, text: str) -> list[tuple[int, str]]:
    return [(hit.line, hit.rule.name) for hit in glossary.hits(path, text)]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_knows_the_phrases_in_which_the_word_is_right(rule: str) -> None:
    bad, good = EXAMPLES[rule]
    path = "cinfer/src/a.c" if rule == "cells" else "graphio/a.py"
    form = "/* {} */" if path.endswith(".c") else "# {}"
    found = [name for _, name in names(path, form.format(bad.removeprefix("# ")))]
    assert rule in found
    assert rule not in [name for _, name in names(path, form.format(good.removeprefix("# ")))]


def test_every_rule_with_exceptions_has_examples() -> None:
    needed = {rule.name for rule in RULES if rule.allowed}
    assert needed - EXAMPLES.keys() == {"slimming", "host ahead"}


def test_comments_docstrings_messages_and_identifiers_are_told_apart_in_python() -> None:
    text = '''"""Nobody reads it."""

def run(texts):  # of its
    # own
    raise ValueError(f"the whole {texts!r}", "whole", 'a door')
'''
    assert sorted(names("graphio/a.py", text)) == [
        (1, "nobody"),
        (3, "of its own"),
        (3, "texts"),
        (5, "door"),
        (5, "texts"),
        (5, "whole"),
    ]


def test_identifiers_are_matched_by_their_words_in_c() -> None:
    text = "int ci_file_room(void);\nint roomy, mushroom;\n// a host\n// that foresaw it\n"
    assert names("cinfer/src/a.c", text) == [(1, "rooms"), (4, "foresee")]


def test_phrases_that_go_over_a_lines_end_are_found() -> None:
    text = "/* A value that lies\n * in a file. */\n"
    assert names("cinfer/src/a.c", text) == [(1, "lies in, stands in")]


def test_blocks_of_code_in_pages_are_left_out() -> None:
    text = "Nobody.\n\n```python\nnobody = 'nobody here'\n```\n\nWhoever.\n"
    assert names("docs/a.md", text) == [(1, "nobody"), (7, "nobody")]


def test_a_changelog_may_quote_names_that_were_replaced() -> None:
    text = "- `door.py` is `api_guard.py`.\n- A door is closed.\n"
    assert names("CHANGELOG.md", text) == [(2, "door")]


def test_names_of_files_and_makefiles_are_read_too() -> None:
    assert names("graphio/door.py", "") == [(1, "door")]
    assert names("Makefile", "a:\n\techo beside\n") == [(2, "beside")]


def test_a_hit_says_where_it_is_and_what_to_write() -> None:
    (hit,) = glossary.hits("docs/a.md", "\nBehind the door.\n")
    assert str(hit) == "docs/a.md:2: 'door' (door): public API guard, API boundary"


def test_the_check_lists_each_hit_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = list(glossary.hits("docs/a.md", "A door.\n\nA door.\n"))
    monkeypatch.setattr("sys.argv", ["glossary.py", "--check"])
    monkeypatch.setattr(glossary, "all_hits", lambda paths: page)
    assert glossary.main() == 1
    assert capsys.readouterr().err.splitlines() == [str(page[0]), str(page[1])]
    monkeypatch.setattr(glossary, "all_hits", lambda paths: [])
    assert glossary.main() == 0
