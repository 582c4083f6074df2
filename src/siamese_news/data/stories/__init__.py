"""The bundled corpus of invented stories (see README.md beside this file)."""
