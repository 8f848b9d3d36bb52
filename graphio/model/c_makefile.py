"""A makefile for the C source of a model."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["makefile"]

#: @name@, @sources@ and @headers@ are filled in.
_TEXT = """\
# @name@.mk - builds @name@_example; made by `graphio export-c`.
#
#   make -f @name@.mk                              with the C library of the installed graphio
#   make -f @name@.mk CINFER=path/to/cinfer -j4    with its sources, which are compiled once
CFLAGS ?= -O2
PYTHON ?= python3

ifdef CINFER
cinfer_sources := $(wildcard $(CINFER)/src/*/*.c $(CINFER)/src/*/*/*.c)
ifeq ($(cinfer_sources),)
$(error CINFER is '$(CINFER)', expected the folder cinfer of graphio's sources, which has src/*/*.c)
endif
cinfer_objects := $(patsubst $(CINFER)/src/%.c,cinfer-objects/%.o,$(cinfer_sources))
cinfer_archive := cinfer-objects/libcinfer.a
cinfer_cflags := -I$(CINFER)/include -DCI_STATIC
cinfer_libs := $(cinfer_archive)
LDLIBS ?= -lm -pthread
else
cinfer_cflags := $(shell $(PYTHON) -m graphio.cinfer --cflags)
cinfer_libs := $(shell $(PYTHON) -m graphio.cinfer --libs)
ifeq ($(cinfer_libs),)
$(error '$(PYTHON) -m graphio.cinfer --libs' failed: PYTHON names the Python that has graphio)
endif
endif

@name@_example: @sources@ @headers@ $(cinfer_archive)
	$(CC) -std=c11 $(CFLAGS) $(cinfer_cflags) $(LDFLAGS) @sources@ $(cinfer_libs) $(LDLIBS) -o $@

cinfer-objects/libcinfer.a: $(cinfer_objects)
	$(AR) rcs $@ $^

cinfer-objects/%.o: $(CINFER)/src/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) $(cinfer_cflags) -MMD -c $< -o $@

-include $(cinfer_objects:.o=.d)
"""


def makefile(name: str, files: Sequence[str]) -> str:
    """The text of `<name>.mk`, in GNU make's language.

    Args:
        name: prefix of the program, `<name>_example`.
        files: sources and headers that it is made of, in the makefile's folder.
    """
    text = _TEXT.replace("@name@", name)
    for kind, ending in (("sources", ".c"), ("headers", ".h")):
        text = text.replace(f"@{kind}@", " ".join(f for f in files if f.endswith(ending)))
    return text
