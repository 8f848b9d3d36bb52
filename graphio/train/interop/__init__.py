"""Variables in the files of other frameworks: strict readers, and writers of the plain ones.

A file is data: nothing in it is executed or imported, names in it lead to no file outside its
folder, and sizes are compared with the bytes that are there before memory is taken.
"""
