"""Helpers for files, Markdown tables, the terminal and the provenance of results."""
