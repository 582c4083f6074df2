"""Recipe ``task=distil``: any encoder learns the vectors of a sentence-transformers teacher."""
