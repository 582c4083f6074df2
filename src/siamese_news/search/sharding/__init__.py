"""A `filter` in parts: each reads, observes and scores its share of the posts.

`advance` does the next step of one part, in any process that can access the output folder; `merge`
joins what all parts observed, and `finish` what they found. Rows and scores are those of a single
process: observations can be added in any order, and a score depends only on the article, the post
and the pool.
"""
