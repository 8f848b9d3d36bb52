"""Pictures and sounds in the formats of files: decoding and encoding them in a graph.

decoding, encoding   pictures; sounds: WAV; calls: nodes that call functions of graphio.engine.media
"""
