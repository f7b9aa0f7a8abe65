/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks with tensors of packed and 8-bit float types, by a library whose layers name them:
 * inputs, constants and what runs in between, through plans and by kernels and references.
 */
#include "base/memory.h"
#include "tensor/type.h"

#include "test.h"

#include <tenon/tenon.h>

#define NARROW "f8e4m3|f8e4m3fnuz|f8e5m2|f8e5m2fnuz|f8e8m0|f4e2m1|i4|u4|i2|u2"

static int runs;

static int64_t count_of(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static tn_status same_shape(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    memcpy(call->outputs[0]->shape, call->inputs[0]->shape,
           call->inputs[0]->rank * sizeof(int64_t));
    return TN_OK;
}

/* y = a + b, rounded to the type. */
static tn_status add(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    memset(y->data, 0, (size_t)y->bytes);
    for (size_t i = 0; i < (size_t)count_of(a); i++)
        tn_element_set_f64(y->data, y->type, i,
                           tn_element_get_f64(a->data, a->type, i) +
                               tn_element_get_f64(b->data, b->type, i));
    return TN_OK;
}
static tn_status add_run(tn_call *call) {
    runs++;
    return add(call);
}
static tn_status widen(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    for (size_t i = 0; i < (size_t)count_of(x); i++)
        ((float *)call->outputs[0]->data)[i] = (float)tn_element_get_f64(x->data, x->type, i);
    return TN_OK;
}

static const tn_port add_inputs[] = {TN_PORT("a", "T:" NARROW, 0, ""), TN_PORT("b", "T", 0, "")};
static const tn_port add_outputs[] = {TN_PORT("y", "T", 0, "")};
static const tn_port widen_inputs[] = {TN_PORT("x", NARROW, 0, "")};
static const tn_port widen_outputs[] = {TN_PORT("y", "f32", 0, "")};
static const tn_operator add_operator = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .domain = "Narrow",
                                         .name = "Add",
                                         TN_NO_FIELDS,
                                         TN_INPUTS(add_inputs),
                                         TN_OUTPUTS(add_outputs),
                                         .infer = same_shape,
                                         .reference = add};
static const tn_operator widen_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .domain = "Narrow",
                                           .name = "Widen",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(widen_inputs),
                                           TN_OUTPUTS(widen_outputs),
                                           .infer = same_shape,
                                           .reference = widen};
static const char *const add_combinations[] = {NARROW ", " NARROW " -> " NARROW};
static const tn_kernel add_kernel = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Narrow",
                                     .op = "Add",
                                     .device = "cpu",
                                     .name = "add",
                                     TN_COMBINATIONS(add_combinations),
                                     .run = add_run};
/* '*' is of the groups' types: none of these. */
static const tn_kernel any_kernel = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Narrow",
                                     .op = "Widen",
                                     .device = "cpu",
                                     .name = "any",
                                     .run = add_run};
static const tn_operator *const operators[] = {&add_operator, &widen_operator};
static const tn_kernel *const kernels[] = {&add_kernel, &any_kernel};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "narrow",
                             .version = "1",
                             .operator_count = 2,
                             .operators = operators,
                             .kernel_count = 2,
                             .kernels = kernels};
static tn_library *narrow_library(const tn_host *host) {
    (void)host;
    return &library;
}

/* --- */

enum { ROWS = 3, COLUMNS = 5, COUNT = ROWS * COLUMNS }; /* an odd number of elements */

static tn_runtime *make_runtime(void) {
    const tn_runtime_options options = {.size = sizeof options, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime;
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    assert_int_equal(tn_runtime_register_library(runtime, narrow_library), TN_OK);
    return runtime;
}

static tn_tensor_id add_node(tn_graph *graph, const char *op, uint32_t count,
                             const tn_tensor_id *inputs) {
    tn_tensor_id output;
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "Narrow",
                                      .op = op,
                                      .name = op,
                                      .input_count = count,
                                      .output_count = 1,
                                      .inputs = inputs};
    assert_int_equal(tn_graph_add_node(graph, &node, &output), TN_OK);
    return output;
}

static void fill(uint8_t *bytes, tn_type type, uint32_t factor) {
    for (size_t i = 0; i < COUNT; i++)
        tn_element_set_f64(bytes, type, i, (double)((i * factor) % 4) - 1);
}

/* y = Widen(Add(x, weights)), and Add's result as a second output. */
static tn_graph *make_graph(tn_runtime *runtime, tn_type type, const uint8_t *weights) {
    const int64_t shape[2] = {ROWS, COLUMNS};
    tn_graph *graph;
    tn_tensor_id ids[2];
    assert_int_equal(tn_graph_create(runtime, "narrow", &graph), TN_OK);
    assert_int_equal(tn_graph_add_input(graph, "x", type, 2, shape, NULL, &ids[0]), TN_OK);
    assert_int_equal(tn_graph_add_constant(graph, "weights", type, 2, shape, weights,
                                           tn_type_storage(type, COUNT), &ids[1]),
                     TN_OK);
    const tn_tensor_id sum = add_node(graph, "Add", 2, ids);
    assert_int_equal(tn_graph_add_output(graph, add_node(graph, "Widen", 1, &sum), "y"), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, sum, "sum"), TN_OK);
    return graph;
}

static void check_results(tn_context *context, tn_type type, const uint8_t *x,
                          const uint8_t *weights) {
    const tn_tensor *y, *sum;
    assert_int_equal(tn_context_output(context, 0, &y), TN_OK);
    assert_int_equal(tn_context_output(context, 1, &sum), TN_OK);
    assert_int_equal(sum->type, type);
    assert_int_equal(sum->bytes, tn_type_storage(type, COUNT));
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t rounded = 0;
        tn_element_set_f64(&rounded, type, 0,
                           tn_element_get_f64(x, type, i) + tn_element_get_f64(weights, type, i));
        const double wanted = tn_element_get_f64(&rounded, type, 0);
        const double found = (double)((const float *)y->data)[i];
        if (found != wanted && !(wanted != wanted && found != found))
            fail_msg("%s: element %zu is %g, not %g", tn_type_name(type), i, found, wanted);
    }
}

static void run_network(tn_runtime *runtime, tn_type type, uint32_t flags) {
    _Alignas(64) uint8_t x[64] = {0};
    uint8_t weights[64] = {0};
    const tn_builder_options options = {.size = sizeof options, .threads = 1, .flags = flags};
    const size_t bytes = tn_type_storage(type, COUNT);
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    uint64_t plan_bytes;
    fill(x, type, 1);
    fill(weights, type, 3);
    tn_graph *graph = make_graph(runtime, type, weights);
    if (tn_build(graph, &options, &plan) != TN_OK) fail_msg("%s", tn_last_error()->message);
    const void *data = tn_plan_bytes(plan, &plan_bytes);
    if (tn_engine_load_bytes(runtime, data, plan_bytes, NULL, &engine) != TN_OK)
        fail_msg("%s", tn_last_error()->message);
    assert_int_equal(tn_context_create(engine, &context), TN_OK);
    assert_int_equal(tn_context_bind_input(context, 0, x, bytes - 1), TN_OK);
    assert_int_not_equal(tn_context_run(context), TN_OK); /* too short */
    assert_int_equal(tn_context_bind_input(context, 0, x, bytes), TN_OK);
    runs = 0;
    if (tn_context_run(context) != TN_OK) fail_msg("%s", tn_last_error()->message);
    assert_int_equal(runs, flags & TN_BUILD_REFERENCE ? 0 : 1);
    check_results(context, type, x, weights);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

static void test_networks_of_every_narrow_type(void **state) {
    tn_runtime *runtime = make_runtime();
    (void)state;
    for (tn_type type = TN_F8E4M3; type <= TN_U2; type++) {
        run_network(runtime, type, 0);
        run_network(runtime, type, TN_BUILD_REFERENCE);
    }
    tn_runtime_release(runtime);
}

static void test_constants_have_the_bytes_of_their_elements(void **state) {
    const int64_t shape[1] = {5};
    tn_runtime *runtime = make_runtime();
    tn_graph *graph;
    tn_tensor_id id;
    (void)state;
    assert_int_equal(tn_graph_create(runtime, "narrow", &graph), TN_OK);
    assert_failed(tn_graph_add_constant(graph, "w", TN_I4, 1, shape, "abcde", 5, &id),
                  TN_ERROR_ARGUMENT, "takes 3 bytes, but 5 were given");
    assert_int_equal(tn_graph_add_constant(graph, "w", TN_I4, 1, shape, "abc", 3, &id), TN_OK);
    tn_graph_destroy(graph);
    tn_runtime_release(runtime);
}

static void test_types_behind_the_last_are_unknown(void **state) {
    const int64_t shape[1] = {5};
    tn_runtime *runtime = make_runtime();
    tn_graph *graph;
    tn_tensor_id id;
    (void)state;
    assert_int_equal(tn_graph_create(runtime, "strings", &graph), TN_OK);
    assert_failed(tn_graph_add_input(graph, "x", TN_TYPE_COUNT, 1, shape, NULL, &id), TN_ERROR_TYPE,
                  "element type 25 is not known");
    tn_graph_destroy(graph);
    tn_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks_of_every_narrow_type),
        cmocka_unit_test(test_constants_have_the_bytes_of_their_elements),
        cmocka_unit_test(test_types_behind_the_last_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
