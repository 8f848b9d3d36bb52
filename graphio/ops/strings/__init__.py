"""Operators on strings: parts, patterns, numbers, records of features."""
