"""Queues, the readers and batches that use them, and the threads that fill them.

May import summary and below.

    contents        a queue as a session has it; attempts wait in it for elements or for capacity
    queue_ops       FIFOQueue and its relatives: operations of a graph
    readers         TextLineReader and its relatives; reader_state: one as a session has it;
                    record_files: their records
    producers       string_input_producer and its relatives
    batching        tf.train.batch and its relatives; sparse_elements: SparseTensors in queues
    building        how their methods build operations
    accumulators    ConditionalAccumulator
    queue_runner    QueueRunner: threads that run operations; feeding: with values of functions

A run waits outside of its engine: graphio/ops/base/waiting.py.
"""
