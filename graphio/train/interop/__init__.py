"""Variables in the files of other frameworks: strict readers, and writers of the plain ones.

A file is data: nothing in it is executed or imported, names in it lead to no file outside its
folder, and sizes are compared with the file's length before memory is allocated.

    formats          recognises a format: a new reader is added here
    source           the interface of readers; sources: where the values of a restore come from
    reading          helpers of readers; table, snappy, wire, zip_file, pickle_reader: containers
    values           reading for inspection; exporting: writing
"""
