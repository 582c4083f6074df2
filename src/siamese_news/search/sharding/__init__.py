"""A `filter` that can be interrupted, in parts that share no memory."""
