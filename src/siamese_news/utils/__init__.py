"""Files, tables, the terminal and where a result came from."""
