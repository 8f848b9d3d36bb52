"""Queues, the readers and batches that use them, and the threads that fill them.

May import summary and below.

    contents        what a session has of a queue; attempts wait in it for elements or for capacity
    queue_ops       FIFOQueue and its relatives: operations of a graph
    queue_runner    QueueRunner: threads that run operations

A run waits outside of its engine: graphio/ops/base/waiting.py.
"""
