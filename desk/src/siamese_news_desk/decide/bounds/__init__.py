"""Exact bounds: sequential tables and the descent over sets, hypergeometric bounds, label noise."""
