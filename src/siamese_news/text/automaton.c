/* The scores of py3langid for many texts: the walk of its automaton over their bytes, which its
   `visit_counts` defines, and naive Bayes over the features on the way, which is `_sparse_score`.

   Memory belongs to the caller; built by setup.py, loaded by siamese_news.text.languages. */

#include <stdint.h>

const uint64_t SOURCE_HASH = HASH_OF_SOURCE; /* what this was built from */

/* Write the scores (texts, classes) of texts whose bytes are one after the other, each up to its
   end; a text without a feature has zeros. The detector is `moves`, `rows`, `feature_of` a state
   (or -1), `table` (features, classes) and `priors` (classes). `logs` has the logarithms of 1 + n
   for n up to the longest text, `counts` a zero for each feature, before and after, and `visited`
   room for a feature a byte. Sums are in another order than in Python. */
void score(const uint32_t *moves, const uint16_t *rows, const int32_t *feature_of,
           const float *table, const float *priors, int64_t classes, const uint8_t *bytes,
           const int64_t *ends, int64_t texts, const float *logs, int32_t *counts,
           int32_t *visited, float *scores) {
    int64_t at = 0;
    for (int64_t text = 0; text < texts; text++, scores += classes) {
        int64_t different = 0;
        uint32_t state = 0;
        for (; at < ends[text]; at++) {
            state = moves[((uint32_t)rows[state] << 8) + bytes[at]];
            int32_t feature = feature_of[state];
            if (feature >= 0 && !counts[feature]++) visited[different++] = feature;
        }
        for (int64_t c = 0; c < classes; c++) scores[c] = different ? priors[c] : 0;
        for (int64_t n = 0; n < different; n++) {
            const float *row = table + visited[n] * classes;
            float weight = logs[counts[visited[n]]];
            counts[visited[n]] = 0;
            for (int64_t c = 0; c < classes; c++) scores[c] += weight * row[c];
        }
    }
}
