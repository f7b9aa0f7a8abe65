/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of 16-bit floats by kernels of 32-bit ones; see widened.h. */
#include "kit/widened/widened.h"
#include "kit/elementwise/cells.h"
#include "kit/math/element.h"
#include "kit/operator/kernel_memory.h"

enum { MOST = 8 /* inputs, outputs */, SMALL = 4 /* elements of a bound or the like */ };

typedef struct widened_state {
    void *own;              /* of the other kernel */
    float *constants[MOST]; /* widened; null: the input varies, or is of another type */
} widened_state;

typedef struct widened_context {
    void *own;
    uint64_t own_bytes; /* of the workspace, a multiple of 64 */
} widened_context;

/* The call as the other kernel sees it. */
typedef struct widened_call {
    tn_call call;
    tn_tensor tensors[4][MOST]; /* inputs, at the ends of the profile, outputs */
    const tn_tensor *inputs[3][MOST];
    tn_tensor *outputs[MOST];
    float small[MOST][SMALL];
} widened_call;

static bool is_half(const tn_tensor *tensor) {
    return tensor && (tensor->type == TN_F16 || tensor->type == TN_BF16);
}

static uint64_t copy_bytes(const tn_tensor *tensor) {
    return ((uint64_t)tn_element_count(tensor) * sizeof(float) + 63) / 64 * 64;
}

static void widen(const tn_tensor *from, float *to) {
    TN_KIT_BEST(tn_cells)->load(TN_CELL_F32, from->type, tn_element_count(from), from->data, to);
}

static bool has_few(const tn_tensor *tensor) {
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] < 0) return false;
    return tn_element_count(tensor) <= SMALL;
}

static void describe(const tn_tensor *from, tn_tensor *to) {
    *to = *from;
    if (!is_half(from)) return;
    to->type = TN_F32;
    to->bytes *= 2;
}

/* Small constants are widened; other data is still that of the call: a kernel asks whether it is
 * there. */
static tn_status begin(const tn_call *call, widened_call *wide) {
    const tn_kernel *base = call->user;
    const tn_tensor *const *const given[3] = {call->inputs, call->minimum_inputs,
                                              call->maximum_inputs};
    if (call->input_count > MOST || call->output_count > MOST || call->step_count > 0)
        return TN_ERROR_UNSUPPORTED;
    *wide = (widened_call){.call = *call};
    for (int p = 0; p < 3; p++)
        for (uint32_t i = 0; given[p] && i < call->input_count; i++) {
            if (!given[p][i]) continue;
            describe(given[p][i], &wide->tensors[p][i]);
            wide->inputs[p][i] = &wide->tensors[p][i];
        }
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *input = call->inputs[i];
        if (!is_half(input) || !input->data || !has_few(input)) continue;
        widen(input, wide->small[i]);
        wide->tensors[0][i].data = wide->small[i];
    }
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        describe(call->outputs[i], &wide->tensors[3][i]);
        wide->outputs[i] = &wide->tensors[3][i];
    }
    wide->call.user = base->user;
    wide->call.inputs = wide->inputs[0];
    if (call->minimum_inputs) wide->call.minimum_inputs = wide->inputs[1];
    if (call->maximum_inputs) wide->call.maximum_inputs = wide->inputs[2];
    wide->call.outputs = wide->outputs;
    return TN_OK;
}

/* With the state and the context of the other kernel, and the widened constants. */
static tn_status begin_prepared(const tn_call *call, widened_call *wide) {
    const widened_state *state = call->state;
    const widened_context *context = call->context;
    TN_TRY(begin(call, wide));
    wide->call.state = state->own;
    wide->call.context = context ? context->own : NULL;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (state->constants[i]) wide->tensors[0][i].data = state->constants[i];
    return TN_OK;
}

tn_status tn_widened_accepts(tn_call *call) {
    const tn_kernel *base = call->user;
    widened_call wide;
    TN_TRY(begin(call, &wide));
    return base->accepts ? base->accepts(&wide.call) : TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * state and context */

static void free_constants(const tn_call *call) {
    const widened_state *state = call->state;
    for (int i = 0; i < MOST; i++)
        call->host->deallocate(call->host, state->constants[i]);
}

static tn_status widen_constants(const tn_call *call) {
    widened_state *state = call->state;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *input = call->inputs[i];
        if (!is_half(input) || !input->data) continue;
        state->constants[i] = call->host->allocate(call->host, copy_bytes(input) + 64, 64);
        if (!state->constants[i])
            return call->host->fail((tn_call *)(uintptr_t)call, TN_ERROR_MEMORY,
                                    "no memory for a constant of 32-bit floats");
        widen(input, state->constants[i]);
    }
    return TN_OK;
}

tn_status tn_widened_prepare(tn_call *call) {
    const tn_kernel *base = call->user;
    widened_call wide;
    TN_TRY(tn_kernel_state_create(call, sizeof(widened_state)));
    tn_status status = call->input_count > MOST ? TN_ERROR_UNSUPPORTED : widen_constants(call);
    if (status == TN_OK) status = begin_prepared(call, &wide);
    if (status == TN_OK && base->prepare) status = base->prepare(&wide.call);
    if (status == TN_OK) {
        ((widened_state *)call->state)->own = wide.call.state;
        return TN_OK;
    }
    free_constants(call);
    return tn_kernel_state_finish(call, status);
}

/* The call of a callback that is given no tensors. */
static tn_call without_tensors(const tn_call *call) {
    tn_call own = *call;
    own.user = ((const tn_kernel *)call->user)->user;
    own.state = ((const widened_state *)call->state)->own;
    return own;
}

void tn_widened_release(tn_call *call) {
    const tn_kernel *base = call->user;
    tn_call own = without_tensors(call);
    if (base->release) base->release(&own);
    free_constants(call);
    tn_kernel_state_destroy(call);
}

tn_status tn_widened_open(tn_call *call) {
    const tn_kernel *base = call->user;
    tn_call own = without_tensors(call);
    widened_context *context = call->host->allocate(call->host, sizeof(*context), 64);
    if (!context) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context");
    *context = (widened_context){.own = NULL};
    own.context = NULL;
    const tn_status status = base->open ? base->open(&own) : TN_OK;
    if (status != TN_OK) {
        call->host->deallocate(call->host, context);
        return status;
    }
    context->own = own.context;
    call->context = context;
    return TN_OK;
}

void tn_widened_close(tn_call *call) {
    const tn_kernel *base = call->user;
    widened_context *context = call->context;
    tn_call own = without_tensors(call);
    own.context = context->own;
    if (base->close) base->close(&own);
    call->host->deallocate(call->host, context);
    call->context = NULL;
}

/* ----------------------------------------------------------------------------------------------
 * shapes and runs: the workspace is the other kernel's, then the copies */

tn_status tn_widened_reshape(tn_call *call) {
    const tn_kernel *base = call->user;
    const widened_state *state = call->state;
    widened_context *context = call->context;
    widened_call wide;
    TN_TRY(begin_prepared(call, &wide));
    wide.call.workspace_bytes = 0;
    if (base->reshape) TN_TRY(base->reshape(&wide.call));
    context->own_bytes = (wide.call.workspace_bytes + 63) / 64 * 64;
    uint64_t bytes = context->own_bytes;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (is_half(call->inputs[i]) && !state->constants[i]) bytes += copy_bytes(call->inputs[i]);
    for (uint32_t i = 0; i < call->output_count; i++)
        if (is_half(call->outputs[i])) bytes += copy_bytes(call->outputs[i]);
    call->workspace_bytes = bytes;
    return TN_OK;
}

tn_status tn_widened_run(tn_call *call) {
    const tn_kernel *base = call->user;
    const widened_context *context = call->context;
    const widened_state *state = call->state;
    widened_call wide;
    TN_TRY(begin_prepared(call, &wide));
    char *copy = (char *)call->workspace + context->own_bytes;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!is_half(call->inputs[i]) || state->constants[i]) continue;
        widen(call->inputs[i], (float *)(void *)copy);
        wide.tensors[0][i].data = copy;
        copy += copy_bytes(call->inputs[i]);
    }
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!is_half(call->outputs[i])) continue;
        wide.tensors[3][i].data = copy;
        copy += copy_bytes(call->outputs[i]);
    }
    TN_TRY(base->run(&wide.call));
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_tensor *to = call->outputs[i];
        if (is_half(to))
            TN_KIT_BEST(tn_cells)->store(TN_CELL_F32, to->type, tn_element_count(to),
                                         wide.tensors[3][i].data, to->data);
    }
    return TN_OK;
}
