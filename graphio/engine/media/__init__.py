"""Pictures and sounds in the formats of files: functions that both engines know by their names.

functions   the names of functions in models, with the options in them
operations  what the functions do with arrays
decoding    a picture of any of the formats jpeg, png, gif and bmp, which decode as TensorFlow
pixels      arrays of pixels; pillow: the library that decodes, imported late
wav         sounds
distortion  random crops
"""
