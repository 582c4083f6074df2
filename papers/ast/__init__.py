"""The tables and figures of the AST paper (Danovitch 2020, Adaptive Siamese Transformer)."""
