/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Tile, x repeated along each axis as often as a needed input says, each copy with one of the
 * signs that a list of names has; and the mistakes with the number of values and of names. */
#include "mistake.h"

#include <string.h>

typedef struct tile_params {
    uint64_t present;
    tn_strings signs; /* "plus" or "minus"; none: plus */
} tile_params;
static const tn_field fields[] = {
    TN_FIELD(tile_params, signs, TN_FIELD_STRINGS, 0, NULL, "are multiplied: plus or minus")};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "any shape"),
    TN_PORT("times", "i64|i32", TN_PORT_VALUE_NEEDED, "a number for each axis")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "the copies side by side")};

static int64_t number_at(const tn_tensor *times, uint32_t i) {
    return times->type == TN_I64 || WITH(needed_as_wide) ? ((const int64_t *)times->data)[i]
                                                         : ((const int32_t *)times->data)[i];
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *times = call->inputs[1];
    const tile_params *p = call->params;
    if (times->rank != 1 || (times->shape[0] != x->rank && !WITH(trusts_count)))
        return call->host->fail(call, TN_ERROR_SHAPE, "times must have a number for each axis");
    for (uint64_t i = 0; i < p->signs.count; i++)
        if (strcmp(p->signs.items[i], "plus") != 0 && strcmp(p->signs.items[i], "minus") != 0)
            return call->host->fail(call, TN_ERROR_RANGE, "there is no sign '%s'",
                                    p->signs.items[i]);
    infer_same(call);
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t count = number_at(times, i);
        int64_t *extent = &call->outputs[0]->shape[i];
        if (count < 0) return call->host->fail(call, TN_ERROR_RANGE, "times[%u] is negative", i);
        if (WITH(extent_of_32_bits))
            *extent = (int32_t)((uint32_t)*extent * (uint32_t)count);
        else if (__builtin_mul_overflow(*extent, count, extent))
            return call->host->fail(call, TN_ERROR_RANGE, "axis %u becomes too long", i);
    }
    return TN_OK;
}

static tn_status tile(tn_call *call, bool is_kernel) {
    const tile_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    float sign = 1;
    for (uint64_t i = 0; i < p->signs.count && !(is_kernel && WITH(first_name_alone) && i > 0); i++)
        if (p->signs.items[i][0] == 'm') sign = -sign;
    for (int64_t i = 0, n = count_of(y); i < n; i++) {
        int64_t at = 0, step = 1, rest = i;
        for (uint32_t k = y->rank; k-- > 0; rest /= y->shape[k], step *= x->shape[k])
            at += rest % y->shape[k] % x->shape[k] * step;
        ((float *)y->data)[i] = sign * ((const float *)x->data)[at];
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return tile(call, false);
}
static tn_status run(tn_call *call) {
    return tile(call, true);
}

static const char *const cases[] = {"| x=f32[2,3] times=i64[2]{2,1}",
                                    "signs=[minus] | x=f32[5] times=i64[1]{3}"};
static const tn_operator tile_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Tile",
                                          TN_FIELDS(tile_params, fields),
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer,
                                          .reference = reference,
                                          TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32"};
static const tn_kernel tile_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Tile",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .run = run};
static const tn_operator *const operators[] = {&tile_operator};
static const tn_kernel *const kernels[] = {&tile_cpu};
TN_LIBRARY("bad_tile", "1", operators, kernels)
