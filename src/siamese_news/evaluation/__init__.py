"""Figures, tables and files of systems on evaluation sets."""
