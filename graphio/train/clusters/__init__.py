"""Clusters: descriptions of processes, devices of their jobs, and a server that is this process."""
