"""What people say about posts: journal, sheets, matching, and the reader of results."""
