/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Update, rows of a state replaced by new ones: the output may share the state's memory; and
 * the mistakes that are made with aliases. */
#include "mistake.h"

#include <string.h>

typedef struct update_params {
    uint64_t present;
    int64_t row;
} update_params;
static const tn_field fields[] = {
    TN_FIELD_RANGE(update_params, row, TN_FIELD_I64, 0, "0", 0, 1e6, "the first row replaced")};
static const tn_port inputs[] = {TN_PORT("state", "f32", 0, "rows, columns"),
                                 TN_PORT("rows", "f32", 0, "some rows, columns")};
static const tn_port outputs[] = {{"updated", "f32", "as the state", TN_PORT_ALIAS, 1, 0, 0}};

static tn_status infer(tn_call *call) {
    const update_params *p = call->params;
    const tn_tensor *state = call->inputs[0], *rows = call->inputs[1];
    if (state->rank != 2 || rows->rank != 2 || state->shape[1] != rows->shape[1] ||
        p->row + rows->shape[0] > state->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE, "the rows do not lie in the state");
    return infer_same(call);
}

/* What a context saw in its first run; of `remembers_sharing` alone. */
typedef struct first_sharing {
    bool is_known, is_shared;
} first_sharing;

static tn_status open_context(tn_call *call) {
    first_sharing *first = call->host->allocate(call->host, sizeof(*first), 8);
    if (!first) return TN_ERROR_MEMORY;
    *first = (first_sharing){false, false};
    call->context = first;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}

static tn_status update(const tn_call *call, bool is_kernel) {
    const update_params *p = call->params;
    const tn_tensor *state = call->inputs[0], *rows = call->inputs[1], *y = call->outputs[0];
    const size_t row_bytes = (size_t)state->shape[1] * sizeof(float);
    bool is_shared = y->data == state->data;
    if (WITH(clears_shared_state) && is_kernel) {
        memset(y->data, 0, (size_t)p->row * row_bytes);
    }
    if (WITH(tactic_clears) && is_kernel && call->tactic == 1) memset(y->data, 0, y->bytes);
    if (WITH(remembers_sharing) && is_kernel) {
        first_sharing *first = call->context;
        if (!first->is_known) *first = (first_sharing){true, is_shared};
        is_shared = first->is_shared;
    }
    if (!is_shared && !(WITH(assumes_alias) && is_kernel))
        memcpy(y->data, state->data, state->bytes);
    if (WITH(updates_input) && is_kernel) memcpy(state->data, rows->data, rows->bytes);
    memcpy((char *)y->data + (size_t)p->row * row_bytes, rows->data, rows->bytes);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return update(call, false);
}
static tn_status run(tn_call *call) {
    return update(call, true);
}
static tn_status tactics(tn_call *call) {
    call->tactic_count = 2;
    return TN_OK;
}

static const char *const cases[] = {"| state=f32[5,4] rows=f32[2,4]",
                                    "row=2 | state=f32[4,16] rows=f32[1,16]"};
static const tn_operator update_operator = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "Bad",
                                            .name = "Update",
                                            TN_FIELDS(update_params, fields),
                                            TN_INPUTS(inputs),
                                            TN_OUTPUTS(outputs),
                                            .infer = infer,
                                            .reference = reference,
                                            TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel update_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Update",
                                     .device = "cpu",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .tactics = tactics,
                                     .open = open_context,
                                     .close = close_context,
                                     .run = run};
static const tn_operator *const operators[] = {&update_operator};
static const tn_kernel *const kernels[] = {&update_cpu};
TN_LIBRARY("bad_update", "1", operators, kernels)
