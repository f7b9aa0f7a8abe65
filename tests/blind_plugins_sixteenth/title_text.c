/* SPDX-License-Identifier: Apache-2.0 */
/* Strings without the blanks at both ends, in capitals where asked for: of ASCII alone. */
#include "sixteenth.h"
#include <tenon/plugin/string.h>

TN_LAYER_PARAMS(params, bool capitals;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, capitals, "true", "small letters become capitals"),
};
static const tn_port inputs[] = {TN_PORT("x", "string", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "string", 0, "as x")};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* What is left of a string without blanks: where it begins, and *inout_bytes. */
static uint64_t strip(const char *text, uint64_t *inout_bytes, bool is_kernel) {
    uint64_t begin = 0, end = *inout_bytes;
    if (is_kernel && WRONG(1)) {
        while (end > 0 && is_blank(text[begin]))
            begin++; /* finds an end only where something else follows */
        while (is_blank(text[end - 1]) && end > begin)
            end--;
    } else {
        while (begin < end && is_blank(text[begin]))
            begin++;
        while (begin < end && is_blank(text[end - 1]))
            end--;
    }
    *inout_bytes = end - begin;
    return begin;
}

static char capital(char c, bool is_kernel) {
    if (is_kernel && WRONG(2)) return (unsigned char)c >= 'a' ? (char)(c - 32) : c;
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    tn_string *y = call->outputs[0]->data;
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    if (!strings) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host has no strings");
    if (!p->capitals) TN_TRY(strings->share(call, 0, 0));
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        uint64_t bytes;
        const char *text = tn_string_at(x, (uint64_t)i, &bytes);
        const uint64_t begin = strip(text, &bytes, is_kernel);
        if (!p->capitals) {
            y[i].offset = ((const tn_string *)x->data)[i].offset + begin;
            y[i].bytes = bytes;
            continue;
        }
        TN_TRY(strings->append(call, 0, NULL, 0, &y[i].offset));
        y[i].bytes = bytes;
        for (uint64_t k = 0; k < bytes; k += 64) {
            char piece[64];
            const uint64_t count = bytes - k < 64 ? bytes - k : 64;
            for (uint64_t j = 0; j < count; j++)
                piece[j] = capital(text[begin + k + j], is_kernel);
            uint64_t at;
            TN_TRY(strings->append(call, 0, piece, count, &at));
            if (is_kernel && WRONG(3)) y[i].offset = at;
        }
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const char *const cases[] = {
    "| x=string[4]{one,Two,thr3e,fOUR_5}",
    "| x=string[2,3]",
    "capitals=false | x=string[5]",
};
static const tn_operator title_text = {OPERATOR,
                                       .name = "TitleText",
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer_same,
                                       .reference = reference,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"string -> string"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "TitleText",
                                 .name = "plain",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("title_text", title_text, kernel)
