/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin that is built against an older, an equal and a newer header, as C and as C++: y =
 * factor * x + sum of offsets, by a kernel that uses workspace, parallel_for and a state, on an
 * operator with two fields. It uses nothing that an older header lacks. ABI_NAME is the library's
 * name and the operator's domain.
 */
#include <tenon/plugin.h>

typedef struct layer_params {
    uint64_t present;
    float factor;
    tn_f32s offsets;
} layer_params;

static const tn_field layer_fields[] = {
    TN_FIELD_RANGE(layer_params, factor, TN_FIELD_F32, TN_OPTIONAL, "2", -100, 100, "multiplies x"),
    TN_FIELD(layer_params, offsets, TN_FIELD_F32S, TN_OPTIONAL, "[0.5, 0.25]", "are added"),
};
static const tn_port layer_inputs[] = {
    TN_PORT("x", "T:f32|f64", 0, "any shape"),
    TN_PORT("unused", "T", TN_PORT_OPTIONAL, "nothing"),
};
static const tn_port layer_outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status layer_infer(tn_call *call) TN_NOEXCEPT {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u", x->rank);
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static float total_offset(const layer_params *params) {
    float sum = 0;
    for (uint64_t i = 0; i < params->offsets.count; i++)
        sum += params->offsets.items[i];
    return sum;
}

static tn_status layer_reference(tn_call *call) TN_NOEXCEPT {
    const layer_params *params = (const layer_params *)call->params;
    const tn_tensor *x = call->inputs[0];
    for (uint64_t i = 0; i < x->bytes / 4; i++)
        ((float *)call->outputs[0]->data)[i] =
            params->factor * ((const float *)x->data)[i] + total_offset(params);
    return TN_OK;
}

static tn_status layer_prepare(tn_call *call) TN_NOEXCEPT {
    float *offset = (float *)call->host->allocate(call->host, sizeof(float), 64);
    if (!offset) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a number");
    *offset = total_offset((const layer_params *)call->params);
    call->state = offset;
    return TN_OK;
}
static void layer_release(tn_call *call) TN_NOEXCEPT {
    call->host->deallocate(call->host, call->state);
}

static tn_status layer_reshape(tn_call *call) TN_NOEXCEPT {
    call->workspace_bytes = call->inputs[0]->bytes;
    return TN_OK;
}

static tn_status layer_part(void *user, int64_t begin, int64_t end, uint32_t thread) TN_NOEXCEPT {
    tn_call *call = (tn_call *)user;
    const layer_params *params = (const layer_params *)call->params;
    float *scaled = (float *)call->workspace;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        scaled[i] = params->factor * ((const float *)call->inputs[0]->data)[i];
        ((float *)call->outputs[0]->data)[i] = scaled[i] + *(const float *)call->state;
    }
    return TN_OK;
}
static tn_status layer_run(tn_call *call) TN_NOEXCEPT {
    return call->host->parallel_for(call, (int64_t)(call->inputs[0]->bytes / 4), 16, layer_part,
                                    call);
}

static const tn_operator layer_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = 0,
    .domain = ABI_NAME,
    .name = "Scale",
    .variant = NULL,
    .doc = "Scales and shifts.",
    TN_FIELDS(layer_params, layer_fields),
    TN_INPUTS(layer_inputs),
    TN_OUTPUTS(layer_outputs),
    .infer = layer_infer,
    .reference = layer_reference,
};
static const char *const layer_combinations[] = {"f32, f32? -> f32"};
static const tn_kernel layer_kernel = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = ABI_NAME,
    .op = "Scale",
    .minimum_version = 0,
    .maximum_version = 0,
    .device = "cpu",
    .name = "plain",
    .doc = "For tests.",
    .requires_features = NULL,
    .absorbs = NULL,
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(layer_combinations),
    .accepts = NULL,
    .tactics = NULL,
    .prepare = layer_prepare,
    .release = layer_release,
    .open = NULL,
    .close = NULL,
    .reshape = layer_reshape,
    .run = layer_run,
};
static const tn_operator *const operators[] = {&layer_operator};
static const tn_kernel *const kernels[] = {&layer_kernel};
TN_LIBRARY(ABI_NAME, "1.0", operators, kernels)
