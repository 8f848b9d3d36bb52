"""A folder on sys.path while the hook is installed: new processes of multiprocessing get sys.path
alone of a program, and find tensorflow there. May import python.

    tensorflow    installs the hook
"""
