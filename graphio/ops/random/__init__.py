"""Random numbers: by the state of a generator, or by a seed alone."""
