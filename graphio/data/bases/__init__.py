"""Rows and entries of data bases: sql, of SQLite; lmdb_files, of LMDB; counting: positions."""
