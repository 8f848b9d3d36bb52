"""Statistics of pipelines: aggregator keeps them, measuring takes them."""
