/* SPDX-License-Identifier: Apache-2.0 */
/* Words between spaces, of all texts behind each other, and how many each text has. */
#include "nineteenth.h"

#include <tenon/plugin/output.h>
#include <tenon/plugin/string.h>

static const tn_port inputs[] = {TN_PORT("x", "string", 0, "N")};
static const tn_port outputs[] = {TN_PORT("words", "string", TN_PORT_SIZED_BY_RUN, "any number"),
                                  TN_PORT("counts", "i64", 0, "N")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1)) return TN_ERROR_SHAPE;
    if (call->outputs[0]) TN_LAYER_SET_SHAPE(call, 0, TN_UNBOUNDED);
    if (call->outputs[1]) tn_layer_set_shape(call, 1, 1, call->inputs[0]->shape);
    return TN_OK;
}
/* The next word from *at on; false: there is none. */
static bool next_word(const char *text, uint64_t bytes, uint64_t *at, uint64_t *begin) {
    while (*at < bytes && text[*at] == ' ')
        ++*at;
    *begin = *at;
    while (*at < bytes && text[*at] != ' ')
        ++*at;
    return *at > *begin;
}
static uint64_t bytes_of(const char *text, uint64_t bytes, bool is_reference) {
    return WRONG(1) && !is_reference ? strlen(text) : bytes;
}
static tn_status put(tn_call *call, tn_string *element, const char *text, uint64_t offset,
                     uint64_t bytes, bool is_reference) {
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    if (WRONG(3) && !is_reference) {
        *element = (tn_string){offset, bytes};
        return strings->share(call, 0, 0);
    }
    if (WRONG(4) && !is_reference) {
        char word[24];
        element->bytes = bytes < sizeof(word) ? bytes : sizeof(word);
        memcpy(word, text + offset, element->bytes);
        return strings->append(call, 0, word, element->bytes, &element->offset);
    }
    element->bytes = bytes;
    return strings->append(call, 0, text + offset, bytes, &element->offset);
}
static tn_status split(tn_call *call, bool is_reference) {
    const tn_tensor *x = call->inputs[0];
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    int64_t total = 0, done = 0;
    void *words = NULL;
    for (int64_t i = 0; i < x->shape[0]; i++) {
        uint64_t bytes = 0, at = 0, begin = 0;
        int64_t count = 0;
        const char *text = tn_string_at(x, (uint64_t)i, &bytes);
        bytes = bytes_of(text, bytes, is_reference);
        while (next_word(text, bytes, &at, &begin))
            count++;
        if (WRONG(2) && !is_reference && bytes > 0 && text[bytes - 1] == ' ') count++;
        if (call->outputs[1]) ((int64_t *)call->outputs[1]->data)[i] = count;
        total += count;
    }
    if (!call->outputs[0]) return TN_OK;
    TN_TRY(memory->allocate(call, 0, 1, &total, &words));
    for (int64_t i = 0; i < x->shape[0]; i++) {
        uint64_t bytes = 0, at = 0, begin = 0;
        const char *text = tn_string_at(x, (uint64_t)i, &bytes);
        bytes = bytes_of(text, bytes, is_reference);
        while (next_word(text, bytes, &at, &begin))
            TN_TRY(put(call, (tn_string *)words + done++, text, begin, at - begin, is_reference));
    }
    for (; done < total; done++)
        ((tn_string *)words)[done] = (tn_string){0, 0};
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return split(call, true);
}
static tn_status run(tn_call *call) {
    return split(call, false);
}

static const char *const cases[] = {"| x=string[2]{ab,c}", "| x=string[5]"};
static const tn_operator words = {
    OPERATOR,       .name = "SplitWords",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"string -> string, i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "SplitWords",
                                 .name = "spaces",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("split_words", words, kernel)
