/* SPDX-License-Identifier: Apache-2.0 */
/* Networks, tables and calls of the service that make no sense of sequences, and what is said. */
#include "misuse.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

/* A library whose operator's table a test has changed. */
static tn_port told_inputs[1], told_outputs[2];
static tn_operator told_operator = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .domain = "Test",
                                    .name = "Told",
                                    TN_NO_FIELDS,
                                    TN_INPUTS(told_inputs),
                                    TN_OUTPUTS(told_outputs),
                                    .infer = both_infer,
                                    .reference = both_run};
static const tn_operator *const told_operators[] = {&told_operator};
static tn_library *told_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "told",
                                 .version = "1",
                                 .operator_count = 1,
                                 .operators = told_operators};
    (void)host;
    return &library;
}

#include "sequence_test.h"

/* --- networks --- */

static tn_status build_only(const run_test *test) {
    const tn_builder_options options = {.size = sizeof(options), .threads = 1};
    tn_plan *plan = NULL;
    const tn_status status = tn_build(test->graph, &options, &plan);
    tn_plan_destroy(plan);
    return status;
}

static void test_a_port_takes_its_own_kind_alone(void **state) {
    run_test *test = *state;
    tn_tensor_id x = input_of(test->graph, "x", TN_F32, 1, (const int64_t[]){3});
    run_output(test->graph, list_node(test->graph, "SequenceLength", NULL, 0, 1, &x), "count");
    assert_int_equal(build_only(test), TN_ERROR_TYPE);
    assert_error("input 'input_sequence' (tensor 'x') is a dense tensor; the port takes a sequence",
                 "SequenceLength");
    renew_graph(test);
    x = input_of(test->graph, "x", TN_F32, 1, (const int64_t[]){3});
    const tn_tensor_id list = list_node(test->graph, "SequenceConstruct", NULL, 0, 1, &x);
    run_output(test->graph, run_unary(test->graph, "Negate", "neg", list), "y");
    assert_int_equal(build_only(test), TN_ERROR_TYPE);
    assert_error("is a sequence; the port takes a dense tensor", "neg");
    renew_graph(test);
    x = input_of(test->graph, "x", TN_F32, 1, (const int64_t[]){3});
    const tn_tensor_id maybe = list_node(test->graph, "Optional", NULL, 0, 1, &x);
    run_output(test->graph, list_node(test->graph, "SequenceLength", NULL, 0, 1, &maybe), "n");
    assert_int_equal(build_only(test), TN_ERROR_TYPE);
    assert_error("is an optional; the port takes a sequence", NULL);
}

static void test_element_types_are_those_of_the_ports(void **state) {
    const run_test *test = *state;
    const tn_tensor_id x = input_of(test->graph, "x", TN_F32, 1, (const int64_t[]){3});
    const tn_tensor_id n = input_of(test->graph, "n", TN_I64, 1, (const int64_t[]){3});
    const tn_tensor_id list = list_node(test->graph, "SequenceConstruct", NULL, 0, 1, &x);
    const tn_tensor_id more =
        list_node(test->graph, "SequenceInsert", NULL, 0, 2, TENSORS(list, n));
    run_output(test->graph, list_node(test->graph, "SequenceLength", NULL, 0, 1, &more), "count");
    assert_int_equal(build_only(test), TN_ERROR_TYPE);
    assert_error("is i64", "SequenceInsert");
}

static void test_a_value_that_decides_shapes_has_no_sequence_beside_it(void **state) {
    const run_test *test = *state;
    tn_tensor_id both[2];
    const tn_tensor_id x = input_of(test->graph, "x", TN_F32, 1, (const int64_t[]){3});
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "Test",
                                      .version = 1,
                                      .op = "Both",
                                      .name = "both",
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 2};
    assert_int_equal(tn_graph_add_node(test->graph, &node, both), TN_OK);
    run_output(test->graph, list_node(test->graph, "SequenceAt", NULL, 0, 2, both), "y");
    assert_int_equal(build_only(test), TN_ERROR_UNSUPPORTED);
    assert_error("'both' (Both) writes a value that decides shapes beside", NULL);
}

/* --- tables --- */

static void test_tables_are_refused_with_the_port(void **state) {
    const run_test *test = *state;
    const struct {
        const char *types;
        uint32_t input_flags, output_flags, alias, traits;
        const char *says;
    } all[] = {
        {"seq(f32", 0, 0, 0, 0, "port 'x': \"seq(f32\" is not a list of types"},
        {"seq()", 0, 0, 0, 0, "is not a list of types"},
        {"seq(seq(f32))", 0, 0, 0, 0, "is not a list of types"},
        {"seq(T:seq(f32))", 0, 0, 0, 0, "is not a list of types"},
        {"opt(seq(seq(f32)))", 0, 0, 0, 0, "is not a list of types"},
        {"opt(seq(f32))", 0, 0, 0, 0, NULL},
        {"map(i64)", 0, 0, 0, 0, "has no keys"},
        {"seq(string)", 0, 0, 0, 0, NULL},
        {"opt(T:f32|string)", 0, 0, 0, 0, NULL},
        {"seq(f33)", 0, 0, 0, 0, "neither a type nor a declared type variable"},
        {"seq(f32)", TN_PORT_SHAPE_ONLY, 0, 0, 0, "port 'x' is \"seq(f32)\" and has flags 4"},
        {"opt(f32)", TN_PORT_VALUE_NEEDED, 0, 0, 0, "has flags 8: expected none but"},
        {"seq(f32)", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS, 0, 0, 0, "has flags 130"},
        {"f32", 0, TN_PORT_SIZED_BY_RUN, 0, 0, "port 'list' is \"seq(f32)\" and has flags 16"},
        {"f32", 0, TN_PORT_VIEW, 1, 0, "port 'list' is \"seq(f32)\" and has flags 32"},
        {"seq(f32)", 0, 0, 1, 0, "output 'count' shares the memory of input 'x'"},
        {"f32", 0, 0, 0, TN_OPERATOR_IDENTITY, "the traits are 4: expected none but"},
        {"seq(f32)", 0, 0, 0, TN_OPERATOR_NO_FOLD, NULL},
        {"opt(T:f32|f16)", TN_PORT_VARIADIC | TN_PORT_OPTIONAL, 0, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        told_inputs[0] = (tn_port)TN_PORT("x", all[i].types, all[i].input_flags, "");
        told_outputs[0] = (tn_port)TN_PORT("list", "seq(f32)", all[i].output_flags, "");
        told_outputs[1] = (tn_port)TN_PORT("count", "i64", 0, "");
        if (all[i].output_flags & TN_PORT_VIEW) told_outputs[0].alias = 1;
        if (all[i].alias && !all[i].output_flags)
            told_outputs[1] = (tn_port)TN_PORT_VIEW_OF("count", "f32", 0, "");
        told_operator.traits = all[i].traits;
        const tn_status status = tn_runtime_register_library(test->runtime, told_entry);
        assert_int_equal(status, all[i].says ? TN_ERROR_PLUGIN : TN_OK);
        if (all[i].says) assert_error(all[i].says, NULL);
        if (!all[i].says) assert_ok(tn_runtime_unload_library(test->runtime, "told"));
    }
}

/* --- wrong calls of the service --- */

static tn_status misuse(run_test *test, int64_t manner, uint32_t flags) {
    const tn_builder_options options = {.size = sizeof(options), .threads = 1, .flags = flags};
    _Alignas(64) float x[16] = {1, 2, 3};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    uint64_t bytes = 0;
    tn_tensor_id made = TN_NO_TENSOR;
    renew_graph(test);
    const tn_tensor_id id = input_of(test->graph, "x", TN_F32, 1, (const int64_t[]){3});
    const tn_tensor_id list = list_node(test->graph, "SequenceConstruct", NULL, 0, 2,
                                        TENSORS(id, run_floats(test->graph, "c", 2)));
    assert_int_equal(add_list_node(test->graph, "Misuse", "wrong", "manner", manner, 2,
                                   TENSORS(list, id), &made),
                     TN_OK);
    run_output(test->graph, list_node(test->graph, "SequenceLength", NULL, 0, 1, &made), "count");
    tn_status status = tn_build(test->graph, &options, &plan);
    const void *data = plan ? tn_plan_bytes(plan, &bytes) : NULL;
    if (status == TN_OK) status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = tn_context_bind_input(context, 0, x, 3 * sizeof(float));
    if (status == TN_OK) status = tn_context_run(context);
    if (context) tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    return status;
}

static void test_wrong_calls_are_errors_of_the_node(void **state) {
    const struct {
        int64_t manner;
        tn_status status;
        const char *says;
    } all[] = {
        {MISUSE_ITEM_BEHIND_THE_LAST, TN_ERROR_RANGE, "has 2 items, and no item 2"},
        {MISUSE_ITEM_OF_DENSE, TN_ERROR_ARGUMENT, "tensor 'x' is dense: expected a sequence"},
        {MISUSE_ITEM_OF_FOREIGN_LIST, TN_ERROR_ARGUMENT, "is not an input or output of this call"},
        {MISUSE_ITEM_OF_NULL, TN_ERROR_ARGUMENT, "is not an input or output of this call"},
        {MISUSE_NOWHERE, TN_ERROR_ARGUMENT, "nowhere to write the length to"},
        {MISUSE_APPEND_TO_INPUT, TN_ERROR_ARGUMENT, "is not an output of this call"},
        {MISUSE_APPEND_RANK_9, TN_ERROR_SHAPE, "rank 9"},
        {MISUSE_APPEND_NEGATIVE, TN_ERROR_SHAPE, "negative extent"},
        {MISUSE_APPEND_TOO_LARGE, TN_ERROR_SHAPE, "more elements than can be addressed"},
        {MISUSE_APPEND_OTHER_RANK, TN_ERROR_SHAPE, "has shape [2, 2]: the shape rule said [?]"},
        {MISUSE_APPEND_OTHER_TYPE, TN_ERROR_TYPE, "an item of type f32"},
        {MISUSE_TOO_MANY, TN_ERROR_RANGE, "has 1048576 items already: it may have 1048576"},
        {MISUSE_INFER_RANK_9, TN_ERROR_PLUGIN, "rank 9; at most 8 fits"},
        {MISUSE_INFER_EXTENT, TN_ERROR_PLUGIN, "expected -1 where it is not known"},
        {MISUSE_INFER_APPENDS, TN_ERROR_STATE, "not known before the run"},
        {MISUSE_INFER_KIND, TN_ERROR_PLUGIN, "the kind, the data or the pointer"},
        {MISUSE_RUN_DATA, TN_ERROR_PLUGIN, "the kind, the type or a pointer"},
    };
    assert_ok(misuse(*state, MISUSE_NOTHING, 0));
    assert_ok(misuse(*state, MISUSE_NOTHING, TN_BUILD_REFERENCE));
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        for (int is_reference = 0; is_reference < 2; is_reference++) {
            const tn_status status =
                misuse(*state, all[i].manner, is_reference ? TN_BUILD_REFERENCE : 0);
            if (status != all[i].status)
                print_error("manner %d: %s\n", (int)all[i].manner, tn_last_error()->message);
            assert_int_equal(status, all[i].status);
            assert_error(all[i].says, "wrong");
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SEQUENCE_TEST(test_a_port_takes_its_own_kind_alone),
        SEQUENCE_TEST(test_element_types_are_those_of_the_ports),
        SEQUENCE_TEST(test_a_value_that_decides_shapes_has_no_sequence_beside_it),
        SEQUENCE_TEST(test_tables_are_refused_with_the_port),
        SEQUENCE_TEST(test_wrong_calls_are_errors_of_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
