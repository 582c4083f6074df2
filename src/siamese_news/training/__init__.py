"""Training: the tasks `link`, `distil` and `rerank`, and their shared parts."""
