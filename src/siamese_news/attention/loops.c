/* Attention on a CPU. The ring takes one pass over memory: scores, alpha-entmax and mixing of 16
   tokens at a time. The star only has its weights here.

   States lie with their tokens innermost, (heads * size, columns), so 16 neighboring tokens are one
   vector. The keys of token i are the tokens i - radius ... i + radius of its text that are no
   padding, its own embedding if there is one, and the relay of its text. Softmax is alpha = 1.
   Built by setup.py, for each kind of processor; needs GCC or Clang. */

#include <stdint.h>
#include <string.h>

const uint64_t SOURCE_HASH = HASH_OF_SOURCE; /* what this was built from */

#define LANES 16
#define KEYS 16
#define MAX_STEPS 20
#define NO_KEY -1e30f
#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

/* A contiguous matrix (heads * size, columns), whose column i - shift is token i. */
typedef struct {
    float *data;
    int64_t shift, columns;
} Matrix;

typedef struct {
    int64_t heads, size, radius, length; /* length: tokens of a text */
    int64_t start, stop;                 /* tokens of this call, among all texts * length */
    float scale;
    const float *alphas;                 /* (heads,) */
    const uint8_t *mask;                 /* (texts * length,) */
    Matrix query, key, value, own_key, own_value; /* own_key.data may be null */
    Matrix relay_key, relay_value;       /* a column a text; shift: the text of column 0 */
    Matrix out;
    float *weights;                      /* (heads, keys, stop - start), or null */
    /* Backward: the gradient of out, and where those of all others go; the last three are added. */
    Matrix grad, d_query, d_key, d_value, d_own_key, d_own_value;
    float *d_scores; /* (heads, keys, tokens) */
    Matrix d_relay_key, d_relay_value;
    float *d_alphas;
} Ring;

INLINE vec all(float x) { return x - (vec){}; }
INLINE vec pick(ints mask, vec yes, vec no) {
    return (vec)((mask & (ints)yes) | (~mask & (ints)no));
}
/* A loop, which GCC turns into one instruction; b where a is NaN. */
INLINE vec larger(vec a, vec b) {
    for (int i = 0; i < LANES; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
    return a;
}

INLINE float total(vec x) {
    float sum = 0;
    for (int i = 0; i < LANES; i++) sum += x[i];
    return sum;
}

INLINE int any(ints mask) {
    uint64_t parts[LANES / 2], some = 0;
    memcpy(parts, &mask, sizeof parts);
    for (int i = 0; i < LANES / 2; i++) some |= parts[i];
    return some != 0;
}

static __attribute__((noinline)) vec load_part(const float *row, int64_t at, int64_t columns) {
    vec x = {};
    for (int i = 0; i < LANES; i++)
        if (at + i >= 0 && at + i < columns) x[i] = row[at + i];
    return x;
}

static __attribute__((noinline)) void store_part(float *row, int64_t at, int64_t columns, vec x) {
    for (int i = 0; i < LANES; i++)
        if (at + i >= 0 && at + i < columns) row[at + i] = x[i];
}

/* Columns at ... at + 15; those beyond the ends are 0 unless `whole` says that there are none. */
INLINE vec load(const float *row, int64_t at, int64_t columns, int whole) {
    vec x;
    if (!whole) return load_part(row, at, columns);
    memcpy(&x, row + at, sizeof x);
    return x;
}

INLINE void store(float *row, int64_t at, int64_t columns, int whole, vec x) {
    if (!whole) store_part(row, at, columns, x);
    else memcpy(row + at, &x, sizeof x);
}

INLINE vec log2_of(vec x) { /* normal numbers above 0; 2^e m with m in sqrt(.5) ... sqrt(2) */
    ints bits = (ints)x, e = (bits - 0x3f3504f3) >> 23;
    vec t = (vec)(bits - (e << 23)) - 1.0f, z = t * t;
    vec p = all(7.0376836292e-2f); /* of Cephes' logf (Moshier) */
    p = p * t - 1.1514610310e-1f;
    p = p * t + 1.1676998740e-1f;
    p = p * t - 1.2420140846e-1f;
    p = p * t + 1.4249322787e-1f;
    p = p * t - 1.6668057665e-1f;
    p = p * t + 2.0000714765e-1f;
    p = p * t - 2.4999993993e-1f;
    p = p * t + 3.3333331174e-1f;
    return __builtin_convertvector(e, vec) + (t + (p * t * z - 0.5f * z)) * 1.44269504088896f;
}

INLINE vec exp2_of(vec x) { /* x <= 0 */
    x = larger(x, all(-126.0f));
    vec whole = x + 12582912.0f; /* 1.5 * 2^23: rounds to an integer */
    ints e = (ints)whole - 0x4b400000;
    vec t = (x - (whole - 12582912.0f)) * 0.693147180559945f;
    vec p = all(1.9875691500e-4f); /* of Cephes' expf (Moshier) */
    p = p * t + 1.3981999507e-3f;
    p = p * t + 8.3334519073e-3f;
    p = p * t + 4.1665795894e-2f;
    p = p * t + 1.6666665459e-1f;
    p = p * t + 5.0000001201e-1f;
    return (p * t * t + t + 1) * (vec)((e + 127) << 23);
}

/* mass^-beta - 1 for mass >= 1; unless `exact`, by a Pade approximant, which has no logarithm to
   wait for. It lies above, so a step of Newton's method does not overshoot. */
INLINE vec fall(vec mass, float beta, int exact) {
    vec over = mass - 1;
    if (exact) return exp2_of(log2_of(mass) * -beta) - 1;
    return over * -beta / (1 + (1 + beta) / 2 * over);
}

/* Scores of each token's keys -> weights, in place. Newton's method on the norm ||x||_m with
   m = 1 / (alpha - 1), as in siamese_news.sparsity.entmax. */
INLINE void weigh(vec *z, const int keys, float alpha) {
    vec top = z[0], mass = {}, slope[KEYS], change = {};
    for (int k = 1; k < keys; k++) top = larger(z[k], top);
    if (alpha == 1.0f)
        for (int k = 0; k < keys; k++) {
            vec e = exp2_of((z[k] - top) * 1.44269504088896f);
            z[k] = pick(z[k] > NO_KEY / 2, e, all(0));
            mass += z[k];
        }
    else {
        float beta = alpha - 1, power = 1 / beta - 1;
        for (int k = 0; k < keys; k++) z[k] = larger(1 + beta * (z[k] - top), all(-1e20f));
        for (int step = 0; step < MAX_STEPS; step++) {
            vec slopes = {};
            mass = all(0);
            for (int k = 0; k < keys; k++) {
                vec x = larger(z[k], all(1e-30f));
                slope[k] = pick(z[k] > 0, exp2_of(log2_of(x) * power), all(0));
                slopes += slope[k];
                mass += slope[k] * x;
            }
            mass = larger(mass, all(1));
            change = fall(mass, beta, step == 0) * mass / larger(slopes, all(1));
            for (int k = 0; k < keys; k++) z[k] += change;
            if (!any(change < -1e-5f)) break; /* convergence is quadratic: 1e-7 is left */
        }
        mass = all(0);
        for (int k = 0; k < keys; k++) {
            vec x = larger(z[k] - change, all(1e-30f));
            vec p = larger(slope[k] * (x + change * (1 / beta)), all(0));
            z[k] = pick(z[k] > 0, p, all(0));
            mass += z[k];
        }
    }
    mass = 1 / larger(mass, all(1e-30f));
    for (int k = 0; k < keys; k++) z[k] *= mass;
}

/* 16 tokens: lane i is token + i, at `position` of text text + `later`. */
typedef struct {
    int64_t token, text, head, count; /* lanes in use */
    int whole;                        /* whether no load leaves its matrix */
    int texts;                        /* that have a lane, after the first */
    ints position, later;
} Place;

/* The lanes whose neighbor at this distance is a key: of the same text, and no padding. */
INLINE ints neighbors(const Ring *r, const Place *at, int distance) {
    uint8_t bytes[LANES] = {};
    ints place = at->position + distance, real;
    const uint8_t *mask = r->mask + at->token + distance;
    if (at->whole) memcpy(bytes, mask, sizeof bytes);
    else
        for (int i = 0; i < LANES; i++)
            if (place[i] >= 0 && place[i] < r->length && i < at->count) bytes[i] = mask[i];
    for (int i = 0; i < LANES; i++) real[i] = bytes[i];
    return (place >= 0) & (place < (int32_t)r->length) & (real != 0);
}

/* The relay's number for each lane, of row d. */
INLINE vec relay_of(const Place *at, Matrix relays, int64_t d) {
    const float *row = relays.data + d * relays.columns + at->text - relays.shift;
    vec x = all(row[0]);
    for (int t = 1; t <= at->texts; t++) x = pick(at->later == t, all(row[t]), x);
    return x;
}

INLINE void relay_add(const Place *at, Matrix relays, int64_t d, vec x) {
    float *row = relays.data + d * relays.columns + at->text - relays.shift;
    if (!at->texts) row[0] += total(x);
    else
        for (int t = 0; t <= at->texts; t++) row[t] += total(pick(at->later == t, x, all(0)));
}

/* The products of a matrix with the keys, or with the values, of 16 tokens: (keys,). Of `next` and
   these, the lines that the 16 tokens after them need are fetched ahead. */
INLINE void products(const Ring *r, const Place *at, const int radius, const int own, Matrix states,
                     Matrix sides, Matrix owns, Matrix relays, Matrix next, vec *z) {
    const int side = 2 * radius + 1;
    for (int k = 0; k < side + own + 1; k++) z[k] = all(0);
    for (int64_t d = at->head * r->size; d < (at->head + 1) * r->size; d++) {
        vec q = load(states.data + d * states.columns, at->token - states.shift, states.columns,
                     at->whole);
        const float *row = sides.data + d * sides.columns;
        int64_t column = at->token - radius - sides.shift;
        if (at->whole) {
            __builtin_prefetch(states.data + d * states.columns + at->token - states.shift + LANES);
            __builtin_prefetch(row + column + 2 * LANES);
            __builtin_prefetch(next.data + d * next.columns + at->token - next.shift + 2 * LANES);
        }
        for (int k = 0; k < side; k++)
            z[k] += q * load(row, column + k, sides.columns, at->whole);
        if (own)
            z[side] += q * load(owns.data + d * owns.columns, at->token - owns.shift, owns.columns,
                                at->whole);
        z[side + own] += q * relay_of(at, relays, d);
    }
}

/* Values, or keys, summed by weights of the keys; the transpose of `products`. */
INLINE void mix(const Ring *r, const Place *at, const int radius, const int own, const vec *z,
                Matrix sides, Matrix owns, Matrix relays, Matrix out) {
    const int side = 2 * radius + 1;
    for (int64_t d = at->head * r->size; d < (at->head + 1) * r->size; d++) {
        vec sum = z[side + own] * relay_of(at, relays, d);
        const float *row = sides.data + d * sides.columns;
        int64_t column = at->token - radius - sides.shift;
        for (int k = 0; k < side; k++)
            sum += z[k] * load(row, column + k, sides.columns, at->whole);
        if (own)
            sum += z[side] * load(owns.data + d * owns.columns, at->token - owns.shift,
                                  owns.columns, at->whole);
        float *to = out.data + d * out.columns;
        store(to, at->token - out.shift, at->token - out.shift + at->count, at->whole, sum);
    }
}

/* The gradients of own keys or values and of the relay's, which no two tokens share or all do. */
INLINE void scatter(const Ring *r, const Place *at, const int radius, const int own, const vec *z,
                    Matrix states, Matrix owns, Matrix relays) {
    const int side = 2 * radius + 1;
    for (int64_t d = at->head * r->size; d < (at->head + 1) * r->size; d++) {
        vec q = load(states.data + d * states.columns, at->token - states.shift, states.columns,
                     at->whole);
        if (own)
            store(owns.data + d * owns.columns, at->token - owns.shift,
                  at->token - owns.shift + at->count, at->whole, q * z[side]);
        relay_add(at, relays, d, q * z[side + own]);
    }
}

/* The gradient of the keys or values at 16 tokens: of each token that has them as a key, the state
   times its weight (keys, tokens); added to what a token has from itself. Weights are 0 across the
   ends of a text. */
INLINE void gather(const Ring *r, const Place *at, const int radius, const float *weights,
                   Matrix states, Matrix out, Matrix own) {
    int64_t tokens = r->stop - r->start;
    for (int64_t d = at->head * r->size; d < (at->head + 1) * r->size; d++) {
        float *to = out.data + d * out.columns;
        vec sum = {};
        if (out.data == own.data)
            sum = load(to, at->token - out.shift, at->token - out.shift + at->count, at->whole);
        for (int k = 0; k < 2 * radius + 1; k++) {
            int64_t from = at->token + radius - k;
            sum += load(weights + k * tokens, from - r->start, tokens, at->whole) *
                   load(states.data + d * states.columns, from - states.shift, states.columns,
                        at->whole);
        }
        store(to, at->token - out.shift, at->token - out.shift + at->count, at->whole, sum);
    }
}

/* Weights and mixed values of 16 tokens; of lanes that are not in use, nothing is stored. */
INLINE void attend(const Ring *r, const Place *at, const int radius, const int own) {
    const int side = 2 * radius + 1, keys = side + own + 1;
    vec z[KEYS];
    products(r, at, radius, own, r->query, r->key, r->own_key, r->relay_key, r->value, z);
    vec broken = {}; /* NaN where a score is NaN or infinite: comparisons would hide it */
    for (int k = 0; k < keys; k++) {
        z[k] *= r->scale;
        if (k < keys - 1)
            z[k] = pick(neighbors(r, at, k < side ? k - radius : 0), z[k], all(NO_KEY));
        broken += z[k] * 0;
    }
    weigh(z, keys, r->alphas[at->head]);
    z[keys - 1] += broken;
    int64_t tokens = r->stop - r->start;
    if (r->weights)
        for (int k = 0; k < keys; k++)
            memcpy(r->weights + (at->head * keys + k) * tokens + at->token - r->start, &z[k],
                   at->count * sizeof(float));
    mix(r, at, radius, own, z, r->value, r->own_value, r->relay_value, r->out);
}

/* Correia et al. (2019), Proposition 1, between the two products. */
INLINE void attend_back(const Ring *r, const Place *at, const int radius, const int own) {
    const int keys = 2 * radius + 1 + own + 1;
    int64_t tokens = r->stop - r->start, first = at->head * keys * tokens + at->token - r->start;
    float beta = r->alphas[at->head] - 1;
    vec w[KEYS], z[KEYS], slope[KEYS], slopes = {}, mean = {}, by_alpha = {};
    products(r, at, radius, own, r->grad, r->value, r->own_value, r->relay_value, r->key, z);
    for (int k = 0; k < keys; k++) {
        w[k] = all(0);
        memcpy(&w[k], r->weights + first + k * tokens, at->count * sizeof(float));
        vec logs = log2_of(larger(w[k], all(1e-30f)));
        slope[k] = pick(w[k] > 0, exp2_of(logs * (1 - beta)), all(0));
        slopes += slope[k];
        mean += slope[k] * z[k];
    }
    mean /= larger(slopes, all(1e-30f));
    scatter(r, at, radius, own, w, r->grad, r->d_own_value, r->d_relay_value);
    for (int k = 0; k < keys; k++) {
        vec logs = log2_of(larger(w[k], all(1e-30f)));
        by_alpha += (1 - beta * 0.693147180559945f * logs) * w[k] * (z[k] - mean);
        z[k] = slope[k] * (z[k] - mean) * r->scale;
        memcpy(r->d_scores + first + k * tokens, &z[k], at->count * sizeof(float));
    }
    if (r->d_alphas) r->d_alphas[at->head] += total(by_alpha) / (beta * beta);
    mix(r, at, radius, own, z, r->key, r->own_key, r->relay_key, r->d_query);
    scatter(r, at, radius, own, z, r->query, r->d_own_key, r->d_relay_key);
}

/* Once the scores of all tokens have their gradient. */
INLINE void neighbors_back(const Ring *r, const Place *at, const int radius, const int own) {
    int64_t first = at->head * (2 * radius + 1 + own + 1) * (r->stop - r->start);
    gather(r, at, radius, r->d_scores + first, r->query, r->d_key, r->d_own_key);
    gather(r, at, radius, r->weights + first, r->grad, r->d_value, r->d_own_value);
}

INLINE int inside(Matrix m, int64_t first, int64_t stop) {
    return !m.data || (first >= m.shift && stop <= m.shift + m.columns);
}

typedef void Step(const Ring *, const Place *, const int, const int);

/* A step for 16 tokens after the other, of heads first ... last - 1. */
INLINE void each(const Ring *r, int64_t first, int64_t last, const int radius, const int own,
                 Step step) {
    int32_t lane[LANES];
    for (int i = 0; i < LANES; i++) lane[i] = i;
    Place at;
    for (at.head = first; at.head < last; at.head++) {
        at.text = r->start / r->length;
        for (at.token = r->start; at.token < r->stop; at.token += LANES) {
            while (at.token >= (at.text + 1) * r->length) at.text++;
            at.count = r->stop - at.token < LANES ? r->stop - at.token : LANES;
            memcpy(&at.position, lane, sizeof lane);
            at.position += (int32_t)(at.token - at.text * r->length);
            at.later = (ints){};
            for (at.texts = 0; at.position[at.count - 1] >= r->length; at.texts++) {
                ints beyond = at.position >= (int32_t)r->length;
                at.position -= beyond & (int32_t)r->length;
                at.later -= beyond;
            }
            int64_t stop = at.token + LANES + radius;
            /* A constant for the compiler, which then leaves the checks out. */
            if (at.count == LANES && inside(r->key, at.token - radius, stop) &&
                inside(r->query, at.token, stop - radius)) {
                at.whole = 1;
                step(r, &at, radius, own);
            } else {
                at.whole = 0;
                step(r, &at, radius, own);
            }
        }
    }
}

INLINE void back(const Ring *r, int64_t first, int64_t last, const int radius, const int own) {
    each(r, first, last, radius, own, attend_back);
    each(r, first, last, radius, own, neighbors_back);
}

/* Constants here make loops that the compiler unrolls. */
#define FOR_RADIUS(do)                     \
    int own = r->own_key.data != 0;        \
    int radius = (int)r->radius;           \
    if (radius == 2 && own) do(2, 1);      \
    else if (radius == 2) do(2, 0);        \
    else if (own) do(radius, 1);           \
    else do(radius, 0);

#define FORWARD(radius, own) each(r, first, last, radius, own, attend)
#define BACKWARD(radius, own) back(r, first, last, radius, own)

/* Heads first ... last - 1. `backward` is for all tokens of all texts at once. */
void forward(const Ring *r, int64_t first, int64_t last) { FOR_RADIUS(FORWARD) }
void backward(const Ring *r, int64_t first, int64_t last) { FOR_RADIUS(BACKWARD) }

/* The relay's scores of all tokens, NO_KEY where there is no key -> weights, in place, as `weigh`
   does for few keys. `width` is a multiple of 16. */
static void weigh_row(float *row, int64_t width, float alpha) {
    float beta = alpha - 1, change = 0;
    vec top = all(NO_KEY), broken = {}, sum = {};
    for (int64_t i = 0; i < width; i += LANES) {
        vec z = load(row, i, width, 1);
        top = larger(z, top);
        broken += z * 0;
    }
    float highest = top[0];
    for (int i = 1; i < LANES; i++) highest = top[i] > highest ? top[i] : highest;
    for (int64_t i = 0; i < width; i += LANES) {
        vec z = load(row, i, width, 1), x = z - highest;
        if (beta == 0) sum += x = pick(z > NO_KEY / 2, exp2_of(x * 1.44269504088896f), all(0));
        else x = pick(z > NO_KEY / 2, larger(1 + beta * x, all(-1e20f)), all(-1e20f));
        store(row, i, width, 1, x);
    }
    for (int step = 0; beta != 0 && step < MAX_STEPS; step++) {
        vec masses = {}, slopes = {};
        for (int64_t i = 0; i < width; i += LANES) {
            vec z = load(row, i, width, 1) + change, x = larger(z, all(1e-30f));
            vec slope = pick(z > 0, exp2_of(log2_of(x) * (1 / beta - 1)), all(0));
            slopes += slope;
            masses += slope * x;
            store(row, i, width, 1, z);
        }
        float mass = total(masses), slope = total(slopes);
        mass = mass > 1 ? mass : 1;
        change = fall(all(mass), beta, mass > 2)[0] * mass / (slope > 1 ? slope : 1);
        if (!(change < -1e-5f)) break;
    }
    for (int64_t i = 0; beta != 0 && i < width; i += LANES) {
        vec z = load(row, i, width, 1) + change, x = larger(z, all(1e-30f));
        x = pick(z > 0, exp2_of(log2_of(x) * (1 / beta)), all(0));
        store(row, i, width, 1, x);
        sum += x;
    }
    float mass = total(sum), share = 1 / (mass > 1e-30f ? mass : 1e-30f) + total(broken);
    for (int64_t i = 0; i < width; i += LANES)
        store(row, i, width, 1, load(row, i, width, 1) * share);
}

typedef struct {
    float *scores; /* (rows, width) */
    const float *alphas; /* (heads,), of row i: i % heads */
    int64_t heads, width;
} Rows;

void weigh_rows(const Rows *r, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++)
        weigh_row(r->scores + i * r->width, r->width, r->alphas[i % r->heads]);
}
