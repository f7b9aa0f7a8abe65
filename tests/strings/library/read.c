/* SPDX-License-Identifier: Apache-2.0 */
/* What reads strings and makes numbers: Length, Equal, and LookUp, a label encoder. */
#include "strings.h"

typedef struct look_up_params {
    uint64_t present;
    tn_strings keys;
    int64_t fallback;
} look_up_params;

static const tn_field look_up_fields[] = {
    TN_FIELD(look_up_params, keys, TN_FIELD_STRINGS, TN_REQUIRED, NULL, "the strings by number"),
    TN_FIELD(look_up_params, fallback, TN_FIELD_I64, TN_OPTIONAL, "-1", "for all other strings")};

static tn_status infer_like_x(tn_call *call) {
    if (call->input_count > 1 && !has_shape_of(call->inputs[0], call->inputs[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "x and y have different shapes");
    copy_shape(call->outputs[0], call->inputs[0]);
    return TN_OK;
}

/* Of numbers alone: it has no table of combinations, and so gets no strings. */
static tn_status sizes_run(tn_call *call) {
    int64_t *y = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    for (int64_t i = 0; i < count; i++)
        y[i] = sizeof(int64_t);
    return TN_OK;
}

static tn_status length_run(tn_call *call) {
    int64_t *y = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    if (call->inputs[0]->type != TN_STRING) return sizes_run(call);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bytes;
        tn_string_at(call->inputs[0], (uint64_t)i, &bytes);
        y[i] = (int64_t)bytes;
    }
    return TN_OK;
}

static tn_status equal_run(tn_call *call) {
    uint8_t *z = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bytes, other;
        const char *x = tn_string_at(call->inputs[0], (uint64_t)i, &bytes);
        const char *y = tn_string_at(call->inputs[1], (uint64_t)i, &other);
        z[i] = bytes == other && memcmp(x, y, bytes) == 0;
    }
    return TN_OK;
}

static int64_t find(const look_up_params *params, const char *text, uint64_t bytes) {
    for (uint64_t k = 0; k < params->keys.count; k++)
        if (strlen(params->keys.items[k]) == bytes &&
            memcmp(params->keys.items[k], text, bytes) == 0)
            return (int64_t)k;
    return params->fallback;
}

static tn_status look_up_run(tn_call *call) {
    int64_t *y = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bytes;
        const char *text = tn_string_at(call->inputs[0], (uint64_t)i, &bytes);
        y[i] = find(call->params, text, bytes);
    }
    return TN_OK;
}

static const tn_port two[] = {TN_PORT("x", "string", 0, "strings"),
                              TN_PORT("y", "string", 0, "as many strings")};
static const tn_port one[] = {TN_PORT("x", "string", 0, "strings")};
static const tn_port any[] = {TN_PORT("x", "i64|string", 0, "strings, or numbers")};
static const tn_port values[] = {TN_PORT("y", "i64", 0, "a number for each")};
static const tn_port flags[] = {TN_PORT("z", "bool", 0, "whether both are the same bytes")};

static const char *const length_cases[] = {"| x=string[5]", "| x=string[2]{ab,cde} | y=i64[2]{2,3}",
                                           "| x=string[]", "| x=i64[3] | y=i64[3]{8,8,8}"};
const tn_operator length_operator = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "Test",
                                     .name = "Length",
                                     .doc = "The bytes of each element.",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(any),
                                     TN_OUTPUTS(values),
                                     .infer = infer_like_x,
                                     .reference = length_run,
                                     TN_CASES(length_cases)};
const tn_kernel length_kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Test",
                                 .op = "Length",
                                 .device = "cpu",
                                 .name = "sizes",
                                 .doc = "Of numbers, which have one size.",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 .run = sizes_run};

static const char *const equal_cases[] = {"| x=string[6] y=string[6]", "| x=string[] y=string[]",
                                          "| x=string[2]{ab,c} y=string[2]{ab,d} | z=bool[2]{1,0}"};
const tn_operator equal_operator = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .traits = TN_OPERATOR_COMMUTATIVE,
                                    .domain = "Test",
                                    .name = "Equal",
                                    .doc = "Whether strings are the same.",
                                    TN_NO_FIELDS,
                                    TN_INPUTS(two),
                                    TN_OUTPUTS(flags),
                                    .infer = infer_like_x,
                                    .reference = equal_run,
                                    TN_CASES(equal_cases)};

static const char *const look_up_cases[] = {
    "keys=[cat,dog] | x=string[3]{dog,cat,cow} | y=i64[3]{1,0,-1}",
    "keys=[cat] fallback=7 | x=string[2,2]", "keys=[cat] | x=string[]"};
const tn_operator look_up_operator = {.size = sizeof(tn_operator),
                                      .since_version = 1,
                                      .state_version = 1,
                                      .domain = "Test",
                                      .name = "LookUp",
                                      .doc = "The number of each string in a list.",
                                      TN_FIELDS(look_up_params, look_up_fields),
                                      TN_INPUTS(one),
                                      TN_OUTPUTS(values),
                                      .infer = infer_like_x,
                                      .reference = look_up_run,
                                      TN_CASES(look_up_cases)};
