"""Figures, tables and files of models on evaluation sets."""
