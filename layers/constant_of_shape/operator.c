/* SPDX-License-Identifier: Apache-2.0 */
/* ConstantOfShape: a tensor of a given shape with one value everywhere. */
#include "constant_of_shape/fields.h"
#include "kit/operator/layer.h"

static tn_status constant_of_shape_infer(tn_call *call) {
    const tn_constant_of_shape_params *params = call->params;
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    if (params->value && (tn_element_count(params->value) != 1 || !params->value->data))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'value' must have one element");
    /* first: asked for types alone, nobody has the value */
    tn_infer_set_type(call, 0, params->value ? params->value->type : TN_F32);
    TN_TRY(tn_infer_integers(call, 0, TN_MAX_RANK, shape, &rank));
    return tn_infer_set_shape(call, 0, rank, shape);
}

static tn_status constant_of_shape_reference(tn_call *call) {
    const tn_constant_of_shape_params *params = call->params;
    const tn_tensor *output = call->outputs[0];
    const size_t bytes = tn_element_bytes(output->type);
    const size_t total = (size_t)tn_element_count(output) * bytes;
    if (total == 0) return TN_OK;
    if (!params->value) {
        memset(output->data, 0, total);
        return TN_OK;
    }
    for (size_t at = 0; at < total; at += bytes)
        memcpy((char *)output->data + at, params->value->data, bytes);
    return TN_OK;
}

typedef struct fill_job {
    char *y;
    const tn_tensor *value; /* null: zero */
    size_t bytes;           /* of an element */
} fill_job;

/* What is filled is copied in steps that double. An item is an element. */
static tn_status fill(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const fill_job *job = user;
    char *to = job->y + (size_t)begin * job->bytes;
    const size_t total = (size_t)(end - begin) * job->bytes;
    (void)thread;
    if (!job->value) {
        memset(to, 0, total);
        return TN_OK;
    }
    memcpy(to, job->value->data, job->bytes);
    for (size_t done = job->bytes; done < total;) {
        const size_t some = done < total - done ? done : total - done;
        memcpy(to + done, to, some);
        done += some;
    }
    return TN_OK;
}

static tn_status constant_of_shape_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_constant_of_shape_params *params = call->params;
    const tn_tensor *y = call->outputs[0];
    fill_job job = {y->data, params->value, tn_element_bytes(y->type)};
    if (tn_element_count(y) == 0) return TN_OK;
    return call->host->parallel_for(call, tn_element_count(y), GRAIN, fill, &job);
}

static const tn_port constant_of_shape_inputs[] = {
    TN_PORT("input", "i64", TN_PORT_VALUE_NEEDED, "extents of the output")};
static const tn_port constant_of_shape_outputs[] = {
    TN_PORT("output", "any", 0, "the value everywhere")};
static const char *const constant_of_shape_cases[] = {
    "| input=i64[3]{2,3,4}",
    "| input=i64[0]",
    "| input=i64[2]{0,3}",
};

TN_OPERATOR(constant_of_shape, "", "ConstantOfShape", 9, "A tensor with one value everywhere.",
            TN_FIELDS(tn_constant_of_shape_params, constant_of_shape_fields));

TN_CPU_KERNEL(constant_of_shape_fill, "", "ConstantOfShape", "fill", "Filled on all threads.",
              .run = constant_of_shape_run);

TN_LAYER(constant_of_shape, TN_OPERATORS(&constant_of_shape_9),
         TN_KERNELS(&constant_of_shape_fill));
