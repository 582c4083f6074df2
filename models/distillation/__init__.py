"""Recipe ``task=distil`` of a clone: an encoder learns a teacher's vectors (docs/library.md)."""
