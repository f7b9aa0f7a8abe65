/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Trim, strings without blanks at both ends and in small letters, and Bad::Order, where each
 * string stands among all; and the mistakes that are made there. */
#include "mistake.h"

#include <tenon/plugin/string.h>

#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* --- Trim --- */
static uint64_t strip(const char *text, uint64_t *inout_bytes, bool is_kernel) {
    uint64_t begin = 0, end = *inout_bytes;
    while ((begin < end || (is_kernel && WITH(unbounded_blanks) && end > 0)) &&
           is_blank(text[begin]))
        begin++;
    while (begin < end && is_blank(text[end - 1]))
        end--;
    *inout_bytes = end - begin;
    return begin;
}

static char small(char c, bool is_kernel) {
    const char last = is_kernel && WITH(letters_up_to_a) ? 'a' - 1 : 'Z';
    return c >= 'A' && c <= last ? (char)(c + 32) : c;
}

static tn_status trim(tn_call *call, bool is_kernel) {
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    tn_string *y = call->outputs[0]->data;
    uint64_t last_bytes = 0;
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++) {
        uint64_t bytes, at;
        const char *text = tn_string_at(call->inputs[0], (uint64_t)i, &bytes);
        const char *from = text + strip(text, &bytes, is_kernel);
        if (is_kernel && WITH(known_by_length) && i > 0 && bytes > 16 && bytes == last_bytes) {
            y[i] = y[i - 1];
            continue;
        }
        tn_status status = strings->append(call, 0, "", 0, &y[i].offset);
        for (uint64_t k = 0; k < bytes && status == TN_OK; k++) {
            const char c = small(from[k], is_kernel);
            status = strings->append(call, 0, &c, 1, &at);
        }
        if (status != TN_OK) return status;
        y[i].bytes = last_bytes = bytes;
    }
    return TN_OK;
}
static tn_status trim_reference(tn_call *call) {
    return trim(call, false);
}
static tn_status trim_run(tn_call *call) {
    return trim(call, true);
}

/* --- Order --- */
static int compare(const tn_tensor *x, int64_t i, int64_t j, bool is_kernel) {
    uint64_t a, b;
    const char *left = tn_string_at(x, (uint64_t)i, &a), *right = tn_string_at(x, (uint64_t)j, &b);
    const uint64_t least = a < b ? a : b;
    if (is_kernel && WITH(same_by_offset) && left == right) return 0;
    if (is_kernel && WITH(eight_bytes)) return memcmp(left, right, least < 8 ? least : 8);
    const int order = memcmp(left, right, least);
    return order ? order : a < b ? -1 : a > b;
}
static tn_status order(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    int64_t *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count_of(x); i++) {
        y[i] = 0;
        for (int64_t j = 0; j < count_of(x); j++)
            y[i] += compare(x, j, i, is_kernel) < 0;
    }
    return TN_OK;
}
static tn_status order_reference(tn_call *call) {
    return order(call, false);
}
static tn_status order_run(tn_call *call) {
    return order(call, true);
}

static const tn_port inputs[] = {TN_PORT("x", "string", 0, "texts")};
static const tn_port trim_outputs[] = {TN_PORT("y", "string", 0, "the same, trimmed")};
static const tn_port order_outputs[] = {TN_PORT("y", "i64", 0, "how many are before it")};
static const char *const trim_cases[] = {"| x=string[5]",
                                         "| x=string[2]{One,two} | y=string[2]{one,two}"};
static const char *const order_cases[] = {"| x=string[6]",
                                          "| x=string[3]{b,a,b} | y=i64[3]{1,0,1}"};
#define TEXT_OPERATOR(variable, text, results, lines, function)                                    \
    static const tn_operator variable = {.size = sizeof(tn_operator),                              \
                                         .since_version = 1,                                       \
                                         .state_version = 1,                                       \
                                         .domain = "Bad",                                          \
                                         .name = text,                                             \
                                         TN_NO_FIELDS,                                             \
                                         TN_INPUTS(inputs),                                        \
                                         TN_OUTPUTS(results),                                      \
                                         .infer = infer_same,                                      \
                                         .reference = function,                                    \
                                         TN_CASES(lines)}
TEXT_OPERATOR(trim_operator, "Trim", trim_outputs, trim_cases, trim_reference);
TEXT_OPERATOR(order_operator, "Order", order_outputs, order_cases, order_reference);

static const char *const trim_combinations[] = {"string -> string"};
static const char *const order_combinations[] = {"string -> i64"};
#define TEXT_KERNEL(variable, text, texts, function)                                               \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = text,                                                 \
                                       .device = "cpu",                                            \
                                       .name = "texts",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       TN_COMBINATIONS(texts),                                     \
                                       .run = function}
TEXT_KERNEL(trim_cpu, "Trim", trim_combinations, trim_run);
TEXT_KERNEL(order_cpu, "Order", order_combinations, order_run);

static const tn_operator *const operators[] = {&trim_operator, &order_operator};
static const tn_kernel *const kernels[] = {&trim_cpu, &order_cpu};
TN_LIBRARY("bad_trims", "1", operators, kernels)
