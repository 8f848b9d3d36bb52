# The targets, what they are made from, and what changes their inputs.
set(FUZZ_TARGETS wire run checkpoint)
set(FUZZ_wire_SOURCES wire.c harness.c)
set(FUZZ_wire_MUTATOR mutate_file.c multiply.c mutate.c message.c)
set(FUZZ_run_SOURCES run.c feeds.c harness.c)
set(FUZZ_run_MUTATOR mutate_file.c multiply.c mutate.c message.c)
set(FUZZ_checkpoint_SOURCES checkpoint.c bundle.c feeds.c harness.c)
set(FUZZ_checkpoint_MUTATOR mutate_bundle.c mutate.c message.c)
# Those that count basic blocks have a search of their own, and no sanitizer: ../tests/work.h.
set(FUZZ_COUNTING_TARGETS cost)
set(FUZZ_cost_SOURCES cost.c harness.c)
set(FUZZ_cost_MUTATOR search.c kept.c mutate_file.c multiply.c mutate.c message.c)
