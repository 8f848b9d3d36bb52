"""The language-independent agreement, from Python: messages, files, element types, errors."""
