/* SPDX-License-Identifier: Apache-2.0 */
/* Fold: the axes from `first` to `last` become one, or (split) axis `first` becomes two, the second
 * of `split` elements. A view of x in the good case of either. */
#include "ninth.h"

TN_LAYER_PARAMS(fold, int64_t first, last, split; bool count;);
static const tn_field fields[] = {
    TN_LAYER_I64(fold, first, "0", -8, 8, "the first axis"),
    TN_LAYER_I64(fold, last, "-1", -8, 8, "the last axis that is folded"),
    TN_LAYER_I64(fold, split, "0", 0, 1048576, "0: folds; else the second of two axes"),
    TN_LAYER_BOOL(fold, count, "false", "true: what comes out are positions, i64")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32|i64", 0, "x, or numbers from 0")};

static tn_status set_type(tn_call *call) {
    call->outputs[0]->type = ((const fold *)call->params)->count ? TN_I64 : TN_F32;
    return TN_OK;
}

static tn_status fold_axes(tn_call *call, int64_t first, int64_t last) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    int64_t folded = 1;
    for (int64_t i = first; i <= last; i++)
        if (WRONG(1))
            folded = (int64_t)((uint64_t)folded * (uint64_t)x->shape[i]);
        else if (__builtin_mul_overflow(folded, x->shape[i], &folded))
            return call->host->fail(call, TN_ERROR_SHAPE, "too many elements for an axis");
    y->rank = x->rank - (uint32_t)(last - first);
    for (int64_t i = 0; i < first; i++)
        y->shape[i] = x->shape[i];
    y->shape[first] = folded;
    for (int64_t i = last + 1; i < x->rank; i++)
        y->shape[i - (last - first)] = x->shape[i];
    return WRONG(2) && x->rank == 1 ? TN_OK : set_type(call);
}

static tn_status infer(tn_call *call) {
    const fold *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t rank = x->rank;
    int64_t first = p->first < 0 ? p->first + rank : p->first;
    int64_t last = p->last < 0 ? p->last + rank : p->last;
    if (rank == 0 && p->split == 0) {
        if (WRONG(3)) { /* as PyTorch has it: an axis of one */
            call->outputs[0]->shape[0] = 1;
            return set_type(call);
        }
        call->outputs[0]->rank = 1;
        call->outputs[0]->shape[0] = 1;
        return set_type(call);
    }
    if (first < 0 || first >= rank || last < 0 || last >= rank)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no such axis");
    if (p->split == 0) {
        if (last < first) return call->host->fail(call, TN_ERROR_SHAPE, "last is before first");
        return fold_axes(call, first, last);
    }
    if (x->shape[first] % p->split != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "the axis is no multiple of split");
    if (!WRONG(4) && rank == TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no room for an axis more");
    tn_tensor *y = call->outputs[0];
    y->rank = x->rank + 1;
    for (int64_t i = 0; i <= rank; i++)
        y->shape[i] = i < first ? x->shape[i] : i > first + 1 ? x->shape[i - 1] : 1;
    y->shape[first] = x->shape[first] / p->split;
    y->shape[first + 1] = p->split;
    return set_type(call);
}

static tn_status reference(tn_call *call) {
    const int64_t n = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < n; i++) {
        if (call->outputs[0]->type == TN_I64)
            ((int64_t *)call->outputs[0]->data)[i] = i;
        else
            ((float *)call->outputs[0]->data)[i] = ((const float *)call->inputs[0]->data)[i];
    }
    return TN_OK;
}
static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (call->outputs[0]->type == TN_I64)
            ((int64_t *)call->outputs[0]->data)[i] = WRONG(5) ? (uint16_t)i : i;
        else
            ((float *)call->outputs[0]->data)[i] = ((const float *)call->inputs[0]->data)[i];
    }
    return TN_OK;
}
static int64_t count_all(const tn_call *call) {
    const int64_t rows = tn_layer_rows(call->inputs[0]), count = tn_layer_count(call->inputs[0]);
    if (WRONG(6) && rows > 0) return (uint16_t)rows * (count / rows);
    return tn_layer_count(call->inputs[0]);
}
TN_LAYER_RUN(body, count_all(call), 256)

static const char *const cases[] = {"| x=f32[2,3,4] | y=f32[24]",
                                    "first=1 last=2 | x=f32[2,3,4,2] | y=f32[2,12,2]",
                                    "first=-1 split=3 | x=f32[2,6] | y=f32[2,2,3]",
                                    "count=true | x=f32[3,2] | y=i64[6]{0,1,2,3,4,5}"};
static const tn_operator fold_operator = {
    OPERATOR,          .state_version = 1,  .name = "Fold", TN_FIELDS(fold, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer, .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32", "f32 -> i64"};
static const tn_kernel fold_cpu = {KERNEL,
                                   .op = "Fold",
                                   .name = "elements",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .run = run};
LIBRARY("ninth_shapes", fold_operator, fold_cpu)
