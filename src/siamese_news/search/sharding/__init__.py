"""A `filter` in parts: each reads, observes and scores its share of the posts.

`advance` does the next step of one part, in any process on any machine that sees the folder beside
the output; `merge` joins what all parts observed, and `finish` what they found. Rows and scores are
those of a single process: what is observed adds up in any order, and a score depends on the
article, the post and the pool alone.
"""
