/* SPDX-License-Identifier: Apache-2.0 */
/* A case's node: node.h. */
#include "node.h"

#include <tenon/plugin/device.h>

#include <math.h>
#include <string.h>

static void set_shape(const run_case *c, int64_t *shape) {
    memcpy(shape, c->x, sizeof(c->x));
    if (strcmp(c->op, "Conv") == 0) {
        shape[1] = c->w[0];
        for (uint32_t i = 0; i + 2 < c->rank; i++)
            shape[2 + i] = (c->x[2 + i] + c->pads[i] + c->pads[i + c->rank - 2] -
                            ((c->w[2 + i] - 1) * c->dilations[i] + 1)) /
                               c->strides[i] +
                           1;
    } else if (c->op[0] == 'C') {
        shape[1] = c->w[1] * c->group;
        for (uint32_t i = 0; i + 2 < c->rank; i++)
            shape[2 + i] = (c->x[2 + i] - 1) * c->strides[i] + (c->w[2 + i] - 1) * c->dilations[i] +
                           1 - c->pads[i] - c->pads[i + c->rank - 2];
    } else {
        shape[c->rank - 1] = c->group == 1 ? c->w[0] : c->w[c->rank - 1];
    }
}

static void add_step(run_node *n, const seen_step *step) {
    tn_call *call = &n->call;
    const uint32_t at = call->step_count++;
    show_step(step, at, NULL, &n->buffers[at], &n->steps[at]);
    n->chain[at] = &n->steps[at];
}

static void make_steps(run_node *n) {
    tn_call *call = &n->call;
    if (n->c->has_residual) {
        n->operands[0] = &n->residual.tensor;
        call->operand_count = 1;
        add_step(n, &(seen_step){.kind = SEEN_RESIDUAL});
    }
    if (n->c->activation) {
        const run_activation *a = &run_activations[n->c->activation];
        add_step(n, &(seen_step){.kind = SEEN_ACTIVATION,
                                 .activation = a->activation,
                                 .alpha = a->alpha,
                                 .beta = a->beta});
    }
    if (n->c->has_mean) add_step(n, &(seen_step){.kind = SEEN_PLANE_MEAN});
    call->operands = n->operands;
    call->steps = n->chain;
}

static void make_params(run_node *n) {
    const run_case *c = n->c;
    const uint32_t spatial = c->rank - 2;
    n->op = (tn_operator){.size = sizeof(tn_operator), .since_version = 13};
    n->conv = (tn_conv_params){.group = c->group,
                               .strides = {spatial, c->strides},
                               .dilations = {spatial, c->dilations},
                               .pads = {2u * spatial, c->pads}};
    n->transposed = (tn_conv_transpose_params){.group = c->group,
                                               .strides = {spatial, c->strides},
                                               .dilations = {spatial, c->dilations},
                                               .pads = {2u * spatial, c->pads}};
    n->gemm = (tn_gemm_params){.alpha = 1, .beta = 1, .transB = c->group == 1};
    n->call.op = &n->op;
    n->call.params = strcmp(c->op, "Conv") == 0            ? (void *)&n->conv
                     : strcmp(c->op, "ConvTranspose") == 0 ? (void *)&n->transposed
                                                           : (void *)&n->gemm;
}

void run_node_make(run_node *n, const run_case *c, const tn_host *host, tn_type type,
                   tn_type w_type, tn_type y_type, tn_format format, tn_format y_format) {
    int64_t *made = n->made, shape[TN_MAX_RANK], filters;
    memset(n, 0, sizeof(*n));
    n->c = c;
    n->call = (tn_call){.size = sizeof(tn_call),
                        .input_count = 3,
                        .output_count = 1,
                        .threads = 1,
                        .host = host,
                        .inputs = n->inputs,
                        .outputs = n->outputs,
                        .device = run_device,
                        .stream = run_stream,
                        .node = c->name};
    set_shape(c, made);
    memcpy(shape, made, sizeof(shape));
    for (uint32_t i = 2; c->has_mean && i < c->rank; i++)
        shape[i] = 1;
    filters = c->op[0] == 'C' ? made[1] : made[c->rank - 1];
    const double terms = c->op[0] == 'C'
                             ? (double)c->w[1] * (double)(c->w[2] * (c->w[3] ? c->w[3] : 1))
                             : (double)c->x[c->rank - 1];
    run_tensor_describe(&n->x, type, format, c->rank, c->x);
    run_tensor_describe(&n->w, w_type, TN_LINEAR, c->rank, c->w);
    run_tensor_describe(&n->b, w_type, TN_LINEAR, 1, &filters);
    run_tensor_describe(&n->residual, c->has_mean ? type : y_type, c->has_mean ? format : y_format,
                        c->rank, made);
    run_tensor_describe(&n->y, y_type, y_format, c->rank, shape);
    run_tensor_fill(&n->x, 1.0f);
    run_tensor_fill(&n->w, (float)(1.7 / sqrt(terms)));
    run_tensor_fill(&n->b, 0.5f);
    run_tensor_fill(&n->residual, 0.5f);
    run_reference_sample(n);
    n->y.scale = (float)(n->ceiling / 127);
    n->inputs[0] = &n->x.tensor;
    n->inputs[1] = &n->w.tensor;
    n->inputs[2] = c->has_bias ? &n->b.tensor : NULL;
    if (!c->has_bias) n->call.input_count = 2;
    n->outputs[0] = &n->y.tensor;
    make_params(n);
    make_steps(n);
    n->device_x = run_tensor_to_device(&n->x);
    n->device_w = run_tensor_to_device(&n->w);
    n->device_b = run_tensor_to_device(&n->b);
    n->device_residual = run_tensor_to_device(&n->residual);
    n->device_y = run_tensor_to_device(&n->y);
}

void run_node_clear(run_node *n) {
    void *memories[] = {n->device_x, n->device_w, n->device_b, n->device_residual, n->device_y};
    for (size_t i = 0; i < 5; i++)
        run_device->deallocate(run_device, memories[i], run_stream);
    run_tensor_clear(&n->x);
    run_tensor_clear(&n->w);
    run_tensor_clear(&n->b);
    run_tensor_clear(&n->residual);
    run_tensor_clear(&n->y);
}

void run_node_show(run_node *n, bool is_run) {
    const bool is_constant = n->c->group != 0 || n->c->op[0] == 'C' || n->c->op[0] == 'G';
    n->x.tensor.data = is_run ? n->device_x : NULL;
    n->w.tensor.data = is_run ? n->device_w : is_constant ? n->w.stored : NULL;
    n->b.tensor.data = is_run ? n->device_b : n->b.stored;
    n->residual.tensor.data = is_run ? n->device_residual : NULL;
    n->y.tensor.data = is_run ? n->device_y : NULL;
}
