"""Distributions that are made of others.

May import distributions and below.

    independent       batch axes as axes of the event
    quantized         numbers rounded up
    autoregressive    parameters from the sample
    conditional       methods with further arguments
"""
