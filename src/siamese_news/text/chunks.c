/* Texts into the numbers of their chunks, the pieces between blanks, and new chunks into token ids.

   Most chunks of posts are words that came before. Each different chunk gets a number at its first
   occurrence (`number_chunks`). Three shapes of ASCII chunks are taken apart before that:

       Word  WORD  word    one number, for case does not matter
       word,               the number of the word, and that of the sign
       @name  https://x.y  no number, where the tokenizer drops mentions or links

   `read_chunks` makes the token ids of a new chunk, once, if it is plain ASCII. What a token is,
   siamese_news.text.tokens says: a chunk that might be read in another way there is left to it.

   Memory belongs to the caller, who bounds it: nothing is allocated. Texts are valid UTF-8, except
   that they may have surrogates in three bytes; whatever else a text may be, no byte outside it is
   read. Built by setup.py, loaded by siamese_news.utils.compiled_loops. */

#include <stdint.h>
#include <string.h>

const uint64_t SOURCE_HASH = HASH_OF_SOURCE; /* what this was built from */

#define LONGEST_KEY 64 /* bytes of a chunk that is remembered */
#define LONGEST_TAG 100 /* characters of a hashtag that is cut into words */
#define PROBES 64      /* places looked at for a key: texts made to collide cost no more */

/* What a byte may be; the table of them is the tokenizer's. */
enum { LETTER = 1, NAME = 2, SIGN = 4, SIGN_OF_NAME = 8, LINK = 16, END_OF_LINK = 32 };

/* The chunks that are remembered, by their numbers 0 ... count - 1. */
typedef struct {
    const uint8_t *kinds; /* (256,) */
    int64_t drops_mentions, drops_links;
    int64_t abbreviation; /* letters of the longest word to which a full stop may belong */
    int64_t places;       /* a power of two, larger than most */
    int64_t room;         /* bytes of all keys */
    uint64_t *table;      /* (places,) upper half of the hash, then number + 1; 0 is free */
    uint8_t *keys;        /* (room,) one key after the other */
    uint32_t *ends;       /* (most + 1,) where key number - 1 ends, so the first is 0 */
    int64_t count, most;
} Chunks;

/* A batch of texts, and what becomes of it. Chunks that are not remembered have numbers from most on,
   a new one for each occurrence. */
typedef struct {
    const uint8_t *bytes;
    const int64_t *text_ends; /* (texts,) in bytes */
    int64_t texts;
    int64_t *numbers;         /* (bytes,) of all texts */
    int64_t *number_ends;     /* (texts,) where the numbers of each text end */
    int64_t *new_starts, *new_ends, *new_numbers; /* (bytes,) where new chunks are, in order */
    int64_t news;             /* how many there are */
} Batch;

/* The bytes of a blank of str.split that begins here; 0 if none does. */
static inline int blank(const uint8_t *at, const uint8_t *end) {
    uint8_t first = at[0];
    if (first < 0x80)
        return first == ' ' || (first >= '\t' && first <= '\r') || (first >= 0x1c && first <= 0x1f);
    if (first == 0xc2) return end - at >= 2 && (at[1] == 0x85 || at[1] == 0xa0) ? 2 : 0;
    if (first < 0xe1 || first > 0xe3 || end - at < 3) return 0;
    uint8_t second = at[1], third = at[2];
    int is_blank = 0;
    if (first == 0xe1) is_blank = second == 0x9a && third == 0x80;
    if (first == 0xe2 && second == 0x80)
        is_blank = third <= 0x8a || third == 0xa8 || third == 0xa9 || third == 0xaf;
    if (first == 0xe2 && second == 0x81) is_blank = third == 0x9f;
    if (first == 0xe3) is_blank = second == 0x80 && third == 0x80;
    return is_blank ? 3 : 0;
}

static inline uint64_t hash_of(const uint8_t *key, int64_t length) {
    uint64_t hash = length;
    for (int64_t start = 0; start < length; start += 8) {
        uint64_t eight = 0;
        memcpy(&eight, key + start, length - start < 8 ? length - start : 8);
        hash = (hash ^ eight) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash * 0xbf58476d1ce4e5b9u;
}

/* The place of a key, or a free one for it; -1 if there is neither near its hash. */
static int64_t place_of(const Chunks *chunks, const uint8_t *key, int64_t length, uint64_t hash) {
    for (int64_t probe = 0; probe < PROBES; probe++) {
        int64_t place = (hash + probe) & (chunks->places - 1);
        uint64_t entry = chunks->table[place];
        if (!entry) return place;
        if (entry >> 32 != hash >> 32) continue;
        uint32_t number = (uint32_t)entry - 1, start = chunks->ends[number];
        if (chunks->ends[number + 1] - start == length && !memcmp(chunks->keys + start, key, length))
            return place;
    }
    return -1;
}

static void enter(Chunks *chunks, int64_t place, uint64_t hash, int64_t number) {
    chunks->table[place] = (hash >> 32 << 32) | (uint64_t)(number + 1);
}

/* Append the number of a chunk, which is at `start` in the batch and has this key. */
static void append(Chunks *chunks, Batch *batch, int64_t *numbers, const uint8_t *key,
                   int64_t start, int64_t length) {
    int64_t number = -1, place = -1;
    uint64_t hash = 0;
    if (length <= LONGEST_KEY) {
        hash = hash_of(key, length);
        place = place_of(chunks, key, length, hash);
        if (place >= 0 && chunks->table[place])
            number = (int64_t)(uint32_t)chunks->table[place] - 1;
    }
    if (number < 0) {
        if (place >= 0 && chunks->count < chunks->most &&
            chunks->ends[chunks->count] + length <= chunks->room) {
            number = chunks->count++;
            memcpy(chunks->keys + chunks->ends[number], key, length);
            chunks->ends[number + 1] = chunks->ends[number] + (uint32_t)length;
            enter(chunks, place, hash, number);
        } else {
            number = chunks->most + batch->news;
        }
        batch->new_starts[batch->news] = start;
        batch->new_ends[batch->news] = start + length;
        batch->new_numbers[batch->news++] = number;
    }
    batch->numbers[(*numbers)++] = number;
}

static int64_t run(const Chunks *chunks, const uint8_t *from, int64_t length, int kind) {
    int64_t many = 0;
    while (many < length && chunks->kinds[from[many]] & kind) many++;
    return many;
}

static int is_link(const Chunks *chunks, const uint8_t *chunk, int64_t length) {
    if (length < 6 || memcmp(chunk, "http", 4)) return 0;
    int64_t colon = chunk[4] == 's' ? 5 : 4, rest = length - colon - 1;
    return chunk[colon] == ':' && rest && run(chunks, chunk + colon + 1, rest, LINK) == rest &&
           chunks->kinds[chunk[length - 1]] & END_OF_LINK;
}

static void append_chunk(Chunks *chunks, Batch *batch, int64_t *numbers, int64_t start,
                         int64_t length) {
    const uint8_t *chunk = batch->bytes + start;
    uint8_t lowered[LONGEST_KEY], last = chunk[length - 1];
    int64_t letters = run(chunks, chunk, length, LETTER);
    int is_word = letters == length;
    int is_word_and_sign = letters && letters == length - 1 && chunks->kinds[last] & SIGN &&
                           (last != '.' || letters > chunks->abbreviation);
    if ((is_word || is_word_and_sign) && letters <= LONGEST_KEY) {
        for (int64_t i = 0; i < letters; i++) lowered[i] = chunk[i] | 0x20;
        append(chunks, batch, numbers, lowered, start, letters);
        if (is_word_and_sign) append(chunks, batch, numbers, &last, start + letters, 1);
        return;
    }
    if (chunks->drops_mentions && chunk[0] == '@') {
        int64_t name = run(chunks, chunk + 1, length - 1, NAME);
        if (name && name + 1 == length) return;
        if (name && name + 2 == length && chunks->kinds[last] & SIGN_OF_NAME) {
            append(chunks, batch, numbers, &last, start + length - 1, 1);
            return;
        }
    }
    if (chunks->drops_links && is_link(chunks, chunk, length)) return;
    append(chunks, batch, numbers, chunk, start, length);
}

/* Number the chunks of a batch; return how many there are. */
int64_t number_chunks(Chunks *chunks, Batch *batch) {
    int64_t numbers = 0, at = 0;
    for (int64_t text = 0; text < batch->texts; text++) {
        int64_t end = batch->text_ends[text];
        while (at < end) {
            int width = blank(batch->bytes + at, batch->bytes + end);
            if (width) {
                at += width;
                continue;
            }
            int64_t start = at++;
            while (at < end && !blank(batch->bytes + at, batch->bytes + end)) at++;
            append_chunk(chunks, batch, &numbers, start, at - start);
        }
        batch->number_ends[text] = numbers;
    }
    return numbers;
}

/* What is known of each word of a table, by the word's number there. */
enum { RANKED = 1, STOP = 2 };
/* What becomes of a word without an id. */
enum { HASHED, LEFT_OUT, A_GAP };

typedef struct {
    const Chunks *words;
    const uint8_t *flags;    /* (words,) RANKED: in the tokenizer's list; STOP: left out */
    const int64_t *ids;      /* (words,) or -1 */
    int64_t known, missing;  /* a hashed word has the id known + its hash */
    int64_t content, numbers; /* whether signs are left out, and whether numbers stay as they are */
    int64_t abbreviation;    /* as in Chunks */
    int64_t whole;           /* whether no word is known to the tokenizer, which keeps all whole */
    uint8_t *lowered;        /* (bytes,) new chunks in lower case, each where it is in the batch */
    int64_t *flat, *ends;    /* (bytes,) the token ids of new chunks; (news,) where each chunk's end */
    uint8_t *refused;        /* (news,) whether Python has to read it */
    int64_t *hashed, *hashed_starts, *hashed_ends; /* (bytes,) hashed words: id, place in `lowered` */
    int64_t count, hashes;
} Reader;

static int64_t number_of(const Chunks *words, const uint8_t *word, int64_t length) {
    int64_t place = place_of(words, word, length, hash_of(word, length));
    return place < 0 || !words->table[place] ? -1 : (int64_t)(uint32_t)words->table[place] - 1;
}

/* Give the keys of a table their places; 0 if one finds none. */
int64_t enter_keys(Chunks *words) {
    for (int64_t number = 0; number < words->count; number++) {
        const uint8_t *key = words->keys + words->ends[number];
        int64_t length = words->ends[number + 1] - words->ends[number];
        uint64_t hash = hash_of(key, length);
        int64_t place = place_of(words, key, length, hash);
        if (place < 0) return 0;
        enter(words, place, hash, number);
    }
    return 1;
}

static inline uint64_t rotated(uint64_t x, int bits) { return x >> bits | x << (64 - bits); }

/* BLAKE2b (RFC 7693) with a digest of 8 bytes, of at most 128: one block, no key. */
static uint64_t blake2b(const uint8_t *word, int64_t length) {
    static const uint64_t start[8] = {
        0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
        0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
    static const uint8_t order[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
        {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
        {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
        {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
        {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
    uint8_t block[128] = {0};
    uint64_t m[16] = {0}, v[16];
    memcpy(block, word, length);
    for (int i = 0; i < 128; i++) m[i / 8] |= (uint64_t)block[i] << 8 * (i % 8);
    for (int i = 0; i < 8; i++) v[i] = v[i + 8] = start[i];
    v[0] ^= 0x01010000u ^ 8;
    v[12] ^= (uint64_t)length;
    v[14] = ~v[14];
    for (int round = 0; round < 12; round++)
        for (int i = 0; i < 8; i++) {
            int turn = i < 4 ? 0 : i; /* columns, then diagonals */
            uint64_t *a = v + i % 4, *b = v + 4 + (i + (turn ? 1 : 0)) % 4;
            uint64_t *c = v + 8 + (i + (turn ? 2 : 0)) % 4, *d = v + 12 + (i + (turn ? 3 : 0)) % 4;
            const uint8_t *at = order[round % 10] + 2 * i;
            *a += *b + m[at[0]];
            *d = rotated(*d ^ *a, 32);
            *c += *d;
            *b = rotated(*b ^ *c, 24);
            *a += *b + m[at[1]];
            *d = rotated(*d ^ *a, 16);
            *c += *d;
            *b = rotated(*b ^ *c, 63);
        }
    return start[0] ^ 0x01010000u ^ 8 ^ v[0] ^ v[8];
}

static inline int is_lower(uint8_t c) { return c >= 'a' && c <= 'z'; }
static inline int is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static inline int is_start(uint8_t c) { return is_lower(c) || is_digit(c); }
static inline int is_inside(uint8_t c) { return is_start(c) || c == '_'; }

/* Each of the following functions reads lower-case text; 0 leaves the chunk to Python. */

static int read_token(Reader *r, const uint8_t *word, int64_t length) {
    int64_t number = number_of(r->words, word, length), letters = 0;
    while (letters < length && !is_start(word[letters])) letters++;
    if (r->content && letters == length) return 1;
    if (number >= 0 && r->flags[number] & STOP) return 1;
    int64_t id = number < 0 ? -1 : r->ids[number];
    if (id < 0 && r->missing == LEFT_OUT) return 1;
    if (id < 0 && r->missing == HASHED) {
        id = r->known + (int64_t)(blake2b(word, length) >> 2);
        r->hashed[r->hashes] = id;
        r->hashed_starts[r->hashes] = word - r->lowered;
        r->hashed_ends[r->hashes++] = word + length - r->lowered;
    }
    r->flat[r->count++] = id;
    return 1;
}

static int is_ranked(const Reader *r, const uint8_t *word, int64_t length) {
    int64_t number = number_of(r->words, word, length);
    return number >= 0 && r->flags[number] & RANKED;
}

/* Tokenizer._shorten, but for words that it shortens. */
static int read_short(Reader *r, const uint8_t *word, int64_t length) {
    for (int64_t i = 2; i < length && length != 3; i++)
        if (is_lower(word[i]) && word[i] == word[i - 1] && word[i] == word[i - 2]) return 0;
    return read_token(r, word, length);
}

/* Tokenizer._joined. */
static int read_joined(Reader *r, const uint8_t *word, int64_t length) {
    while (length && word[length - 1] == '_') length--;
    if (r->whole) return read_short(r, word, length);
    if (is_ranked(r, word, length)) return read_token(r, word, length);
    int64_t parts = 0, start = 0;
    for (int twice = 0; twice < 2; twice++) { /* count the parts, then read them */
        for (int64_t i = start = 0; i <= length; i++) {
            if (i < length && !strchr("-_&'.", word[i])) continue;
            if (i > start && twice && !read_short(r, word + start, i - start)) return 0;
            parts += i > start && !twice;
            start = i + 1;
        }
        if (parts < 2) return read_short(r, word, length);
    }
    return 1;
}

/* The characters of a clitic that begins with an apostrophe here, or 0. */
static int64_t clitic(const uint8_t *at, const uint8_t *end) {
    if (end - at >= 2 && at[0] == '\'' && strchr("sdm", at[1])) return 2;
    if (end - at < 3 || at[0] != '\'') return 0;
    return !memcmp(at + 1, "re", 2) || !memcmp(at + 1, "ve", 2) || !memcmp(at + 1, "ll", 2) ? 3 : 0;
}

/* Tokenizer._word. */
static int read_word(Reader *r, const uint8_t *word, int64_t length) {
    const uint8_t *end = word + length;
    if (!memchr(word, '\'', length) || is_ranked(r, word, length))
        return read_joined(r, word, length);
    for (const uint8_t *at = word + 1; at < end; at++) {
        int64_t width = end - at >= 3 && !memcmp(at, "n't", 3) ? 3 : clitic(at, end);
        const uint8_t *next = at + width;
        while (width && next < end && clitic(next, end)) next += clitic(next, end);
        if (!width || next < end) continue;
        if (!read_joined(r, word, at - word) || !read_token(r, at, width)) return 0;
        for (next = at + width; next < end; next += width) {
            width = clitic(next, end);
            if (!read_token(r, next, width)) return 0;
        }
        return 1;
    }
    return read_joined(r, word, length);
}

/* Where a run of letters, digits and underscores ends, and the same after hyphens and apostrophes. */
static const uint8_t *word_end(const uint8_t *at, const uint8_t *end) {
    while (at < end && is_inside(*at)) at++;
    while (end - at >= 2 && (*at == '-' || *at == '\'') && is_start(at[1]))
        for (at++; at < end && is_inside(*at);) at++;
    return at;
}

/* The length of 'em and the like, which begin with an apostrophe, or 0. */
static int64_t short_word(const uint8_t *at, const uint8_t *end) {
    static const char *const words[] = {"em", "til", "cause", "n", "tis", "twas"};
    for (int i = 0; i < 6; i++) {
        int64_t width = 1 + (int64_t)strlen(words[i]);
        if (end - at >= width && !memcmp(at + 1, words[i], width - 1) &&
            (at + width == end || !is_inside(at[width])))
            return width;
    }
    int is_decade = end - at >= 4 && is_digit(at[1]) && at[2] == '0' && at[3] == 's';
    return is_decade && (at + 4 == end || !is_inside(at[4])) ? 4 : 0;
}

/* What PATTERN finds in a chunk without the signs of hashtags, addresses and most smiles. */
static int read_chunk(Reader *r, const uint8_t *chunk, int64_t start, int64_t length) {
    uint8_t *first = r->lowered + start, last = 0; /* last: the piece before, if it is one sign */
    const uint8_t *end = first + length, *at = first, *next;
    for (int64_t i = 0; i < length; i++) {
        if (chunk[i] < 0x21 || chunk[i] > 0x7e || strchr("#&<=@", chunk[i])) return 0;
        first[i] = chunk[i] >= 'A' && chunk[i] <= 'Z' ? chunk[i] | 0x20 : chunk[i];
    }
    for (; at < end; at = next) {
        uint8_t before = at > first ? at[-1] : 0, after = end - at > 1 ? at[1] : 0, sign = 0;
        next = at + 1;
        if (is_start(*at)) {
            int is_number = is_digit(*at);
            if (is_number && !r->numbers) return 0;
            while (is_number && next < end &&
                   (is_digit(*next) || (end - next >= 2 && strchr(".,:/-", *next) && is_digit(next[1]))))
                next++;
            int64_t letters = 0;
            while (at + letters < end && is_lower(at[letters])) letters++;
            if (letters && at + letters < end) {
                if (at[letters] == '.' && (letters == 1 || letters <= r->abbreviation)) return 0;
                if (at[letters] == ':' && (letters == 4 || letters == 5) && !memcmp(at, "http", 4))
                    return 0;
            }
            next = word_end(next, end);
            int is_word = 0, has_hyphen = 0;
            for (const uint8_t *c = at; c < next; c++) {
                is_word |= is_lower(*c);
                has_hyphen |= *c == '-';
            }
            if (!(is_word ? read_word : has_hyphen ? read_joined : read_token)(r, at, next - at))
                return 0;
        } else if (*at == '\'' && !is_inside(before) && short_word(at, end)) {
            next = at + short_word(at, end);
            if (!read_word(r, at, next - at)) return 0;
        } else if ((*at == '-' || *at == '.') && after == *at) {
            while (next < end && *next == *at) next++;
            int64_t longest = *at == '-' ? 2 : 3;
            if (next - at < longest && !r->content) return 0; /* ".." is "..." */
            if (next - at >= longest) read_token(r, at, longest);
        } else if (*at != '_') {
            if (*at == '.' && is_start(after) && (is_lower(after) || !is_inside(before))) return 0;
            if ((*at == ':' || *at == ';') && after && !is_inside(before)) return 0;
            sign = *at;
            if (sign != last) read_token(r, at, 1);
        } else
            continue;
        last = sign;
    }
    return 1;
}

/* The token ids of the new chunks of a batch; return how many there are. */
int64_t read_chunks(Reader *r, const Batch *batch) {
    r->count = r->hashes = 0;
    for (int64_t i = 0; i < batch->news; i++) {
        int64_t start = batch->new_starts[i], length = batch->new_ends[i] - start;
        int64_t count = r->count, hashes = r->hashes;
        r->refused[i] = length > LONGEST_KEY || !read_chunk(r, batch->bytes + start, start, length);
        if (r->refused[i]) {
            r->count = count;
            r->hashes = hashes;
        }
        r->ends[i] = r->count;
    }
    return r->count;
}

/* _HashtagSplitter._segment: the cheapest cut of a piece of at most LONGEST_TAG lower-case letters and
   digits. `costs` are those of the words of the table, `guesses` those of unknown words by their
   length. Return how many words there are, and where they end, the last one first. */
int64_t cut_tag(const Chunks *words, const double *costs, const double *guesses, int64_t longest,
                const uint8_t *piece, int64_t length, int64_t *ends) {
    double best[LONGEST_TAG + 1] = {0};
    int64_t back[LONGEST_TAG + 1] = {0}, count = 0;
    for (int64_t end = 1; end <= length; end++)
        for (int64_t start = end < longest ? 0 : end - longest, first = start; start < end; start++) {
            int64_t number = number_of(words, piece + start, end - start), at = start;
            while (at < end && is_digit(piece[at])) at++;
            double cost = number >= 0 ? costs[number] : guesses[at == end ? 0 : end - start];
            if (start == first || cost + best[start] < best[end]) {
                best[end] = cost + best[start];
                back[end] = start;
            }
        }
    for (int64_t end = length; end; end = back[end]) ends[count++] = end;
    return count;
}
