"""Training: the tasks `link`, `distil` and `rerank`, and what they share."""
