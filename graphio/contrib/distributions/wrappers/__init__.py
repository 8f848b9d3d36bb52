"""Distributions that are made of others.

May import distributions and below.

    independent       batch axes as axes of the event
    quantized         numbers rounded up
    batch_reshape     another shape of the batch
    autoregressive    parameters from the sample
    conditional       methods with further arguments
"""
