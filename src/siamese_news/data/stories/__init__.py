"""The bundled corpus of invented stories (see README.md in this folder)."""
