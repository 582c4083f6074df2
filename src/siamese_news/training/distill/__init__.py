"""The distil task: word vectors that learn ranked lists from a teacher."""
