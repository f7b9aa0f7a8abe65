/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Terms, a sum of powers whose factors are text ("1,-0.5"), lowest power first; and the
 * mistakes that are made with such texts. */
#include "mistake.h"

#include <stdlib.h>
#include <string.h>

typedef struct params {
    uint64_t present;
    const char *factors;
} params;
static const tn_field fields[] = {
    TN_FIELD(params, factors, TN_FIELD_STRING, TN_OPTIONAL, "0,1", "numbers between commas")};

enum { MOST = 8 };
typedef struct factors {
    double values[MOST];
    int count;
} factors;

/* Digits with a point, whatever the locale; null: no number. */
static const char *read_number(const char *at, double *out_value) {
    const double sign = *at == '-' ? -1 : 1;
    double value = 0, share = 1;
    const char *begin = at += *at == '-';
    for (; *at >= '0' && *at <= '9'; at++)
        value = 10 * value + (*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++)
            value += (*at - '0') * (share /= 10);
    *out_value = sign * value;
    return at > begin ? at : NULL;
}

static bool read_factors(const char *text, factors *out, bool is_kernel) {
    out->count = 0;
    for (const char *at = text; *at;) {
        if (out->count == MOST) return false;
        double *value = &out->values[out->count++];
        const char *begin = at;
        at = read_number(at, value);
        if (is_kernel && WITH(reads_by_locale)) *value = strtod(begin, NULL);
        if (!at || (*at && *at != ',')) return false;
        if (*at == ',' && !*++at) return false;
    }
    return true;
}

static tn_status infer(tn_call *call) {
    factors read;
    if (!read_factors(((const params *)call->params)->factors, &read, false))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'factors' is no list of numbers");
    return infer_same(call);
}

static double value_at(const factors *f, double x) {
    double y = 0;
    for (int i = f->count; i-- > 0;)
        y = y * x + f->values[i];
    return y;
}

static tn_status compute(tn_call *call, const factors *f) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        y[i] = (float)value_at(f, (double)x[i]);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    factors read;
    read_factors(((const params *)call->params)->factors, &read, false);
    return compute(call, &read);
}

#if WITH(known_by_address)
static const char *last_text;
static factors last;
#endif
static tn_status prepare(tn_call *call) {
    const char *text = ((const params *)call->params)->factors;
    factors *made = call->host->allocate(call->host, sizeof(*made), 16);
    if (!made) return TN_ERROR_MEMORY;
#if WITH(known_by_address)
    if (text != last_text) read_factors(text, &last, true);
    last_text = text;
    *made = last;
#else
    read_factors(text, made, true);
#endif
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
static tn_status run(tn_call *call) {
    return compute(call, call->state);
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static const char *const cases[] = {"factors=1,-0.5,2.25 | x=f32[3,7]", "| x=f32[5]"};
static const tn_operator terms = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Bad",
                                  .name = "Terms",
                                  TN_FIELDS(params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel terms_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Terms",
                                    .device = "cpu",
                                    .name = "sums",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .prepare = prepare,
                                    .release = release,
                                    .run = run};
static const tn_operator *const operators[] = {&terms};
static const tn_kernel *const kernels[] = {&terms_cpu};
TN_LIBRARY("bad_terms", "1", operators, kernels)
