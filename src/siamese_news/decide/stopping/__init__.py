"""When to stop labeling: exact rules, and the goals that a user names."""
