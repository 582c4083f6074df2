/* Texts into the numbers of their chunks, the pieces between blanks.

   Most chunks of posts are words that came before. Each different chunk gets a number at its first
   occurrence; siamese_news.text.chunk_table asks Python's tokenizer once for the token ids of that
   number. Nothing here knows what a token is, but for three shapes of ASCII chunks:

       Word  WORD  word    one number, for case does not matter
       word,               the number of the word, and that of the sign
       @name  https://x.y  no number, where the tokenizer drops mentions or links

   Memory belongs to the caller, who bounds it: nothing is allocated. Texts are valid UTF-8, except
   that they may have surrogates in three bytes; whatever else a text may be, no byte outside it is
   read. Built by setup.py, loaded by siamese_news.utils.compiled_loops. */

#include <stdint.h>
#include <string.h>

const uint64_t SOURCE_HASH = HASH_OF_SOURCE; /* what this was built from */

#define LONGEST_KEY 64 /* bytes of a chunk that is remembered */
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
    uint32_t *uses;       /* (most,) how often each came */
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

/* How the caller has to lay out both, in two numbers of three digits. */
int64_t layout(void) { return (int64_t)(1000 * sizeof(Chunks) + sizeof(Batch)); }

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
            chunks->uses[number] = 0;
            enter(chunks, place, hash, number);
        } else {
            number = chunks->most + batch->news;
        }
        batch->new_starts[batch->news] = start;
        batch->new_ends[batch->news] = start + length;
        batch->new_numbers[batch->news++] = number;
    }
    if (number < chunks->most && chunks->uses[number] < UINT32_MAX) chunks->uses[number]++;
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

/* Forget the chunks that came less often than `least`, and number the others anew, in their order.
   Their old numbers go to `frequent` (most,); half of their uses are forgotten. */
int64_t keep_frequent(Chunks *chunks, uint32_t least, int64_t *frequent) {
    int64_t count = chunks->count;
    uint32_t start = 0;
    memset(chunks->table, 0, chunks->places * sizeof *chunks->table);
    chunks->count = 0;
    for (int64_t number = 0; number < count; number++) {
        uint32_t end = chunks->ends[number + 1], length = end - start;
        uint8_t *key = chunks->keys + start;
        start = end;
        if (chunks->uses[number] < least) continue;
        uint64_t hash = hash_of(key, length);
        int64_t place = place_of(chunks, key, length, hash), next = chunks->count;
        if (place < 0) continue;
        memmove(chunks->keys + chunks->ends[next], key, length);
        chunks->ends[next + 1] = chunks->ends[next] + length;
        chunks->uses[next] = chunks->uses[number] / 2;
        enter(chunks, place, hash, next);
        frequent[chunks->count++] = number;
    }
    return chunks->count;
}
