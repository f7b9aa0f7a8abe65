/* SPDX-License-Identifier: Apache-2.0 */
/* Terms: a polynomial whose coefficients are saved as bytes of its own. */
#include "fourth.h"

TN_LAYER_PARAMS(params, tn_f32s terms; float factor; float *owned;);
static const tn_field fields[] = {TN_FIELD_LIST(params, terms, TN_FIELD_F32S, TN_OPTIONAL, "[0,1]",
                                                1, 16, -1000, 1000, "from the constant one up"),
                                  TN_LAYER_F32(params, factor, "1", -1000, 1000, "of all")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return fourth_same(call, 0, 0);
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const double x = tn_layer_load(call->inputs[0], i);
    double y = 0;
    for (uint64_t k = p->terms.count; k-- > 0;)
        y = k + 1 == p->terms.count ? (double)p->terms.items[k] : y * x + (double)p->terms.items[k];
    return y * (double)p->factor;
}
TN_LAYER_REFERENCE(element)

static tn_status items(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        double sum = (double)p->terms.items[p->terms.count - 1];
#if MISTAKE == 5
        for (uint64_t k = p->terms.count - 1; k-- > 1;) /* MISTAKE: ends one step early */
#else
        for (uint64_t k = p->terms.count - 1; k-- > 0;)
#endif
            sum = sum * (double)x[i] + (double)p->terms.items[k];
        y[i] = (float)(sum * (double)p->factor);
    }
    return TN_OK;
}
TN_LAYER_RUN(items, tn_layer_count(call->outputs[0]), 512)

/* present, factor, count, and the terms. */
typedef struct head {
    uint64_t present, count;
    float factor;
    uint32_t zero;
} head;
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const params *p = call->params;
    const uint64_t bytes = sizeof(head) + p->terms.count * sizeof(float);
    if (data) {
        if (*inout_bytes < bytes)
            return call->host->fail(call, TN_ERROR_ARGUMENT, "%llu bytes do not hold the terms",
                                    (unsigned long long)*inout_bytes);
#if MISTAKE == 2
        const head h = {p->present, p->terms.count, 1, 0}; /* MISTAKE: the factor is not saved */
#else
        const head h = {p->present, p->terms.count, p->factor, 0};
#endif
        memcpy(data, &h, sizeof(h));
        memcpy((char *)data + sizeof(h), p->terms.items, p->terms.count * sizeof(float));
    }
    *inout_bytes = bytes;
    return TN_OK;
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    params *made = call->new_params;
    head h;
    if (bytes < sizeof(h))
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu bytes are no terms",
                                (unsigned long long)bytes);
    memcpy(&h, data, sizeof(h));
#if MISTAKE == 4
    if (h.count < 1 || h.count > 16 || bytes != sizeof(h) + h.count * sizeof(float))
        return TN_ERROR_FORMAT; /* MISTAKE: no reason */
#elif MISTAKE != 1 /* MISTAKE: the bytes are believed to hold as many terms as they say */
    if (h.count < 1 || h.count > 16 || bytes != sizeof(h) + h.count * sizeof(float))
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu bytes do not hold %llu terms",
                                (unsigned long long)bytes, (unsigned long long)h.count);
#endif
    bool is_bounded = fabsf(h.factor) <= 1000;
    for (uint64_t k = 0; k < h.count; k++) {
        float term;
        memcpy(&term, (const char *)data + sizeof(h) + k * sizeof(term), sizeof(term));
        is_bounded = is_bounded && fabsf(term) <= 1000;
    }
#if MISTAKE == 4
    if (!is_bounded) return TN_ERROR_FORMAT;
#else
    if (!is_bounded)
        return call->host->fail(call, TN_ERROR_FORMAT, "a saved number is beyond 1000");
#endif
    made->owned = malloc(h.count * sizeof(float));
    if (!made->owned) return TN_ERROR_MEMORY;
    memcpy(made->owned, (const char *)data + sizeof(h), h.count * sizeof(float));
    made->present = h.present;
    made->factor = h.factor;
    made->terms = (tn_f32s){h.count, made->owned};
    return TN_OK;
}
static void destroy_params(void *user, void *parameters) {
    params *p = parameters;
    (void)user;
#if MISTAKE != 3 /* MISTAKE: what load allocated is not freed */
    free(p->owned);
#endif
    p->owned = NULL;
}

static const char *const cases[] = {
    "| x=f32[3,5]",
    "terms=[1,-2,0.5] factor=3 | x=f32[40]",
    "terms=[0,0,1] | x=f64[3]{1,2,3} | y=f64[3]{1,4,9}",
    "terms=[4] factor=0.5 | x=f32[2,2]",
};
static const char *const combinations[] = {"f32 -> f32"};
FOURTH_OPERATOR("Terms", "A polynomial of x.", .state_version = 1, TN_FIELDS(params, fields),
                .save = save, .load = load, .destroy_params = destroy_params)
FOURTH_KERNEL(the_kernel, "Terms", "horner", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
              TN_COMBINATIONS(combinations), .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("terms", "1.0", operators, kernels)
