"""Pictures and sounds, and what TensorFlow makes of them.

files.py        makes the files, by Pillow and by hand: python -m media_golden.files
scenes.py       what is computed from them, in TensorFlow and in graphio
tensorflow.py   records the values: python -m media_golden.tensorflow, with TensorFlow 2.21's Python
golden.json     the files and the values
"""
