"""Recipe ``task=distil`` (run with PYTHONPATH=.): any encoder learns the vectors of a sentence-transformers teacher."""
