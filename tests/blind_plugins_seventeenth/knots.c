/* SPDX-License-Identifier: Apache-2.0 */
/* A curve through points, with straight lines between them. Plans have the points as bytes of the
 * operator's own. */
#include "seventeenth.h"

/* `owned` is what load made; null where the points are the host's. */
TN_LAYER_PARAMS(params, tn_f32s at; tn_f32s value; float *owned;);
static const tn_field fields[] = {
    TN_FIELD_LIST(params, at, TN_FIELD_F32S, TN_OPTIONAL, "[0, 1]", 1, 4096, 0, 0, "ascending"),
    TN_FIELD_LIST(params, value, TN_FIELD_F32S, TN_OPTIONAL, "[0, 1]", 1, 4096, 0, 0,
                  "as many: the curve there"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (p->at.count != p->value.count || p->at.count == 0)
        return call->host->fail(call, TN_ERROR_RANGE, "%llu points have %llu values",
                                (unsigned long long)p->at.count,
                                (unsigned long long)p->value.count);
    for (uint64_t i = 1; i < p->at.count; i++)
        if (!(p->at.items[i - 1] < p->at.items[i]))
            return call->host->fail(call, TN_ERROR_RANGE, "point %llu is not above the one before",
                                    (unsigned long long)i);
    return infer_same(call);
}

static double curve(const params *p, double x) {
    const uint64_t last = p->at.count - 1;
    if (isnan(x)) return x;
    if (x <= (double)p->at.items[0]) return (double)p->value.items[0];
    for (uint64_t i = 0; i < last; i++) {
        const double from = (double)p->at.items[i], to = (double)p->at.items[i + 1];
        if (x >= to) continue;
        const double part = (x - from) / (to - from);
        return (1 - part) * (double)p->value.items[i] + part * (double)p->value.items[i + 1];
    }
    return (double)p->value.items[last];
}

static double element(const tn_call *call, int64_t i) {
    return curve(call->params, tn_layer_load(call->inputs[0], i));
}
TN_LAYER_REFERENCE(element)

/* Before the points: which fields were given, how many points and values, and a check of those. */
typedef struct header {
    uint64_t present, points, values, check;
} header;

static uint64_t check_of(const header *h, const float *numbers) {
    uint64_t check = h->present * 31 + h->points * 7 + h->values;
    for (uint64_t i = 0; i < h->points + h->values; i++) {
        uint32_t bits;
        memcpy(&bits, numbers + i, sizeof(bits));
        check = (check ^ bits) * 1099511628211u;
    }
    return check;
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const params *p = call->params;
    header h = {p->present, p->at.count, p->value.count, 0};
    const uint64_t bytes = sizeof(h) + (h.points + h.values) * sizeof(float);
    if (data) {
        if (*inout_bytes < bytes)
            return call->host->fail(call, TN_ERROR_ARGUMENT, "no room for the points");
        char *to = (char *)data + sizeof(h);
        if (h.points > 0) memcpy(to, p->at.items, h.points * sizeof(float));
        if (h.values > 0)
            memcpy(to + h.points * sizeof(float), p->value.items, h.values * sizeof(float));
        float *numbers = malloc(bytes);
        if (!numbers) return TN_ERROR_MEMORY;
        memcpy(numbers, to, bytes - sizeof(h));
        h.check = check_of(&h, numbers);
        free(numbers);
        memcpy(data, &h, sizeof(h));
    }
    *inout_bytes = bytes;
    return TN_OK;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    params *p = call->new_params;
    header h = {0, 0, 0, 0};
    if (bytes < sizeof(h) && !WRONG(2))
        return call->host->fail(call, TN_ERROR_FORMAT, "the points are cut off");
    memcpy(&h, data, sizeof(h));
    if (h.points > 4096 || h.values > 4096 ||
        (bytes != sizeof(h) + (h.points + h.values) * sizeof(float) && !WRONG(2)))
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu bytes for %llu points",
                                (unsigned long long)bytes, (unsigned long long)h.points);
    float *numbers = malloc((h.points + h.values + 1) * sizeof(float));
    if (!numbers) return TN_ERROR_MEMORY;
    memcpy(numbers, (const char *)data + sizeof(h), (h.points + h.values) * sizeof(float));
    if (h.check != check_of(&h, numbers)) {
        free(numbers);
        return call->host->fail(call, TN_ERROR_FORMAT, "the points are damaged");
    }
    p->present = h.present;
    if (WRONG(1)) { /* the host has them already */
        free(numbers);
        numbers = (float *)(uintptr_t)((const char *)data + sizeof(h));
    }
    p->owned = WRONG(1) ? NULL : numbers;
    p->at = (tn_f32s){h.points, numbers};
    p->value = (tn_f32s){h.values, numbers + h.points};
    return TN_OK;
}

static void destroy_params(void *user, void *given) {
    (void)user;
    if (!WRONG(3)) free(((params *)given)->owned);
}

static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->inputs[0]), 64)

static const char *const cases[] = {
    "| x=f32[3,7]",
    "at=[-1,0,0.5,2] value=[3,-1,-1,4] | x=f32[40]",
    "at=[0.25] value=[2] | x=f32[2,2]",
};
static const tn_operator knots = {OPERATOR,
                                  .name = "Knots",
                                  TN_FIELDS(params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  .save = save,
                                  .load = load,
                                  .destroy_params = destroy_params,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Knots",
                                 .device = "cpu",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("knots", knots, kernel)
