"""Helpers that any package may need: errors, logging, progress, marks of public functions.

May import Python's library, numpy and tqdm, no other package of graphio.

    errors           the classes of errors, under TensorFlow's names
    problems         gathers all problems of a model, to report them in one error
    api_guard        marks of public functions: what a call that fails rolls back
    progress         long work reports how far it is; progress_bars shows that with tqdm
    buffers          memory for arrays that are overwritten at once
    collecting       pauses of Python's collector of cycles
    html             tables for notebooks
    installation     how graphio was installed; hints for missing extras
    old_paths        module paths of version 0.1, which stay importable
"""
