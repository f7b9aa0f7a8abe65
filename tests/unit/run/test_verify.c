/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel of a device finds wrong in its data (tn_kernel.verify): words that its work writes,
 * read once the host has waited. The run fails and names the node, in the first run, which goes
 * step by step, and in those that are captured; the context goes on with sound data.
 */
#include "device_test.h"
#include "stub/stub.h"

/* --- Square of what is not below zero --- */
static int64_t fault; /* the stub's work is done by the host: 1 where an element is below zero */
static int verified;

static tn_status square_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = call->inputs[0]->shape[0];
    return TN_OK;
}
static tn_status square(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++) {
        y[i] = x[i] < 0 ? 0 : x[i] * x[i];
        if (x[i] < 0 && call->context) *(int64_t *)call->context = 1;
    }
    return TN_OK;
}
static tn_status square_on_stub(tn_call *call) {
    return ((const tn_stub_state *)call->device->user)->enqueue(call, square);
}
static tn_status square_open(tn_call *call) {
    call->context = &fault;
    return TN_OK;
}
static void square_close(tn_call *call) {
    call->context = NULL;
}
static tn_status square_verify(tn_call *call) {
    int64_t *found = call->context;
    verified++;
    if (!*found) return TN_OK;
    *found = 0;
    return (call->host->fail)(call, TN_ERROR_RANGE, "an element is below zero");
}

static const tn_port square_inputs[] = {TN_PORT("x", "f32", 0, "elements")};
static const tn_port square_outputs[] = {TN_PORT("y", "f32", 0, "their squares")};
static const tn_operator square_operator = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "verify",
                                            .name = "Square",
                                            .doc = "squares",
                                            TN_NO_FIELDS,
                                            TN_INPUTS(square_inputs),
                                            TN_OUTPUTS(square_outputs),
                                            .infer = square_infer,
                                            .reference = square};
static const tn_kernel square_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "verify",
                                        .op = "Square",
                                        .device = "stub",
                                        .name = "careful",
                                        .traits = TN_KERNEL_CAPTURABLE,
                                        .open = square_open,
                                        .close = square_close,
                                        .run = square_on_stub,
                                        .verify = square_verify};

static tn_library *entry(const tn_host *host) {
    static const tn_operator *const operators[] = {&square_operator};
    static const tn_kernel *const kernels[] = {&square_kernel};
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "verify",
                                 .version = "1",
                                 .operator_count = 1,
                                 .operators = operators,
                                 .kernel_count = 1,
                                 .kernels = kernels};
    (void)host;
    return &library;
}

static tn_tensor_id add(tn_graph *graph, const char *name, tn_tensor_id x) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "verify",
                                      .op = "Square",
                                      .name = name,
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 1};
    tn_tensor_id made = TN_NO_TENSOR;
    must(tn_graph_add_node(graph, &node, &made));
    return made;
}

static void test_the_run_names_the_node(void **state) {
    static const int64_t four = 4;
    device_test *test = *state;
    _Alignas(64) float x[4] = {1, 2, 3, 4};
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    must(tn_runtime_register_library(test->runtime, entry));
    must(tn_graph_create(test->runtime, "squares", &graph));
    const tn_tensor_id first = add(graph, "first", add_input(graph, "x", TN_F32, 1, &four));
    must(tn_graph_add_output(graph, add(graph, "second", first), "y"));
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .flags = TN_BUILD_NO_TIMING};
    must(tn_build(graph, &options, &plan));
    tn_graph_destroy(graph);
    tn_engine *engine = load(test->runtime, plan, "stub");
    must(tn_context_create(engine, &context));
    must(tn_context_bind_input(context, 0, x, sizeof(x)));
    for (int run = 0; run < 6; run++) {
        const bool is_sound = run % 2 == 1; /* the first of all is not */
        x[2] = is_sound ? 3 : -3;
        verified = 0;
        const tn_status status = tn_context_run(context);
        assert_true(verified > 0);
        if (is_sound) {
            const tn_tensor *y = NULL;
            must(status);
            must(tn_context_output(context, 0, &y));
            assert_true(((const float *)y->data)[2] == 81);
            continue;
        }
        assert_int_equal(status, TN_ERROR_RANGE);
        assert_non_null(strstr(tn_last_error()->message, "an element is below zero"));
        assert_non_null(strstr(tn_last_error()->where, "first"));
    }
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_the_run_names_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
