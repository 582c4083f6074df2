"""Posts as they come in: a stream is scored by what its last posts teach."""
