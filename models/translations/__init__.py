"""Recipe of a clone: a star reads the words of other languages, from translations alone."""
