# The targets, what they are made from, and what changes their inputs.
set(FUZZ_TARGETS wire run)
set(model_mutator mutate.c mutate_file.c message.c)
set(FUZZ_wire_SOURCES wire.c harness.c)
set(FUZZ_wire_MUTATOR ${model_mutator})
set(FUZZ_run_SOURCES run.c feeds.c harness.c)
set(FUZZ_run_MUTATOR ${model_mutator})
