"""Searching: from seed articles and a stream of posts to ranked, filtered, explained lists."""
