/* SPDX-License-Identifier: Apache-2.0 */
/* The words of all strings, one after another, and of which string each is. Words are what lies
 * between blanks. How many there are only the run knows. */
#include "seventeenth.h"
#include <tenon/plugin/output.h>
#include <tenon/plugin/string.h>

TN_LAYER_PARAMS(params, bool lower;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, lower, "false", "capitals become small letters, of ASCII alone"),
};
static const tn_port inputs[] = {TN_PORT("x", "string", 0, "any shape")};
static const tn_port outputs[] = {
    TN_PORT("words", "string", TN_PORT_SIZED_BY_RUN, "any number"),
    TN_PORT("rows", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "as the words")};

static tn_status infer(tn_call *call) {
    const int64_t any = TN_UNBOUNDED;
    TN_TRY(set_shape(call, 1, 1, &any));
    return set_shape(call, 0, 1, &any);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next word from *inout_at on, which is behind it afterwards. False: there is none. */
static bool next_word(const char *text, uint64_t bytes, uint64_t *inout_at, tn_string *out_word,
                      bool is_kernel) {
    uint64_t begin = *inout_at;
    if (is_kernel && WRONG(1)) { /* each blank ends a word, also one that is empty */
        if (begin >= bytes) return false;
    } else {
        while (begin < bytes && is_blank(text[begin]))
            begin++;
        if (begin == bytes) return false;
    }
    uint64_t end = begin;
    if (is_kernel && WRONG(3))
        while (text[end] != '\0' && !is_blank(text[end]))
            end++;
    else
        while (end < bytes && !is_blank(text[end]))
            end++;
    *out_word = (tn_string){begin, end - begin};
    *inout_at = end < bytes ? end + 1 : bytes;
    return true;
}

/* Appends a word in small letters, piece by piece. */
static tn_status append_lower(tn_call *call, const tn_string_services *strings, const char *text,
                              uint64_t bytes, tn_string *word) {
    word->bytes = bytes;
    TN_TRY(strings->append(call, 0, NULL, 0, &word->offset));
    for (uint64_t k = 0; k < bytes; k += 32) {
        char piece[32];
        uint64_t at;
        const uint64_t count = bytes - k < 32 ? bytes - k : 32;
        for (uint64_t i = 0; i < count; i++) {
            const char c = text[k + i];
            piece[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        }
        TN_TRY(strings->append(call, 0, piece, count, &at));
    }
    return TN_OK;
}

/* Counts the words, or writes them where `rows` or `words` are there. */
static tn_status go(tn_call *call, const tn_string_services *strings, tn_string *words,
                    int64_t *rows, int64_t *out_count, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const bool lower = ((const params *)call->params)->lower;
    int64_t count = 0;
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        uint64_t bytes, at = 0;
        tn_string word;
        const char *text = tn_string_at(x, (uint64_t)i, &bytes);
        for (; next_word(text, bytes, &at, &word, is_kernel); count++) {
            if (rows) rows[count] = i;
            if (words && lower)
                TN_TRY(append_lower(call, strings, text + word.offset, word.bytes, &words[count]));
            else if (words)
                words[count] =
                    (tn_string){((const tn_string *)x->data)[i].offset + word.offset, word.bytes};
        }
    }
    *out_count = count;
    return TN_OK;
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    if (!memory || !strings)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host is too old");
    int64_t count;
    void *words = NULL, *rows = NULL;
    TN_TRY(go(call, strings, NULL, NULL, &count, is_kernel));
    if (output(call, 0)) TN_TRY(memory->allocate(call, 0, 1, &count, &words));
    if (is_kernel && WRONG(2) && count == 0) return TN_OK;
    if (output(call, 1)) TN_TRY(memory->allocate(call, 1, 1, &count, &rows));
    if (words && !((const params *)call->params)->lower) TN_TRY(strings->share(call, 0, 0));
    return go(call, strings, words, rows, &count, is_kernel);
}

static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const char *const cases[] = {
    "| x=string[3]{one,two,three}",
    "lower=true | x=string[2,2]",
    "| x=string[5]",
};
static const tn_operator split_words = {OPERATOR,
                                        .name = "SplitWords",
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"string -> string, i64?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "SplitWords",
                                 .device = "cpu",
                                 .name = "scan",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("split_words", split_words, kernel)
