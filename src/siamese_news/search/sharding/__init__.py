"""A `filter` in parts, which share no memory."""
