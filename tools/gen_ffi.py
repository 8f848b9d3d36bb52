"""Writes the C source of the Python binding from the public header of cinfer.

    python tools/gen_ffi.py cinfer/include/cinfer.h OUT.c

CMake runs it. The declarations are what stands between the header's `begin cdef` and `end cdef`
marks; the compiler checks them against the header itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from cffi import FFI

#: Functions that the binding uses besides the public header; the static library has them, the ABI
#: does not.
PRIVATE = """
ci_status ci_checkpoint_save(ci_state *state, const void *meta, size_t meta_bytes,
                             const char *prefix, const ci_save_options *options,
                             ci_error *error);
void ci_file_start(int handle, uint64_t offset, uint64_t bytes);
"""

#: graphio/cinfer/times.c
TIMES = """
typedef struct graphio_step_end { int64_t at; const char *name; size_t length; } graphio_step_end;
typedef struct graphio_times { size_t count, capacity; graphio_step_end *ends; } graphio_times;
graphio_times *graphio_times_new(void);
void graphio_times_free(graphio_times *times);
void graphio_times_note(void *user, const char *name, size_t length);
"""

#: Python functions that the library calls; graphio/cinfer/host.py and custom.py define them.
CALLBACKS = """
extern "Python" ci_status graphio_host_call(void *user, ci_host_call *call, ci_error *error);
extern "Python" int32_t graphio_interrupted(void *user);
extern "Python" ci_status graphio_custom_shape(void *user, ci_call *call, ci_error *error);
extern "Python" ci_status graphio_custom_run(void *user, ci_call *call, ci_error *error);
"""

#: The module's own beginning is in graphio/cinfer/runner.c, which adds types to what cffi makes.
RENAMED = "#define PyInit__native graphio_cffi_init\n"


def declarations(header: str) -> str:
    """The part of the header that cffi reads: no comments, no CI_API."""
    marked = re.search(r"/\* begin cdef\b.*?\*/(.*)/\* end cdef \*/", header, re.DOTALL)
    if marked is None:
        raise SystemExit('gen_ffi: the header has no "begin cdef" and "end cdef" comments')
    text = re.sub(r"/\*.*?\*/", "", marked.group(1), flags=re.DOTALL)
    return re.sub(r"\bCI_API\s+", "", text)


def main() -> None:
    header, out = map(Path, sys.argv[1:3])
    text = header.read_text(encoding="utf-8")
    ffi = FFI()
    ffi.cdef(declarations(text) + "\n#define CI_ABI ...\n" + PRIVATE + TIMES + CALLBACKS)
    ffi.set_source("graphio.cinfer._native", RENAMED + '#include "cinfer.h"\n' + PRIVATE + TIMES)
    ffi.emit_c_code(str(out))


if __name__ == "__main__":
    main()
