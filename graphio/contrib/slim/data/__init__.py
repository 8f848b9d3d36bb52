"""Data sets by their files, and decoders of records to named items."""
