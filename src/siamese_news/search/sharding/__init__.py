"""A `filter` in parts: each reads, observes and scores its share of the posts.

`step_of` is the next step of a part, for any process that can access the output folder; `merge`
joins the observations of all parts, and `finish` their results. Rows and scores are those of a
single process: observations can be added in any order, and a score depends only on the article, the
post and the pool.
"""
