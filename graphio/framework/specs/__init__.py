"""Descriptions of values by their structure, dtypes and shapes: the TypeSpecs."""
