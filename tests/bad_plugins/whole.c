/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Wrap, integers held in a range, by an expression too; Bad::Gap, how far two integers
 * are apart; Bad::Spread, each element as often as an integer beside it says, in an output without
 * a bound. And the mistakes with the signs and the widths of whole numbers. */
#include "mistake.h"

#include <math.h>
#include <tenon/plugin/output.h>

/* ----------------------------------------------------------------------------------------------
 * a range */

typedef struct wrap_params {
    uint64_t present;
    int64_t range;
} wrap_params;
static const tn_field wrap_fields[] = {
    TN_FIELD_RANGE(wrap_params, range, TN_FIELD_I64, 0, "12", 1, 1000, "how many numbers it has")};
static const tn_port wrap_inputs[] = {TN_PORT("x", "i32", 0, "any shape")};
static const tn_port wrap_outputs[] = {TN_PORT("y", "i32", 0, "from 0 to the range less 1")};

static tn_status wrap_run(tn_call *call) {
    const int64_t range = ((const wrap_params *)call->params)->range;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const int64_t rest = ((const int32_t *)call->inputs[0]->data)[i] % range;
        ((int32_t *)call->outputs[0]->data)[i] = (int32_t)(rest < 0 ? rest + range : rest);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * how far apart */

static const tn_port gap_inputs[] = {TN_PORT("a", "T:u64|i64|u32", 0, "any shape"),
                                     TN_PORT("b", "T", 0, "a's shape")};
static const tn_port gap_outputs[] = {TN_PORT("y", "u64", 0, "the larger less the smaller")};

static tn_status gap_infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    bool is_same = a->rank == b->rank;
    for (uint32_t i = 0; is_same && i < a->rank; i++)
        is_same = a->shape[i] == b->shape[i];
    if (!is_same) return call->host->fail(call, TN_ERROR_SHAPE, "a and b have one shape");
    return infer_same(call);
}
static uint64_t load(const tn_tensor *tensor, int64_t i) {
    return tensor->type == TN_U32 ? ((const uint32_t *)tensor->data)[i]
                                  : ((const uint64_t *)tensor->data)[i];
}
static tn_status gap(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    for (int64_t i = 0; i < count_of(x); i++) {
        const uint64_t a = load(x, i), b = load(call->inputs[1], i);
        const bool is_less = x->type == TN_I64 ? (int64_t)a < (int64_t)b : a < b;
        uint64_t y = is_less ? b - a : a - b;
        if (WITH(gap_as_double) && is_kernel && x->type == TN_U64)
            y = (uint64_t)fabs((double)a - (double)b);
        if (WITH(gap_with_sign) && is_kernel && x->type == TN_U64)
            y = (int64_t)a < (int64_t)b ? b - a : a - b;
        ((uint64_t *)call->outputs[0]->data)[i] = y;
    }
    return TN_OK;
}
static tn_status gap_reference(tn_call *call) {
    return gap(call, false);
}
static tn_status gap_run(tn_call *call) {
    return gap(call, true);
}

/* ----------------------------------------------------------------------------------------------
 * as often as is said */

enum { MOST_TIMES = 1 << 20 };
static const tn_port spread_inputs[] = {TN_PORT("x", "f32", 0, "elements"),
                                        TN_PORT("times", "i32", 0, "how often each comes")};
static const tn_port spread_outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "elements in their order")};

static tn_status spread_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *times = call->inputs[1];
    if (x->rank != 1 || times->rank != 1 || times->shape[0] != x->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE, "x and times are vectors of one length");
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = TN_UNBOUNDED;
    return TN_OK;
}
static tn_status spread(tn_call *call, bool is_kernel) {
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    const int32_t *times = call->inputs[1]->data;
    const int64_t count = call->inputs[0]->shape[0];
    int64_t total = 0;
    void *data = 0;
    for (int64_t i = 0; i < count; i++) {
        const bool is_last = i + 1 == count && count > 1;
        if ((times[i] < 0 && !(is_kernel && WITH(last_time_below_zero) && is_last)) ||
            times[i] > MOST_TIMES)
            return call->host->fail(call, TN_ERROR_RANGE, "element %lld comes %d times",
                                    (long long)i, times[i]);
        total += times[i];
    }
    const tn_status status = memory->allocate(call, 0, 1, &total, &data);
    float *to = data;
    for (int64_t i = 0; status == TN_OK && i < count; i++)
        for (int32_t k = 0; k < times[i]; k++)
            *to++ = ((const float *)call->inputs[0]->data)[i];
    return status;
}
static tn_status spread_reference(tn_call *call) {
    return spread(call, false);
}
static tn_status spread_run(tn_call *call) {
    return spread(call, true);
}

static const char *const wrap_cases[] = {"| x=i32[3,5]", "range=5 | x=i32[8]"};
static const char *const gap_cases[] = {"| a=u64[9] b=u64[9]", "| a=i64[2,3] b=i64[2,3]",
                                        "| a=u32[4] b=u32[4]"};
static const char *const spread_cases[] = {"| x=f32[4] times=i32[4]{2,0,3,1}",
                                           "| x=f32[1] times=i32[1]{0}"};
static const tn_operator wrap = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .traits = TN_OPERATOR_ELEMENTWISE,
                                 .domain = "Bad",
                                 .name = "Wrap",
                                 TN_FIELDS(wrap_params, wrap_fields),
                                 TN_INPUTS(wrap_inputs),
                                 TN_OUTPUTS(wrap_outputs),
                                 .infer = infer_same,
                                 .reference = wrap_run,
                                 .expression =
                                     WITH(remainder_of_c) ? "fmod(x, range)" : "mod(x, range)",
                                 TN_CASES(wrap_cases)};
static const tn_operator gap_operator = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .state_version = 1,
                                         .traits =
                                             TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
                                         .domain = "Bad",
                                         .name = "Gap",
                                         TN_NO_FIELDS,
                                         TN_INPUTS(gap_inputs),
                                         TN_OUTPUTS(gap_outputs),
                                         .infer = gap_infer,
                                         .reference = gap_reference,
                                         TN_CASES(gap_cases)};
static const tn_operator spread_operator = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "Bad",
                                            .name = "Spread",
                                            TN_NO_FIELDS,
                                            TN_INPUTS(spread_inputs),
                                            TN_OUTPUTS(spread_outputs),
                                            .infer = spread_infer,
                                            .reference = spread_reference,
                                            TN_CASES(spread_cases)};
static const char *const wrap_combinations[] = {"i32 -> i32"};
static const char *const gap_combinations[] = {"u64, u64 -> u64", "i64, i64 -> u64",
                                               "u32, u32 -> u64"};
static const char *const spread_combinations[] = {"f32, i32 -> f32"};
#define KERNEL(OP, COMBINATIONS, RUN)                                                              \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "Bad", .op = OP, .device = "cpu",      \
        .name = "plain", .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(COMBINATIONS),         \
        .run = RUN                                                                                 \
    }
static const tn_kernel wrap_cpu = KERNEL("Wrap", wrap_combinations, wrap_run),
                       gap_cpu = KERNEL("Gap", gap_combinations, gap_run),
                       spread_cpu = KERNEL("Spread", spread_combinations, spread_run);
static const tn_operator *const operators[] = {&wrap, &gap_operator, &spread_operator};
static const tn_kernel *const kernels[] = {&wrap_cpu, &gap_cpu, &spread_cpu};
TN_LIBRARY("bad_whole", "1", operators, kernels)
