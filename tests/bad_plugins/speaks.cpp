// SPDX-License-Identifier: Apache-2.0
// Bad::Half, y = x / 2 in C++: and the mistakes that end a process with a word about why.
#include "mistake.h"

#undef NDEBUG
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status halve(tn_call *call) noexcept {
    const float *x = static_cast<const float *>(call->inputs[0]->data);
    float *y = static_cast<float *>(call->outputs[0]->data);
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = x[i] / 2;
    return TN_OK;
}

static tn_status infer(tn_call *call) noexcept {
    return infer_same(call);
}

static tn_status open_context(tn_call *call) noexcept {
    call->context = malloc(64);
    if (!call->context) return call->host->fail(call, TN_ERROR_MEMORY, "no memory");
    return TN_OK;
}

static void close_context(tn_call *call) noexcept {
    free(call->context);
    if (WITH(close_frees_twice)) free(call->context);
}

static tn_status reshape(tn_call *call) noexcept {
    if (WITH(reshape_asserts)) assert(call->inputs[0]->shape[0] > 1 && "more than one row");
    return TN_OK;
}

static tn_status run(tn_call *call) noexcept {
    if (WITH(run_throws) && count_of(call->inputs[0]) == 0)
        throw std::runtime_error("nothing to halve");
    return halve(call);
}

static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[17]"};
static const tn_operator half = [] {
    tn_operator op = {};
    op.size = sizeof(op);
    op.since_version = 1;
    op.state_version = 1;
    op.domain = "Bad";
    op.name = "Half";
    op.field_size = sizeof(tn_field);
    op.port_size = sizeof(tn_port);
    op.input_count = TN_COUNT(inputs);
    op.inputs = inputs;
    op.output_count = TN_COUNT(outputs);
    op.outputs = outputs;
    op.infer = infer;
    op.reference = halve;
    op.case_count = TN_COUNT(cases);
    op.cases = cases;
    return op;
}();
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel half_cpu = [] {
    tn_kernel kernel = {};
    kernel.size = sizeof(kernel);
    kernel.revision = 1;
    kernel.domain = "Bad";
    kernel.op = "Half";
    kernel.device = "cpu";
    kernel.name = "plain";
    kernel.traits = TN_KERNEL_DETERMINISTIC;
    kernel.combination_count = TN_COUNT(combinations);
    kernel.combinations = combinations;
    kernel.open = open_context;
    kernel.close = close_context;
    kernel.reshape = reshape;
    kernel.run = run;
    return kernel;
}();
static const tn_operator *const operators[] = {&half};
static const tn_kernel *const kernels[] = {&half_cpu};
TN_LIBRARY("bad_half", "1", operators, kernels)
