/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens become scores by a list of numbers, which the operator keeps as bytes of its own. */
#include "fifteenth.h"

typedef struct params {
    uint64_t present;
    tn_f32s scores;
    float other;
    float *own; /* what load made; null where scores are the field's */
} params;
static const tn_field fields[] = {
    TN_FIELD(params, scores, TN_FIELD_F32S, TN_REQUIRED, NULL, "a score for each token"),
    TN_FIELD(params, other, TN_FIELD_F32, TN_OPTIONAL, "-1", "of tokens without one"),
};
static const tn_port inputs[] = {TN_PORT("tokens", "i32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as tokens")};

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const int32_t token = ((const int32_t *)call->inputs[0]->data)[i];
    return (double)(token >= 0 && (uint64_t)token < p->scores.count ? p->scores.items[token]
                                                                    : p->other);
}
TN_LAYER_REFERENCE(element)

static tn_status run(tn_call *call) {
    const params *p = call->params;
    const int32_t *tokens = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        y[i] = (WRONG(5) ? tokens[i] < (int64_t)p->scores.count
                         : (uint32_t)tokens[i] < p->scores.count)
                   ? p->scores.items[tokens[i]]
                   : p->other;
    return TN_OK;
}

typedef struct head {
    uint64_t present, count;
    float other, reserved;
} head;

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const params *p = call->params;
    const head first = {p->present, p->scores.count, WRONG(1) ? -1 : p->other, 0};
    const uint64_t bytes = sizeof(first) + p->scores.count * sizeof(float);
    if (data && *inout_bytes < bytes)
        return call->host->fail(call, TN_ERROR_RANGE, "too few bytes");
    if (data) {
        memcpy(data, &first, sizeof(first));
        if (p->scores.count > 0)
            memcpy((char *)data + sizeof(first), p->scores.items, p->scores.count * sizeof(float));
    }
    *inout_bytes = bytes;
    return TN_OK;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    params *p = call->new_params;
    head first;
    if (bytes < sizeof(first)) return call->host->fail(call, TN_ERROR_FORMAT, "too few bytes");
    memcpy(&first, data, sizeof(first));
    const uint64_t most = (bytes - sizeof(first)) / sizeof(float);
    if (WRONG(2) ? sizeof(first) + first.count * sizeof(float) != bytes
                 : first.count != most || bytes != sizeof(first) + most * sizeof(float))
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu scores in %llu bytes",
                                (unsigned long long)first.count, (unsigned long long)bytes);
    p->present = first.present;
    p->other = first.other;
    p->scores.count = first.count;
    if (WRONG(3)) {
        p->scores.items = (const float *)((const char *)data + sizeof(first));
        return TN_OK;
    }
    p->own = malloc((size_t)(first.count + 1) * sizeof(float));
    if (!p->own) return TN_ERROR_MEMORY;
    memcpy(p->own, (const char *)data + sizeof(first), most * sizeof(float));
    p->scores.items = p->own;
    return TN_OK;
}

static void destroy_params(void *user, void *given) {
    params *p = given;
    if (!WRONG(4)) free(p->own);
}

static const char *const cases[] = {"scores=[0.5,1,2] | tokens=i32[5]{0,2,1,7,-1}",
                                    "scores=[3] other=0.25 | tokens=i32[2,2]{0,1,0,-5}"};
static const tn_operator vocabulary = {OPERATOR,
                                       .name = "Vocabulary",
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer_same,
                                       .reference = reference,
                                       .save = save,
                                       .load = load,
                                       .destroy_params = destroy_params,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"i32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Vocabulary",
                                 .name = "list",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("vocabulary", vocabulary, kernel)
