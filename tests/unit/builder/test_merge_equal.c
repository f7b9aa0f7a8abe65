/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging equal nodes, before and after: what is one node afterwards, and what stays apart. That
 * merged networks compute what they did is tested in test_build_runs.c.
 */
#include "build_test.h"

/* --- operators that say of themselves what keeps nodes apart --- */

typedef struct lookup_params {
    uint64_t present;
    const tn_tensor *table;
    tn_i64s axes;
    const tn_attribute *extra;
} lookup_params;
static const tn_field lookup_fields[] = {
    TN_FIELD(lookup_params, table, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "a table"),
    TN_FIELD(lookup_params, axes, TN_FIELD_I64S, TN_OPTIONAL, "[0]", "axes"),
    TN_FIELD(lookup_params, extra, TN_FIELD_ANY, TN_OPTIONAL, NULL, "anything")};
static const tn_operator lookup = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "tiny",
                                   .name = "Lookup",
                                   .doc = "x, and knows tables",
                                   TN_FIELDS(lookup_params, lookup_fields),
                                   TN_INPUTS(layer_unary_inputs),
                                   TN_OUTPUTS(layer_unary_outputs),
                                   .infer = layer_same_shape,
                                   .reference = layer_copy_run};

static const tn_port update_outputs[] = {{"y", "T", "the state", TN_PORT_ALIAS, 1, 0, 0}};
static const tn_operator update = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "tiny",
                                   .name = "Update",
                                   .doc = "a state that is updated in place",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(layer_unary_inputs),
                                   TN_OUTPUTS(update_outputs),
                                   .infer = layer_same_shape,
                                   .reference = layer_copy_run};

static tn_status source_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = 4;
    return TN_OK;
}
static const tn_operator source = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "tiny",
                                   .name = "Source",
                                   .doc = "numbers from somewhere",
                                   TN_NO_FIELDS,
                                   TN_NO_INPUTS,
                                   TN_OUTPUTS(layer_fill_outputs),
                                   .infer = source_infer,
                                   .reference = layer_fill_run};
static const tn_operator fixed = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .traits = TN_OPERATOR_CONSTANT,
                                  .domain = "tiny",
                                  .name = "Fixed",
                                  .doc = "the same numbers always",
                                  TN_NO_FIELDS,
                                  TN_NO_INPUTS,
                                  TN_OUTPUTS(layer_fill_outputs),
                                  .infer = source_infer,
                                  .reference = layer_fill_run};
static const tn_operator kernel_only = {.size = sizeof(tn_operator),
                                        .since_version = 1,
                                        .state_version = 1,
                                        .domain = "tiny",
                                        .name = "KernelOnly",
                                        .doc = "nothing says what its kernels compute",
                                        TN_NO_FIELDS,
                                        TN_INPUTS(layer_unary_inputs),
                                        TN_OUTPUTS(layer_unary_outputs),
                                        .infer = layer_same_shape};

static tn_status state_save(tn_call *call, void *data, uint64_t *inout_bytes) {
    (void)call, (void)data;
    *inout_bytes = 0;
    return TN_OK;
}
static tn_status state_load(tn_call *call, const void *data, uint64_t bytes) {
    (void)call, (void)data, (void)bytes;
    return TN_OK;
}
static const tn_operator opaque = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "tiny",
                                   .name = "Opaque",
                                   .doc = "x, and a state that no field tells of",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(layer_unary_inputs),
                                   TN_OUTPUTS(layer_unary_outputs),
                                   .infer = layer_same_shape,
                                   .reference = layer_copy_run,
                                   .save = state_save,
                                   .load = state_load};

static const tn_operator *const equal_operators[] = {&lookup, &update,      &source,
                                                     &fixed,  &kernel_only, &opaque};
static tn_library equal_library = {.size = sizeof(tn_library),
                                   .abi_major = TN_ABI_MAJOR,
                                   .abi_minor = TN_ABI_MINOR,
                                   .name = "equal_layers",
                                   .version = "1",
                                   .operator_count = TN_COUNT(equal_operators),
                                   .operators = equal_operators};
static tn_library *equal_entry(const tn_host *host) {
    (void)host;
    return &equal_library;
}

static int setup(void **state) {
    if (build_test_setup(state) != 0) return -1;
    return tn_runtime_register_library(((graph_test *)*state)->runtime, equal_entry) == TN_OK ? 0
                                                                                              : -1;
}
#define EQUAL_TEST(function) cmocka_unit_test_setup_teardown(function, setup, graph_test_teardown)

/* --- short forms --- */

static void merge(build_stage *stage, tn_graph *graph) {
    stage_infer(stage, graph, NULL);
    assert_int_equal(tn_pass_merge_equal(&stage->passes), TN_OK);
}

static const tn_graph_node *node_of(const tn_graph *graph, const char *name) {
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, name) == 0) return &graph->nodes[n];
    fail_msg("there is no node '%s'", name);
    return NULL;
}

static tn_tensor_id add_lookup(tn_graph *graph, tn_tensor_id x, const tn_attribute *attribute) {
    const tn_attribute *attributes[] = {attribute};
    tn_node_description node = {.size = sizeof node,
                                .domain = "tiny",
                                .op = "Lookup",
                                .input_count = 1,
                                .inputs = &x,
                                .output_count = 1,
                                .attribute_count = attribute ? 1 : 0,
                                .attributes = attributes};
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_node(graph, &node, &id), TN_OK);
    return id;
}

/* How many nodes there are of two with these fields. */
static size_t count_merged(tn_runtime *runtime, const tn_attribute *one,
                           const tn_attribute *other) {
    tn_graph *graph = NULL;
    build_stage stage;
    assert_int_equal(tn_graph_create(runtime, "two", &graph), TN_OK);
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id a = add_lookup(graph, x, one), b = add_lookup(graph, x, other);
    add_output(graph, add_node(graph, "Plus", "sum", 2, TENSORS(a, b)));
    merge(&stage, graph);
    const size_t count = graph->node_count - 1;
    stage_end(&stage);
    tn_graph_destroy(graph);
    return count;
}

/* --- what is merged --- */

static void test_equal_chains_become_one(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4)), ends[3];
    static const char *const names[3][2] = {{"r0", "s0"}, {"r1", "s1"}, {"r2", "s2"}};
    for (int i = 0; i < 3; i++)
        ends[i] = add_with_int(graph, "Scale", names[i][1],
                               add_unary(graph, "Relu", names[i][0], x), "factor", 3);
    tn_tensor_id sum = add_node(graph, "Plus", "sum", 2, TENSORS(ends[0], ends[1]));
    add_output(graph, add_node(graph, "Plus", "last", 2, TENSORS(sum, ends[2])));
    merge(&stage, graph);
    assert_int_equal(graph->node_count, 4);
    assert_int_equal(stage.passes.merged.count, 4);
    assert_true(has_node(graph, "r0") && has_node(graph, "s0"));
    assert_true(has_name(&stage.passes.merged, "r2") && has_name(&stage.passes.merged, "s1"));
    assert_int_equal(node_of(graph, "sum")->inputs[1], ends[0]);
    assert_int_equal(node_of(graph, "last")->inputs[1], ends[0]);
    assert_int_equal(graph->tensors[ends[0]].use_count, 3);
    assert_int_equal(tn_pass_stand_in(&stage.passes, ends[2]), ends[0]);
    assert_int_equal(tn_pass_stand_in(&stage.passes, sum), sum);
    stage_end(&stage);
}

static void test_constants_count_by_their_content(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    static const int64_t values[3][2] = {{1, 2}, {1, 2}, {1, 3}};
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    tn_tensor_id x = add_input(graph, "x", TN_I64, 1, EXTENTS(2)), made[5];
    for (int i = 0; i < 3; i++)
        made[i] =
            add_node(graph, "Add", names[i], 2, TENSORS(x, add_i64s(graph, NULL, 2, values[i])));
    made[3] = add_node(graph, "Reshape", names[3], 2,
                       TENSORS(x, add_i64s(graph, NULL, 1, (const int64_t[]){2})));
    made[4] = add_node(graph, "Reshape", names[4], 2,
                       TENSORS(x, add_i64s(graph, NULL, 2, (const int64_t[]){2, 1})));
    for (int i = 0; i < 5; i++)
        add_output(graph, add_unary(graph, "Copy", NULL, made[i]));
    merge(&stage, graph);
    assert_int_equal(stage.passes.merged.count, 1);
    assert_true(has_name(&stage.passes.merged, "b"));
    assert_true(has_node(graph, "c") && has_node(graph, "d") && has_node(graph, "e"));
    stage_end(&stage);
}

static void test_nodes_with_several_outputs_are_merged_whole(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4)), one[2], two[2], less[2];
    assert_int_equal(try_node(graph, "Pair", "one", 1, &x, 2, one), TN_OK);
    assert_int_equal(try_node(graph, "Pair", "two", 1, &x, 2, two), TN_OK);
    assert_int_equal(try_node(graph, "Pair", "less", 1, &x, 2, less), TN_OK);
    tn_tensor_id sum = add_node(graph, "Plus", "sum", 2, TENSORS(one[0], two[1]));
    tn_tensor_id other = add_node(graph, "Plus", "other", 2, TENSORS(less[0], one[1]));
    add_output(graph, add_node(graph, "Plus", "last", 2, TENSORS(sum, other)));
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_drop_dead(&stage.passes), TN_OK); /* takes less[1] away */
    assert_int_equal(tn_pass_merge_equal(&stage.passes), TN_OK);
    assert_int_equal(stage.passes.merged.count, 1);
    assert_int_equal(node_of(graph, "sum")->inputs[1], one[1]);
    assert_true(has_node(graph, "less"));
    stage_end(&stage);
}

static void test_nodes_without_inputs_are_merged_where_they_are_constant(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    for (int i = 0; i < 2; i++) {
        tn_tensor_id known = add_node(graph, "Fixed", NULL, 0, NULL);
        tn_tensor_id drawn = add_node(graph, "Source", NULL, 0, NULL);
        add_output(graph, add_node(graph, "Plus", NULL, 2, TENSORS(known, drawn)));
    }
    merge(&stage, graph);
    assert_int_equal(graph->node_count, 5);
    stage_end(&stage);
}

/* --- what is not --- */

static void test_fields_keep_nodes_apart(void **state) {
    tn_runtime *runtime = ((graph_test *)*state)->runtime;
    int64_t extent = 2, axes[] = {0, 1, 0, 2};
    float values[] = {1, 2, 1, 2, 1, 3};
    tn_tensor tables[3];
    tn_attribute fields[3], lists[3], any[3];
    for (int i = 0; i < 3; i++) {
        tables[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                .type = TN_F32,
                                .rank = 1,
                                .shape = &extent,
                                .strides = EXTENTS(1),
                                .data = values + 2 * i,
                                .bytes = 8};
        fields[i] = (tn_attribute){.size = sizeof(tn_attribute),
                                   .type = TN_FIELD_TENSOR,
                                   .name = "table",
                                   .tensor = &tables[i]};
        lists[i] = (tn_attribute){.size = sizeof(tn_attribute),
                                  .type = TN_FIELD_I64S,
                                  .name = i == 2 ? "extra" : "axes",
                                  .count = 2,
                                  .items = axes + 2 * (i % 2)};
        any[i] = (tn_attribute){.size = sizeof(tn_attribute),
                                .type = TN_FIELD_F64,
                                .name = "extra",
                                .f = i == 2 ? 0.5 : 0.25};
    }
    assert_int_equal(count_merged(runtime, NULL, NULL), 1);
    assert_int_equal(count_merged(runtime, &fields[0], &fields[1]), 1);
    assert_int_equal(count_merged(runtime, &fields[0], &fields[2]), 2);
    assert_int_equal(count_merged(runtime, &fields[0], NULL), 2);
    assert_int_equal(count_merged(runtime, &lists[0], &lists[0]), 1);
    assert_int_equal(count_merged(runtime, &lists[0], &lists[1]), 2);
    assert_int_equal(count_merged(runtime, &any[0], &any[1]), 1);
    assert_int_equal(count_merged(runtime, &any[0], &any[2]), 2);
    assert_int_equal(count_merged(runtime, &any[0], &lists[2]), 2);
    assert_int_equal(count_merged(runtime, &lists[2], &lists[2]), 1);
}

static void test_operators_that_do_not_say_they_repeat_themselves_stay(void **state) {
    static const char *const operators[] = {"Noise", "Update", "KernelOnly", "Opaque"};
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    for (int i = 0; i < 4; i++) {
        tn_tensor_id one = add_unary(graph, operators[i], NULL, x);
        tn_tensor_id two = add_unary(graph, operators[i], NULL, x);
        add_output(graph, add_node(graph, "Plus", NULL, 2, TENSORS(one, two)));
    }
    merge(&stage, graph);
    assert_int_equal(graph->node_count, 12);
    assert_int_equal(stage.passes.merged.count, 0);
    stage_end(&stage);
}

static void test_scales_of_outputs_keep_nodes_apart(void **state) {
    static const float half = 0.5f;
    static const tn_quantization scaled = {
        .size = sizeof scaled, .scale_type = TN_F32, .count = 1, .scales = &half};
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id one = add_unary(graph, "Relu", "one", x), two = add_unary(graph, "Relu", "two", x);
    graph->tensors[two].quantization = &scaled;
    add_output(graph, add_node(graph, "Plus", "sum", 2, TENSORS(one, two)));
    merge(&stage, graph);
    assert_int_equal(graph->node_count, 3);
    stage_end(&stage);
}

/* --- outputs of the graph --- */

static void test_an_output_keeps_its_node(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id inner = add_unary(graph, "Relu", "inner", x);
    tn_tensor_id last = add_unary(graph, "Scale", "last", inner);
    tn_tensor_id outer = add_unary(graph, "Relu", "outer", x);
    add_output(graph, last);
    add_output(graph, outer);
    merge(&stage, graph);
    assert_int_equal(graph->node_count, 2);
    assert_true(has_node(graph, "outer") && has_name(&stage.passes.merged, "inner"));
    assert_int_equal(graph->outputs[1], outer);
    assert_int_equal(graph->nodes[0].outputs[0], outer); /* sorted again: it is read now */
    assert_int_equal(graph->nodes[1].inputs[0], outer);
    stage_end(&stage);
}

static void test_equal_outputs_keep_a_node_each(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4)), made[3];
    static const char *const names[] = {"inner", "one", "two"};
    for (int i = 0; i < 3; i++)
        made[i] = add_unary(graph, "Relu", names[i], x);
    for (int i = 0; i < 3; i++)
        add_output(graph, i == 0 ? add_unary(graph, "Noise", "noise", made[0]) : made[i]);
    tn_tensor_id behind = add_unary(graph, "Scale", "behind", made[2]);
    tn_tensor_id also = add_unary(graph, "Scale", "also", made[0]);
    add_output(graph, add_node(graph, "Plus", "sum", 2, TENSORS(behind, also)));
    merge(&stage, graph);
    assert_int_equal(graph->node_count, 5);
    assert_int_equal(stage.passes.merged.count, 2);
    assert_true(has_node(graph, "one") && has_node(graph, "two") && has_node(graph, "behind"));
    assert_int_equal(graph->outputs[1], made[1]);
    assert_int_equal(graph->outputs[2], made[2]);
    assert_int_equal(node_of(graph, "noise")->inputs[0], made[1]);
    assert_int_equal(node_of(graph, "behind")->inputs[0], made[1]);
    stage_end(&stage);
}

/* --- memory and time --- */

static void test_memory_that_runs_out_is_an_error(void **state) {
    graph_test *test = *state;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(4)), ends[2];
    for (int i = 0; i < 2; i++)
        ends[i] = add_unary(test->graph, "Scale", NULL, add_unary(test->graph, "Relu", NULL, x));
    add_output(test->graph, add_node(test->graph, "Plus", "sum", 2, TENSORS(ends[0], ends[1])));
    for (uint64_t nth = 1; nth < 1000; nth++) {
        tn_graph *copy = NULL;
        build_stage stage;
        assert_int_equal(tn_graph_copy(test->graph, &copy), TN_OK);
        stage_infer(&stage, copy, NULL);
        test->allocator.fail_at = test->allocator.allocations + nth;
        tn_status status = tn_pass_merge_equal(&stage.passes);
        test->allocator.fail_at = 0;
        const size_t left = copy->node_count;
        stage_end(&stage);
        tn_graph_destroy(copy);
        if (status == TN_OK) {
            assert_int_equal(left, 3);
            assert_true(nth > 4);
            return;
        }
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    fail_msg("it never has enough memory");
}

/* 20,000 nodes of one outline: that each is held against all before it would be seen here. */
static void test_many_like_nodes_take_a_look_each(void **state) {
    enum { NODES = 20000 };
    tn_graph *graph = ((graph_test *)*state)->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_I64, 1, EXTENTS(1));
    for (int64_t i = 0; i < NODES; i++) {
        const int64_t number = i / 2; /* each comes twice */
        tn_tensor_id c = add_i64s(graph, NULL, 1, &number);
        add_output(graph,
                   add_unary(graph, "Shape", NULL, add_node(graph, "Add", NULL, 2, TENSORS(x, c))));
    }
    merge(&stage, graph);
    assert_int_equal(graph->node_count, NODES + NODES / 2);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EQUAL_TEST(test_equal_chains_become_one),
        EQUAL_TEST(test_constants_count_by_their_content),
        EQUAL_TEST(test_nodes_with_several_outputs_are_merged_whole),
        EQUAL_TEST(test_nodes_without_inputs_are_merged_where_they_are_constant),
        EQUAL_TEST(test_fields_keep_nodes_apart),
        EQUAL_TEST(test_operators_that_do_not_say_they_repeat_themselves_stay),
        EQUAL_TEST(test_scales_of_outputs_keep_nodes_apart),
        EQUAL_TEST(test_an_output_keeps_its_node),
        EQUAL_TEST(test_equal_outputs_keep_a_node_each),
        EQUAL_TEST(test_memory_that_runs_out_is_an_error),
        EQUAL_TEST(test_many_like_nodes_take_a_look_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
