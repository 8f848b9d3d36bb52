"""Local folders and object stores: paths, durable writes, the commit record of a save.

May import support.

    files            files that a crash leaves old or new; gfile: tf.io.gfile
    stores           folders of checkpoints behind one interface (store_protocols)
    remote           object stores, through fsspec; remote_files does the same for tf.io.gfile
    store_paths      paths and URLs
    commit_record    the file whose renaming to `P.index` makes a checkpoint durable
    native           functions of cinfer that files use, where it is installed
"""
