"""The Saver: saving, restoring, retention, inspection and comparison of checkpoints."""
