"""The command `graphio`: app.py has the commands, commands/ a file for each.

May import every package. A command collects facts, plain dicts and lists, and shows them: as JSON
with --json, else as text. So scripts and people read the same facts.

    ending           exit codes (exits) and errors; streams: closed and full outputs
    opening          recognises files: a new format of models is added here; cost, extras
    arguments        shared options; fitting: options without effect; conversions: of `convert`;
                     endings: names of written files
    giving           inputs of a run: reading_inputs, random_inputs; writing_outputs
    engines          engines for `bench` and others, also those of other projects
"""
