/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of cases' strings; see strings.h. */
#include "strings.h"
#include "base/memory.h"
#include "base/status.h"
#include "tensor/string.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TEXT_BYTES = 1 << 26, MOST = 1 << 18, BUCKETS = 1 << 15, NONE = 0 };

/* Texts by their hash, in chains: numbers of strings, from 1. */
static tn_heap heap = {.size = sizeof(tn_heap)};
static char *text_data;
static tn_string *strings, *twins;
static uint32_t *next, *buckets, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool is_made(void) {
    if (text_data) return true;
    strings = map(MOST * sizeof(*strings));
    twins = map(MOST * sizeof(*twins));
    next = map(MOST * sizeof(*next));
    buckets = map(BUCKETS * sizeof(*buckets));
    text_data = strings && twins && next && buckets ? map(TEXT_BYTES) : NULL;
    heap.data = text_data;
    return text_data != NULL;
}

const tn_heap *tn_case_heap(void) {
    return &heap;
}

static uint32_t hash_of(const char *text, size_t bytes) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash % BUCKETS;
}

/* The bytes at the heap's end. */
static tn_string append_text(const char *text, size_t bytes) {
    const tn_string placed = {heap.bytes, bytes};
    if (bytes > 0) memmove(text_data + heap.bytes, text, bytes);
    heap.bytes += bytes;
    return placed;
}

static tn_status intern(const char *text, size_t bytes, uint32_t *out_number) {
    if (!is_made()) return tn_fail_memory("the strings of cases");
    const uint32_t bucket = hash_of(text, bytes);
    for (uint32_t at = buckets[bucket]; at != NONE; at = next[at]) {
        *out_number = at;
        if (strings[at].bytes == bytes &&
            (bytes == 0 || memcmp(text_data + strings[at].offset, text, bytes) == 0))
            return TN_OK;
    }
    if (used + 1 >= MOST || bytes > TEXT_BYTES - heap.bytes)
        return tn_fail_memory("the strings of cases");
    const uint32_t made = *out_number = ++used;
    strings[made] = append_text(text, bytes);
    next[made] = buckets[bucket];
    buckets[bucket] = made;
    return TN_OK;
}

tn_status tn_case_intern(const char *text, size_t bytes, tn_string *out_string) {
    uint32_t number = NONE;
    pthread_mutex_lock(&lock);
    const tn_status status = intern(text, bytes, &number);
    if (status == TN_OK) *out_string = strings[number];
    pthread_mutex_unlock(&lock);
    return status;
}

/* The text's second element. */
static tn_status find_twin(const char *text, size_t bytes, tn_string *out_string) {
    uint32_t number = NONE;
    pthread_mutex_lock(&lock);
    tn_status status = intern(text, bytes, &number);
    if (status == TN_OK && twins[number].bytes != bytes) {
        if (bytes > TEXT_BYTES - heap.bytes)
            status = tn_fail_memory("the strings of cases");
        else
            twins[number] = append_text(text, bytes);
    }
    if (status == TN_OK) *out_string = twins[number];
    pthread_mutex_unlock(&lock);
    return status;
}

bool tn_case_same_string(const tn_string *a, const tn_string *b) {
    return a->bytes == b->bytes &&
           (a->bytes == 0 || memcmp(text_data + a->offset, text_data + b->offset, a->bytes) == 0);
}

tn_string tn_case_draw_string(uint64_t number) {
    static const char *const texts[] = {"a",        "ab",
                                        "b",        "",
                                        "\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
                                        "one two",  "\xf0\x9f\x8c\x8a wave",
                                        "A"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]), WITH_ZERO = TEXTS, LONG, KINDS };
    _Static_assert((int)TN_CASE_ZERO_STRING == (int)WITH_ZERO, "the one with zero bytes");
    _Static_assert(TN_CASE_SECOND_STRING == 16 * KINDS, "the second elements are the second half");
    char text[1024];
    int bytes = 0;
    tn_string drawn = {0, 0};
    const uint64_t kind = number % KINDS, variant = number / KINDS % 16;
    const bool is_second = number / KINDS / 16 % 2;
    if (kind < TEXTS && (kind <= 3 || variant == 0))
        bytes = snprintf(text, sizeof(text), "%s", texts[kind]);
    else if (kind < TEXTS)
        bytes = snprintf(text, sizeof(text), "%s%d", texts[kind], (int)variant);
    else if (kind == WITH_ZERO)
        bytes = snprintf(text, sizeof(text), "z%cero%c%d", 0, 0, (int)variant);
    else
        bytes = snprintf(text, sizeof(text), "%0*d", 300 + 40 * (int)variant, (int)variant);
    (void)(is_second ? find_twin : tn_case_intern)(text, (size_t)bytes, &drawn);
    return drawn;
}

/* A text that is given with its length, for it may hold zeros. */
typedef struct known_text {
    const char *text;
    size_t bytes;
} known_text;
#define TEXT(literal)                                                                              \
    { literal, sizeof(literal) - 1 }

static const known_text prefixes[] = {
    TEXT("abc"),  TEXT("abd"),   TEXT("ab"),    TEXT("abcd"),  TEXT("ABC"),      TEXT("abC"),
    TEXT("bbc"),  TEXT("a"),     TEXT("b"),     TEXT("xabc"),  TEXT("ab\0c"),    TEXT("ab\0d"),
    TEXT("abc "), TEXT("zabc"),  TEXT("aab"),   TEXT("aabab"), TEXT("abababab"), TEXT("ababababab"),
    TEXT("abce"), TEXT("abcdX"), TEXT("{abc}"), TEXT("abc~"),  TEXT("[abc]"),    TEXT("Zabc"),
};
static const known_text blanks[] = {
    TEXT(" "),    TEXT(""),       TEXT("  "),   TEXT("\t"),       TEXT(" \n"),  TEXT(" a"),
    TEXT("a "),   TEXT(" a b "),  TEXT("a  b"), TEXT("\ta\tb\t"), TEXT("\r\n"), TEXT(","),
    TEXT(",,"),   TEXT("a,,b,"),  TEXT(",a"),   TEXT(" , "),      TEXT("a, b"), TEXT("     "),
    TEXT("a\nb"), TEXT("\v\f a"), TEXT("-"),    TEXT("a-b_c/d"),  TEXT("."),    TEXT("a. B. c"),
};
static const known_text numbers[] = {
    TEXT("0"),        TEXT("-1"),    TEXT("2"),          TEXT("10"),    TEXT("9"),
    TEXT("3.5"),      TEXT("-0.25"), TEXT("1e3"),        TEXT("-2E-2"), TEXT("007"),
    TEXT("+4"),       TEXT("255"),   TEXT("256"),        TEXT("-129"),  TEXT("65536"),
    TEXT("1.000"),    TEXT("-0"),    TEXT(".5"),         TEXT("5."),    TEXT("123456789"),
    TEXT("16777217"), TEXT("0.1"),   TEXT("2147483648"), TEXT("99"),
};
static const known_text broken[] = {
    TEXT("\xff"),
    TEXT("\x80"),
    TEXT("a\xe6\x97"),
    TEXT("\xc3"),
    TEXT("\xf0\x9f\x8c"),
    TEXT("\xe6"),
    TEXT("\xc3\xa9\xc3"),
    TEXT("\xc3\x89"),
    TEXT("\xe9\xe8"),
    TEXT("a\xf0"),
    TEXT("\xfe\xff"
         "a"),
    TEXT("\xed\xa0\x80"),
    TEXT("\xc0\x80"),
    TEXT("e\xcc\x81"),
    TEXT("\xef\xbb\xbf"
         "a"),
    TEXT("\xc3\xa9"),
};

/* Of a length beside a power of two; those of the same length differ in their last byte. */
static tn_string draw_length(uint64_t number) {
    enum { POWERS = 11 };
    static const int lengths[] = {-1, 0, 1};
    static char text[(1 << (POWERS - 1)) + 2];
    static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;
    const size_t bytes =
        (size_t)((1 << number % POWERS) + lengths[number / POWERS % TN_COUNT(lengths)]);
    tn_string drawn = {0, 0};
    pthread_mutex_lock(&text_lock);
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)('a' + i % 26);
    if (bytes > 0) text[bytes - 1] = (char)('A' + number / 64 % 4);
    (void)tn_case_intern(text, bytes, &drawn);
    pthread_mutex_unlock(&text_lock);
    return drawn;
}

tn_string tn_case_draw_text(uint32_t kind, uint64_t number) {
    const known_text *texts = kind == TN_CASE_PREFIXES  ? prefixes
                              : kind == TN_CASE_BLANKS  ? blanks
                              : kind == TN_CASE_NUMBERS ? numbers
                                                        : broken;
    const size_t count = kind == TN_CASE_PREFIXES  ? TN_COUNT(prefixes)
                         : kind == TN_CASE_BLANKS  ? TN_COUNT(blanks)
                         : kind == TN_CASE_NUMBERS ? TN_COUNT(numbers)
                                                   : TN_COUNT(broken);
    tn_string drawn = {0, 0};
    if (kind == TN_CASE_LENGTHS) return draw_length(number);
    const known_text *text = &texts[number % count];
    (void)tn_case_intern(text->text, text->bytes, &drawn);
    return drawn;
}

tn_status tn_case_take_strings(tn_string *elements, size_t count, const tn_heap *from) {
    if (tn_strings_check(elements, count, from) != TN_OK)
        return tn_fail(TN_ERROR_PLUGIN, "%s", tn_last_error()->message);
    for (size_t i = 0; i < count; i++)
        TN_TRY(tn_case_intern(elements[i].bytes > 0 ? from->data + elements[i].offset : "",
                              elements[i].bytes, &elements[i]));
    return TN_OK;
}

void *tn_case_block(const void *elements, size_t count, uint64_t *out_bytes) {
    pthread_mutex_lock(&lock);
    const uint64_t own = count * sizeof(tn_string), bytes = heap.bytes;
    char *block = aligned_alloc(64, (own + bytes + 64) / 64 * 64);
    if (block && own > 0) memcpy(block, elements, own);
    if (block && bytes > 0) memcpy(block + own, text_data, bytes);
    pthread_mutex_unlock(&lock);
    *out_bytes = own + bytes;
    return block;
}
