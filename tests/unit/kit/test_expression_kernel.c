/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of every operator with an expression: it is offered to a third party's, absorbs chains
 * with operands that are constants, whole or broadcast, and computes what the references do. The
 * kernel here reads the expressions on the processor, element by element.
 */
#include <math.h>

#include "support/steps.h"
#include "src/expression/expression_compute.h"
#include "third_party_layers.h"

/* The expression of an operator, its ports having these values; fields are 64-bit floats. */
static double compute(const tn_operator *op, const void *params, const double *ports) {
    tn_expression expression;
    double values[TN_EXPRESSION_MOST_STEPS] = {0};
    if (!tn_expression_read(op->expression, &expression, NULL, 0)) return NAN;
    for (uint32_t i = 0; i < expression.count; i++) {
        for (uint32_t k = 0; k < op->input_count; k++)
            if (tn_expression_is_name(&expression, i, op->inputs[k].name)) values[i] = ports[k];
        for (uint32_t k = 0; k < op->field_count; k++)
            if (tn_expression_is_name(&expression, i, op->fields[k].name))
                values[i] =
                    *(const double *)(const void *)((const char *)params + op->fields[k].offset);
    }
    return tn_expression_compute(&expression, values);
}

static uint32_t runs, absorbed;

static tn_status read_run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    runs++;
    absorbed += call->step_count;
    for (int64_t i = 0; i < count_of(y); i++) {
        double ports[2] = {0, 0};
        for (uint32_t k = 0; k < call->input_count; k++)
            ports[k] = load(call->inputs[k], y, i);
        double value = compute(call->op, call->params, ports);
        for (uint32_t e = 0; e < call->step_count; e++) {
            const seen_step *step = SEE_STEP(call, e);
            ports[step->input] = (double)(float)value;
            if (step->has_operand)
                ports[1 - step->input] = load(call->operands[step->operand], y, i);
            value = compute(step->op, step->params, ports);
        }
        ((float *)y->data)[i] = (float)value;
    }
    return TN_OK;
}

static const char *const read_combinations[] = {"f32... -> f32"};
static const tn_kernel read_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "*",
                                      .op = "*",
                                      .device = "cpu",
                                      .name = "read",
                                      .absorbs = "tn.expression/1",
                                      TN_COMBINATIONS(read_combinations),
                                      .run = read_run};

static const tn_operator *const operators[] = {&bend, &less, &mute};
static const tn_kernel *const kernels[] = {&read_kernel};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "readers",
                             .version = "1",
                             .operator_count = 3,
                             .operators = operators,
                             .kernel_count = 1,
                             .kernels = kernels};
static tn_library *entry(const tn_host *host) {
    (void)host;
    return &library;
}

#include "graph_test.h"
#include <tenon/tenon.h>

enum { ROWS = 3, COLUMNS = 5, COUNT = ROWS * COLUMNS };

static int setup(void **state) {
    if (graph_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    runs = absorbed = 0;
    return tn_runtime_register_library(test->runtime, entry) == TN_OK ? 0 : -1;
}

static tn_tensor_id input(tn_graph *graph, const char *name, int64_t rows) {
    const int64_t extents[] = {rows, COLUMNS};
    return add_input(graph, name, TN_F32, 2, extents);
}

static tn_tensor_id constant(tn_graph *graph, float value) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_constant(graph, NULL, TN_F32, 0, NULL, &value, 4, &id), TN_OK);
    return id;
}

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* Builds, loads and runs; inputs are 0.1, 0.2, ... and so on. */
static void run(graph_test *test, bool is_reference, float *out_values) {
    const tn_builder_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .flags =
                                            is_reference ? TN_BUILD_REFERENCE : TN_BUILD_NO_TIMING};
    static _Alignas(64) float numbers[4][64];
    uint64_t bytes = 0;
    const void *data;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    check(tn_build(test->graph, &options, &plan));
    data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    check(tn_context_create(engine, &context));
    for (uint32_t i = 0; i < (uint32_t)test->graph->input_count; i++) {
        const tn_shape *shape = &test->graph->tensors[test->graph->inputs[i]].shape;
        for (size_t k = 0; k < COUNT; k++)
            numbers[i][k] = (float)(k + 1) * 0.1F + (float)i;
        check(tn_context_bind_input(context, i, numbers[i],
                                    (uint64_t)(shape->extents[0] * COLUMNS) * sizeof(float)));
    }
    check(tn_context_run(context));
    check(tn_context_output(context, 0, &output));
    memcpy(out_values, output->data, COUNT * sizeof(float));
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* As the references, in `expected_runs` calls of the kernel. */
static void check_network(graph_test *test, uint32_t expected_runs, uint32_t expected_absorbed) {
    float wanted[COUNT], found[COUNT];
    run(test, true, wanted);
    assert_int_equal(runs, 0);
    run(test, false, found);
    for (size_t i = 0; i < COUNT; i++)
        if (!(fabsf(wanted[i] - found[i]) <= 1e-5F * (1 + fabsf(wanted[i]))))
            fail_msg("element %zu is %g, not %g", i, (double)found[i], (double)wanted[i]);
    assert_int_equal(runs, expected_runs);
    assert_int_equal(absorbed, expected_absorbed);
}

static void test_a_chain_of_third_party_operators_is_one_call(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const tn_tensor_id x = input(graph, "x", ROWS), z = input(graph, "z", ROWS);
    const tn_tensor_id a = add_unary(graph, "Bend", "a", x);
    const tn_tensor_id b = add_node(graph, "Less2", "b", 2, (tn_tensor_id[]){z, a});
    const tn_tensor_id c =
        add_node(graph, "Less2", "c", 2, (tn_tensor_id[]){b, constant(graph, 0.75F)});
    tn_graph_add_output(graph, add_unary(graph, "Bend", "d", c), NULL);
    check_network(test, 1, 3);
}

static void test_operands_may_be_broadcast(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const tn_tensor_id x = input(graph, "x", ROWS), row = input(graph, "row", 1);
    const tn_tensor_id a = add_unary(graph, "Bend", "a", x);
    tn_graph_add_output(graph, add_node(graph, "Less2", "b", 2, (tn_tensor_id[]){a, row}), NULL);
    check_network(test, 1, 1);
}

static void test_what_grows_is_no_link(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const tn_tensor_id x = input(graph, "x", ROWS), row = input(graph, "row", 1);
    const tn_tensor_id a = add_unary(graph, "Bend", "a", row); /* of another shape than b */
    tn_graph_add_output(graph, add_node(graph, "Less2", "b", 2, (tn_tensor_id[]){x, a}), NULL);
    check_network(test, 2, 0);
}

static void test_both_inputs_from_one_are_no_link(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const tn_tensor_id a = add_unary(graph, "Bend", "a", input(graph, "x", ROWS));
    tn_graph_add_output(graph, add_node(graph, "Less2", "b", 2, (tn_tensor_id[]){a, a}), NULL);
    check_network(test, 2, 0);
}

static void test_operators_without_an_expression_are_not_served(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const tn_tensor_id x = input(graph, "x", ROWS), z = input(graph, "z", ROWS);
    const tn_tensor_id a = add_node(graph, "Mute", "a", 2, (tn_tensor_id[]){x, z});
    tn_graph_add_output(graph, add_unary(graph, "Bend", "b", a), NULL);
    check_network(test, 1, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_chain_of_third_party_operators_is_one_call),
        TEST(test_operands_may_be_broadcast),
        TEST(test_what_grows_is_no_link),
        TEST(test_both_inputs_from_one_are_no_link),
        TEST(test_operators_without_an_expression_are_not_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
