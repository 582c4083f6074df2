"""Training: the tasks `link` and `rerank`, and what the recipes in models/ share with them."""
