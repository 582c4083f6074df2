"""The lexical head: a text as weights on the words that occur in it, compared by their product.

An article's weight on a word is ``idf ** power * lead * (1 + log tf)``, where ``lead = 1 / (1 +
p / lead_half_life)`` for the place p of its first occurrence among the article's content words:
news puts first what matters most. The vector has length 1. A post's weight is ``idf ** power``; its
vector is divided by ``(1 - pivot) * typical + pivot * length``, the pivoted length normalization of
Singhal et al. (SIGIR 1996), with the typical length over background posts.

Pairs of neighboring content words are a second vocabulary, weighted and normalized in the same way
by themselves; `TermOptions.bigram_weight` is their share of the score.

The IDF comes from background text. In a pool that is mostly about the story itself (`FocusedPool`)
it is mixed with the pool's, geometrically, and the first words of the article, its headline, count
as a second vector: there what tells articles apart is rare in the pool and occurs in the headline.

With `RocchioFeedback` an article's vector moves towards the mean of its best posts that are alike.

Where the encoder has factors, a word's weight is multiplied by the mean factor over its occurrences
in the text, and that of a pair by the mean product.
"""
