/* The walk of py3langid's automaton over the bytes of a text, which its `visit_counts` defines.

   Memory belongs to the caller; built by setup.py, loaded by siamese_news.text.languages. */

#include <stdint.h>

const uint64_t SOURCE_HASH = HASH_OF_SOURCE; /* what this was built from */

/* Write the features of a text in their order, at most one a byte; return how many there are. */
int64_t visit(const uint32_t *moves, const uint16_t *rows, const int32_t *feature_of,
              const uint8_t *text, int64_t length, int32_t *features) {
    uint32_t state = 0;
    int64_t count = 0;
    for (int64_t at = 0; at < length; at++) {
        state = moves[((uint32_t)rows[state] << 8) + text[at]];
        if (feature_of[state] >= 0) features[count++] = feature_of[state];
    }
    return count;
}
