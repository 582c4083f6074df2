/* The nearest others of each of n posts, by words and vectors: siamese_news.scoring.smoothing.

   A row of the matrix of similarities is completed and searched while it is in the processor's
   cache. Sums come in the order in which SciPy makes them, without fused operations, so the numbers
   are the same. Memory belongs to the caller; built by setup.py. */

#include <stdint.h>
#include <string.h>

const uint64_t SOURCE_HASH = HASH_OF_SOURCE; /* what this was built from */

typedef struct {
    int64_t posts, features, count;
    const int32_t *starts;  /* (posts + 1,) where the features of a post begin */
    const int32_t *columns; /* which they are, and their values */
    const float *values;
    double dense;           /* the weight of vectors */
    double threshold;
    int64_t single;         /* whether similarities are compared in single precision */
    double *similarities;   /* (posts, posts) products of vectors in, similarities out */
    int64_t *nearest;       /* (posts, count) each post's own number in, its nearest out */
    uint8_t *undecided;     /* (posts,) out: several are equally near at the end of its list */
    int32_t *by_feature;    /* (features + 1,) scratch: where the posts of a feature begin */
    int32_t *posts_of;      /* one for each value, scratch: which they are, and their values */
    float *values_of;
    float *sums;            /* (posts,) scratch */
    double *near;           /* (posts,) scratch: similarities over the threshold, and whose */
    int64_t *near_posts;
    double *best;           /* (count,) scratch: a heap of the highest, the lowest on top */
} Posts;

static void turn(const Posts *p) {
    memset(p->by_feature, 0, (size_t)(p->features + 1) * sizeof(int32_t));
    for (int32_t at = 0; at < p->starts[p->posts]; at++) p->by_feature[p->columns[at] + 1]++;
    for (int64_t feature = 0; feature < p->features; feature++)
        p->by_feature[feature + 1] += p->by_feature[feature];
    for (int64_t post = 0; post < p->posts; post++)
        for (int32_t at = p->starts[post]; at < p->starts[post + 1]; at++) {
            int32_t place = p->by_feature[p->columns[at]]++;
            p->posts_of[place] = (int32_t)post;
            p->values_of[place] = p->values[at];
        }
    /* Each beginning was moved to its end, which is where the next one begins. */
    memmove(p->by_feature + 1, p->by_feature, (size_t)p->features * sizeof(int32_t));
    p->by_feature[0] = 0;
}

static void sink(double *heap, int64_t size, double value) {
    int64_t place = 0;
    for (int64_t child = 1; child < size; child = 2 * place + 1) {
        if (child + 1 < size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = value;
}

/* The least of the `count` highest values. */
static double lowest_of_best(const Posts *p, int64_t found) {
    for (int64_t place = 0; place < p->count; place++) p->best[place] = -1e300;
    for (int64_t at = 0; at < found; at++)
        if (p->near[at] > p->best[0]) sink(p->best, p->count, p->near[at]);
    return p->best[0];
}

void find_nearest(const Posts *p) {
    turn(p);
    for (int64_t post = 0; post < p->posts; post++) {
        double *row = p->similarities + post * p->posts;
        memset(p->sums, 0, (size_t)p->posts * sizeof(float));
        for (int32_t at = p->starts[post]; at < p->starts[post + 1]; at++) {
            float value = p->values[at];
            int32_t feature = p->columns[at];
            for (int32_t of = p->by_feature[feature]; of < p->by_feature[feature + 1]; of++)
                p->sums[p->posts_of[of]] += value * p->values_of[of];
        }
        for (int64_t other = 0; other < p->posts; other++)
            row[other] = row[other] * p->dense + (double)p->sums[other] * (1 - p->dense);
        row[post] = -1;
        int64_t found = 0;
        float threshold = (float)p->threshold;
        for (int64_t other = 0; other < p->posts; other++) {
            double value = p->single ? (double)(float)row[other] : row[other];
            p->near[found] = value;
            p->near_posts[found] = other;
            found += value > (p->single ? (double)threshold : p->threshold);
        }
        int64_t *nearest = p->nearest + post * p->count;
        if (found <= p->count) {
            memcpy(nearest, p->near_posts, (size_t)found * sizeof(int64_t));
            continue;
        }
        double lowest = p->count ? lowest_of_best(p, found) : 0;
        int64_t chosen = 0;
        for (int64_t at = 0; at < found; at++) {
            if (p->near[at] < lowest) continue;
            if (chosen < p->count) nearest[chosen] = p->near_posts[at];
            chosen++;
        }
        p->undecided[post] = chosen > p->count;
    }
}
