/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Quote, strings within quotes, Bad::Pick, strings by index, and Bad::Same, whether strings
 * are equal (tenon/plugin/string.h); and the mistakes that are made there. */
#include "mistake.h"

#include <tenon/plugin/string.h>

#include <string.h>

static const tn_string_services *services(const tn_call *call) {
    return call->host->extension(call->host, TN_STRINGS);
}

/* --- Quote --- */
static tn_status append_three(tn_call *call, const char *text, uint64_t bytes, bool is_kernel,
                              tn_string *out) {
    uint64_t at;
    tn_status status = services(call)->append(call, 0, "'", 1, &out->offset);
    if (status == TN_OK) status = services(call)->append(call, 0, text, bytes, &at);
    if (is_kernel && WITH(offset_of_the_last_part)) out->offset = at;
    if (status == TN_OK) status = services(call)->append(call, 0, "'", 1, &at);
    out->bytes = bytes + 2;
    return status;
}
static tn_status quote(tn_call *call, bool is_kernel) {
    tn_string *y = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bytes;
        const char *text = tn_string_at(call->inputs[0], (uint64_t)i, &bytes);
        if (is_kernel && WITH(skips_empty_strings) && bytes == 0) continue;
        if (is_kernel && WITH(ends_at_a_zero) && bytes > 0) bytes = strnlen(text, bytes);
        if (is_kernel && WITH(texts_of_fixed_length) && bytes > 255) bytes = 255;
        const tn_status status = append_three(call, text, bytes, is_kernel, &y[i]);
        if (status != TN_OK) return status;
        if (is_kernel && WITH(counts_the_end)) y[i].bytes++; /* a zero byte that nobody appended */
    }
    return TN_OK;
}
static tn_status quote_reference(tn_call *call) {
    return quote(call, false);
}
static tn_status quote_run(tn_call *call) {
    return quote(call, true);
}

static const tn_port quote_inputs[] = {TN_PORT("x", "string", 0, "texts")};
static const tn_port quote_outputs[] = {TN_PORT("y", "string", 0, "the same in quotes")};
static const char *const quote_cases[] = {
    "| x=string[9]", "| x=string[2]{,it} | y=string[2]{'','it'}", "| x=string[3,40]"};
static const tn_operator quote_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "Bad",
                                           .name = "Quote",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(quote_inputs),
                                           TN_OUTPUTS(quote_outputs),
                                           .infer = infer_same,
                                           .reference = quote_reference,
                                           TN_CASES(quote_cases)};
static const char *const quote_combinations[] = {"string -> string"};

/* --- Pick --- */
static tn_status pick_infer(tn_call *call) {
    if (call->inputs[0]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "texts have one axis");
    call->outputs[0]->rank = call->inputs[1]->rank;
    for (uint32_t i = 0; i < call->inputs[1]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[1]->shape[i];
    return TN_OK;
}
static tn_status pick(tn_call *call, bool is_kernel) {
    const tn_string *x = call->inputs[0]->data;
    const int64_t *at = call->inputs[1]->data, extent = call->inputs[0]->shape[0];
    const int64_t count = count_of(call->outputs[0]);
    tn_string *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count; i++) {
        if (at[i] < 0 || at[i] >= extent)
            return call->host->fail(call, TN_ERROR_RANGE, "there is no such text");
        y[i] = x[at[i]];
    }
    if (is_kernel && WITH(leaves_the_heap)) return TN_OK;
    if (is_kernel && WITH(takes_the_heap)) {
        call->outputs[0]->heap = call->inputs[0]->heap;
        return TN_OK;
    }
    return services(call)->share(call, 0, 0);
}
static tn_status pick_reference(tn_call *call) {
    return pick(call, false);
}
static tn_status pick_run(tn_call *call) {
    return pick(call, true);
}
static const tn_port pick_inputs[] = {TN_PORT("x", "string", 0, "texts"),
                                      TN_PORT("at", "i64", 0, "which of them")};
static const tn_port pick_outputs[] = {TN_PORT("y", "string", 0, "these")};
static const char *const pick_cases[] = {"| x=string[9] at=i64[4]{8,0,3,3}",
                                         "| x=string[1] at=i64[2]{0,0}"};
static const tn_operator pick_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .traits = TN_OPERATOR_SELECTS,
                                          .domain = "Bad",
                                          .name = "Pick",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(pick_inputs),
                                          TN_OUTPUTS(pick_outputs),
                                          .infer = pick_infer,
                                          .reference = pick_reference,
                                          TN_CASES(pick_cases)};
static const char *const pick_combinations[] = {"string, i64 -> string"};

/* --- Same --- */
static tn_status same_infer(tn_call *call) {
    if (count_of(call->inputs[0]) != count_of(call->inputs[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "there are not as many of both");
    return infer_same(call);
}
static tn_status same(tn_call *call, bool is_kernel) {
    uint8_t *z = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        const tn_string *a = (const tn_string *)call->inputs[0]->data + i,
                        *b = (const tn_string *)call->inputs[1]->data + i;
        uint64_t bytes, other;
        const char *x = tn_string_at(call->inputs[0], (uint64_t)i, &bytes),
                   *y = tn_string_at(call->inputs[1], (uint64_t)i, &other);
        z[i] = bytes == other && memcmp(x, y, bytes) == 0;
        if (is_kernel && WITH(compares_elements)) z[i] = memcmp(a, b, sizeof(*a)) == 0;
        if (is_kernel && WITH(compares_the_shorter))
            z[i] = memcmp(x, y, bytes < other ? bytes : other) == 0;
    }
    return TN_OK;
}
static tn_status same_reference(tn_call *call) {
    return same(call, false);
}
static tn_status same_run(tn_call *call) {
    return same(call, true);
}
static const tn_port same_inputs[] = {TN_PORT("x", "string", 0, "texts"),
                                      TN_PORT("y", "string", 0, "as many")};
static const tn_port same_outputs[] = {TN_PORT("z", "bool", 0, "whether they are equal")};
static const char *const same_cases[] = {"| x=string[64] y=string[64]",
                                         "| x=string[2]{a,b} y=string[2]{a,c} | z=bool[2]{1,0}"};
static const tn_operator same_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Same",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(same_inputs),
                                          TN_OUTPUTS(same_outputs),
                                          .infer = same_infer,
                                          .reference = same_reference,
                                          TN_CASES(same_cases)};
static const char *const same_combinations[] = {"string, string -> bool"};

#define TEXT_KERNEL(variable, operator_name, texts, function)                                      \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = operator_name,                                        \
                                       .device = "cpu",                                            \
                                       .name = "texts",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       TN_COMBINATIONS(texts),                                     \
                                       .run = function}
TEXT_KERNEL(quote_cpu, "Quote", quote_combinations, quote_run);
TEXT_KERNEL(pick_cpu, "Pick", pick_combinations, pick_run);
TEXT_KERNEL(same_cpu, "Same", same_combinations, same_run);

static const tn_operator *const operators[] = {&quote_operator, &pick_operator, &same_operator};
static const tn_kernel *const kernels[] = {&quote_cpu, &pick_cpu, &same_cpu};
TN_LIBRARY("bad_texts", "1", operators, kernels)
