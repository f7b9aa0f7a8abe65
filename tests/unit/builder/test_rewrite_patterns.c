/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What patterns, guards and replacements of rewrites do to graphs: several results, inner values,
 * order of execution, captured and computed values, proof of extents, kernels that are missing. The
 * operators are a library's own.
 */
#include "build_test.h"

#include "builder/rewrite/extent_proof.h"
#include "plugin/call.h"

/* --- the library: Rw::Pair(x, w) -> m, y; Rw::Line(x; slope, shift); Rw::Bare, without a kernel */

typedef struct line_params {
    uint64_t present;
    double slope;
    int64_t shift;
    tn_i64s list;
} line_params;
static const tn_field line_fields[] = {
    TN_FIELD(line_params, slope, TN_FIELD_F64, 0, "1", ""),
    TN_FIELD(line_params, shift, TN_FIELD_I64, 0, "0", ""),
    TN_FIELD(line_params, list, TN_FIELD_I64S, 0, NULL, ""),
};
static const tn_port one_input[] = {TN_PORT("x", "f32", 0, "")};
static const tn_port pair_inputs[] = {TN_PORT("x", "f32", 0, ""),
                                      TN_PORT("w", "f32", TN_PORT_OPTIONAL, "")};
static const tn_port one_output[] = {TN_PORT("y", "f32", 0, "")};
static const tn_port pair_outputs[] = {TN_PORT("m", "f32", 0, ""), TN_PORT("y", "f32", 0, "")};

static tn_status infer(tn_call *call) {
    for (uint32_t i = 0; i < call->output_count; i++) {
        call->outputs[i]->rank = call->inputs[0]->rank;
        memcpy(call->outputs[i]->shape, call->inputs[0]->shape,
               call->inputs[0]->rank * sizeof(int64_t));
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    (void)call;
    return TN_OK;
}

#define OPERATOR(id, op_name, ...)                                                                 \
    static const tn_operator id = {.size = sizeof(tn_operator),                                    \
                                   .since_version = 1,                                             \
                                   .state_version = 1,                                             \
                                   .domain = "Rw",                                                 \
                                   .name = op_name,                                                \
                                   .infer = infer,                                                 \
                                   .reference = run,                                               \
                                   __VA_ARGS__}
OPERATOR(pair, "Pair", TN_NO_FIELDS, TN_INPUTS(pair_inputs), TN_OUTPUTS(pair_outputs));
OPERATOR(line, "Line", TN_FIELDS(line_params, line_fields), TN_INPUTS(one_input),
         TN_OUTPUTS(one_output));
OPERATOR(bare, "Bare", TN_NO_FIELDS, TN_INPUTS(one_input), TN_OUTPUTS(one_output));

#define KERNEL(id, op_name)                                                                        \
    static const tn_kernel id = {.size = sizeof(tn_kernel),                                        \
                                 .revision = 1,                                                    \
                                 .domain = "Rw",                                                   \
                                 .op = op_name,                                                    \
                                 .device = "cpu",                                                  \
                                 .name = "plain",                                                  \
                                 .run = run}
KERNEL(pair_kernel, "Pair");
KERNEL(line_kernel, "Line");

static const tn_operator *const operators[] = {&pair, &line, &bare};
static const tn_kernel *const kernels[] = {&pair_kernel, &line_kernel};
static tn_rewrite the_rewrite;
static const tn_rewrite *const rewrites[] = {&the_rewrite};

static tn_library *rw_entry(const tn_host *host) {
    static tn_library library;
    (void)host;
    library = (tn_library){.size = sizeof library,
                           .abi_major = TN_ABI_MAJOR,
                           .abi_minor = TN_ABI_MINOR,
                           .name = "rw",
                           .operator_count = TN_COUNT(operators),
                           .operators = operators,
                           .kernel_count = TN_COUNT(kernels),
                           .kernels = kernels,
                           .rewrite_count = 1,
                           .rewrites = rewrites};
    return &library;
}

/* The library with this one rewrite. */
static void use(graph_test *test, const char *pattern, const char *replacement,
                tn_rewrite_guard guard) {
    the_rewrite = (tn_rewrite){.size = sizeof the_rewrite,
                               .name = "rw",
                               .pattern = pattern,
                               .replacement = replacement,
                               .guard = guard};
    if (tn_runtime_register_library(test->runtime, rw_entry) != TN_OK)
        fail_msg("%s", tn_last_error()->message);
}

static tn_tensor_id put_node(graph_test *test, const char *op, uint32_t count,
                             const tn_tensor_id *inputs) {
    tn_tensor_id output = TN_NO_TENSOR;
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = op,
                                      .input_count = count,
                                      .inputs = inputs,
                                      .output_count = 1};
    if (tn_graph_add_node(test->graph, &node, &output) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return output;
}

static tn_tensor_id put_number(graph_test *test, float value) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(
        tn_graph_add_constant(test->graph, NULL, TN_F32, 0, NULL, &value, sizeof value, &id),
        TN_OK);
    return id;
}

static tn_status apply(graph_test *test, build_stage *stage, const tn_builder_options *options,
                       size_t *out_count) {
    tn_extent_proof proof;
    stage_infer(stage, test->graph, options);
    assert_int_equal(
        tn_extent_proof_init(&proof, test->graph, stage->profiles, &stage->shapes, stage->arena),
        TN_OK);
    stage->passes.proof = &proof;
    const tn_status status = tn_pass_rewrite(&stage->passes);
    *out_count = stage->passes.rewritten.count;
    stage->passes.proof = NULL;
    tn_extent_proof_deinit(&proof);
    return status;
}

/* How often it is applied. */
static size_t count_applied(graph_test *test, const tn_builder_options *options) {
    build_stage stage;
    size_t count = 0;
    assert_int_equal(apply(test, &stage, options, &count), TN_OK);
    stage_end(&stage);
    return count;
}

/* --- several results --- */

#define PAIR_PATTERN "m = Relu(x); y = Sub(m, w)"

static void test_two_results_become_one_node(void **state) {
    graph_test *test = *state;
    use(test, PAIR_PATTERN, "m, y = Rw::Pair(x, w)", NULL);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id w = add_input(test->graph, "w", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id m = put_node(test, "Relu", 1, TENSORS(x));
    tn_tensor_id y = put_node(test, "Sub", 2, TENSORS(m, w));
    add_output(test->graph, put_node(test, "Exp", 1, TENSORS(m)));
    add_output(test->graph, y);
    assert_int_equal(count_applied(test, NULL), 1);
    assert_int_equal(test->graph->node_count, 2);
    assert_string_equal(test->graph->nodes[0].entry->op->name, "Pair");
    assert_int_equal(test->graph->nodes[0].outputs[0], m);
    assert_int_equal(test->graph->nodes[0].outputs[1], y);
}

/* What the second needs is computed from the first: one node cannot do both. */
static void test_what_would_wait_for_itself_is_left_alone(void **state) {
    graph_test *test = *state;
    use(test, PAIR_PATTERN, "m, y = Rw::Pair(x, w)", NULL);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id m = put_node(test, "Relu", 1, TENSORS(x));
    tn_tensor_id w = put_node(test, "Exp", 1, TENSORS(m));
    add_output(test->graph, put_node(test, "Sub", 2, TENSORS(m, w)));
    assert_int_equal(count_applied(test, NULL), 0);
    assert_int_equal(test->graph->node_count, 3);
}

static void test_an_inner_value_that_others_read_stays(void **state) {
    graph_test *test = *state;
    use(test, PAIR_PATTERN, "y = Rw::Line(x)", NULL);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id w = add_input(test->graph, "w", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id m = put_node(test, "Relu", 1, TENSORS(x));
    add_output(test->graph, put_node(test, "Sub", 2, TENSORS(m, w)));
    add_output(test->graph, put_node(test, "Exp", 1, TENSORS(m)));
    assert_int_equal(count_applied(test, NULL), 0);
}

/* Statements that meet only at their input. */
static void test_branches_are_found_from_their_input(void **state) {
    graph_test *test = *state;
    use(test, "m = Relu(x); y = Exp(x)", "m, y = Rw::Pair(x)", NULL);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id other = add_input(test->graph, "other", TN_F32, 2, EXTENTS(3, 5));
    add_output(test->graph, put_node(test, "Relu", 1, TENSORS(other)));
    add_output(test->graph, put_node(test, "Exp", 1, TENSORS(x)));
    add_output(test->graph, put_node(test, "Relu", 1, TENSORS(x)));
    assert_int_equal(count_applied(test, NULL), 1);
    assert_int_equal(test->graph->node_count, 2);
}

/* The first order of the inputs fits the inner sum, and not what comes after it. */
static void test_a_choice_that_fails_later_is_taken_back(void **state) {
    graph_test *test = *state;
    use(test, "y = Sub(Mul(a, b), Exp(a))", "y = Rw::Line(a)", NULL);
    tn_tensor_id a = add_input(test->graph, "a", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id b = add_input(test->graph, "b", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id product = put_node(test, "Mul", 2, TENSORS(b, a));
    add_output(test->graph,
               put_node(test, "Sub", 2, TENSORS(product, put_node(test, "Exp", 1, TENSORS(a)))));
    assert_int_equal(count_applied(test, NULL), 1);
    assert_int_equal(test->graph->nodes[0].inputs[0], a);
}

/* --- values --- */

static tn_status compute(const tn_match *match) {
    static const int64_t items[] = {4, 5};
    double a = 0, b = 0;
    const tn_attribute list = {
        .size = sizeof list, .type = TN_FIELD_I64S, .name = "list", .count = 2, .items = items};
    if (tn_match_number(match, "a", 0, &a) != TN_OK ||
        tn_match_number(match, "b", 0, &b) != TN_OK || tn_match_rank(match, "x") != 2 ||
        tn_match_extent(match, "x", -1) != 5 || match->tensor(match, "y") == NULL ||
        match->tensor(match, "z") != NULL)
        return match->refuse(match, "not this one");
    if (match->set(match, &list) != TN_OK) return TN_ERROR_MEMORY;
    return tn_match_set_number(match, "product", a * b);
}

static void add_line(graph_test *test, float slope, float shift) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id scaled = put_node(test, "Mul", 2, TENSORS(x, put_number(test, slope)));
    add_output(test->graph, put_node(test, "Add", 2, TENSORS(scaled, put_number(test, shift))));
}

static void test_values_go_into_fields(void **state) {
    graph_test *test = *state;
    use(test, "y = Add(Mul(x, ?a), ?b)", "y = Rw::Line(x, slope=$product, shift=7, list=$list)",
        compute);
    add_line(test, 3, 0.5f);
    assert_int_equal(count_applied(test, NULL), 1);
    const line_params *params = test->graph->nodes[0].params;
    assert_true(params->slope == 1.5 && params->shift == 7);
    assert_true(params->list.count == 2 && params->list.items[1] == 5);
}

static tn_status forget(const tn_match *match) {
    (void)match;
    return TN_OK;
}

static tn_status set_another(const tn_match *match) {
    return tn_match_set_integer(match, "x", 1);
}

/* A guard that breaks its contract ends the build, by the rewrite's name. */
static void test_a_guard_that_computes_nothing_is_an_error(void **state) {
    graph_test *test = *state;
    build_stage stage;
    size_t count = 0;
    use(test, "y = Add(Mul(x, ?a), ?b)", "y = Rw::Line(x, slope=$v)", forget);
    add_line(test, 3, 0.5f);
    assert_int_equal(apply(test, &stage, NULL, &count), TN_ERROR_PLUGIN);
    assert_error("accepts without setting '$v'", "rewrite 'rw' (library rw)");
    stage_end(&stage);
}

static void test_a_guard_that_sets_another_name_is_an_error(void **state) {
    graph_test *test = *state;
    build_stage stage;
    size_t count = 0;
    use(test, "y = Add(Mul(x, ?a), ?b)", "y = Rw::Line(x, slope=$v)", set_another);
    add_line(test, 3, 0.5f);
    assert_int_equal(apply(test, &stage, NULL, &count), TN_ERROR_PLUGIN);
    assert_error("sets 'x'", "rewrite 'rw'");
    stage_end(&stage);
}

/* --- proof --- */

static int equal_answers; /* how often the guard below found them equal */

static tn_status is_same(const tn_match *match) {
    equal_answers += match->is_equal_extent(match, "x", 0, "w", 0) == 1;
    return match->refuse(match, "only asked");
}

static tn_status is_fixed(const tn_match *match) {
    const int is_right =
        tn_match_extent(match, "x", 0) == -1 && tn_match_extent(match, "x", 1) == 5;
    return is_right ? TN_OK : match->refuse(match, "not as expected");
}

/* x[first, 5] and w[second, 5], both from 1 to 9, so that they are equal at all ends; y = Relu(x)
 * and the sum of w, so that the network does not ask for it. */
static size_t count_of_two(graph_test *test, const char *first, const char *second) {
    tn_tensor_id x, w;
    const int64_t extents[] = {-1, 5};
    const char *const x_names[] = {first, NULL}, *const w_names[] = {second, NULL};
    assert_int_equal(tn_graph_add_input(test->graph, "x", TN_F32, 2, extents, x_names, &x), TN_OK);
    assert_int_equal(tn_graph_add_input(test->graph, "w", TN_F32, 2, extents, w_names, &w), TN_OK);
    tn_tensor_id transposed = put_node(test, "Transpose", 1, TENSORS(w));
    add_output(test->graph, put_node(test, "MatMul", 2, TENSORS(x, transposed)));
    const tn_profile_input profiles[] = {{.size = sizeof(tn_profile_input),
                                          .name = "x",
                                          .rank = 2,
                                          .minimum = EXTENTS(1, 5),
                                          .optimum = EXTENTS(4, 5),
                                          .maximum = EXTENTS(9, 5)},
                                         {.size = sizeof(tn_profile_input),
                                          .name = "w",
                                          .rank = 2,
                                          .minimum = EXTENTS(1, 5),
                                          .optimum = EXTENTS(4, 5),
                                          .maximum = EXTENTS(9, 5)}};
    const tn_profile_input *const pointers[] = {&profiles[0], &profiles[1]};
    const tn_builder_options options = {
        .size = sizeof options, .profile_input_count = 2, .profile_inputs = pointers};
    return count_applied(test, &options);
}

#define PRODUCT_PATTERN "y = MatMul(x, Transpose(w, ...))"

static void test_extents_of_one_name_are_equal(void **state) {
    graph_test *test = *state;
    use(test, PRODUCT_PATTERN, "y = Rw::Line(x)", is_same);
    equal_answers = 0;
    assert_int_equal(count_of_two(test, "n", "n"), 0);
    assert_int_equal(equal_answers, 1);
}

static void test_extents_of_two_names_are_not_equal_by_accident(void **state) {
    graph_test *test = *state;
    use(test, PRODUCT_PATTERN, "y = Rw::Line(x)", is_same);
    equal_answers = 0;
    assert_int_equal(count_of_two(test, "n", "m"), 0);
    assert_int_equal(equal_answers, 0);
}

/* Unnamed extents may each be another one. */
static void test_extents_without_names_are_not_equal(void **state) {
    graph_test *test = *state;
    use(test, PRODUCT_PATTERN, "y = Rw::Line(x)", is_same);
    equal_answers = 0;
    assert_int_equal(count_of_two(test, NULL, NULL), 0);
    assert_int_equal(equal_answers, 0);
}

static void test_extents_that_vary_are_not_known(void **state) {
    graph_test *test = *state;
    use(test, "y = Relu(Relu(x))", "y = Rw::Line(x)", is_fixed);
    tn_tensor_id x = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_input(test->graph, "x", TN_F32, 2, EXTENTS(-1, 5), NULL, &x),
                     TN_OK);
    add_output(test->graph,
               put_node(test, "Relu", 1, TENSORS(put_node(test, "Relu", 1, TENSORS(x)))));
    const tn_profile_input profile = {.size = sizeof profile,
                                      .name = "x",
                                      .rank = 2,
                                      .minimum = EXTENTS(1, 5),
                                      .optimum = EXTENTS(4, 5),
                                      .maximum = EXTENTS(9, 5)};
    const tn_profile_input *const pointers[] = {&profile};
    const tn_builder_options options = {
        .size = sizeof options, .profile_input_count = 1, .profile_inputs = pointers};
    assert_int_equal(count_applied(test, &options), 1);
}

/* --- what the host refuses --- */

static void test_an_operator_without_a_kernel_is_not_put_in_place(void **state) {
    graph_test *test = *state;
    use(test, "y = Relu(Relu(x))", "y = Rw::Bare(x)", NULL);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    add_output(test->graph,
               put_node(test, "Relu", 1, TENSORS(put_node(test, "Relu", 1, TENSORS(x)))));
    assert_int_equal(count_applied(test, NULL), 0);
}

static void test_another_type_is_not_put_in_place(void **state) {
    graph_test *test = *state;
    use(test, "y = Relu(Relu(x))", "y = Rw::Line(x)", NULL);
    tn_tensor_id x = add_input(test->graph, "x", TN_F64, 2, EXTENTS(3, 5));
    add_output(test->graph,
               put_node(test, "Relu", 1, TENSORS(put_node(test, "Relu", 1, TENSORS(x)))));
    assert_int_equal(count_applied(test, NULL), 0);
    assert_int_equal(test->graph->node_count, 2);
}

/* Each application makes the graph smaller, and the next one sees what it left. */
static void test_rewrites_follow_each_other(void **state) {
    graph_test *test = *state;
    use(test, "y = Relu(Relu(x))", "y = Relu(x)", NULL);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    for (int i = 0; i < 8; i++)
        x = put_node(test, "Relu", 1, TENSORS(x));
    add_output(test->graph, x);
    assert_int_equal(count_applied(test, NULL), 7);
    assert_int_equal(test->graph->node_count, 1);
}

/* A pattern with many orders of its inputs, none of which fits, ends soon. */
static void test_searches_without_a_match_end(void **state) {
    graph_test *test = *state;
    use(test,
        "y = Mul(Mul(Mul(Mul(a, b), Mul(c, d)), Mul(Mul(e, f), Mul(g, h))), Mul(Mul(Mul(i, j), "
        "Mul(k, l)), Mul(Mul(m, n), Mul(o, Exp(a)))))",
        "y = Rw::Line(a)", NULL);
    tn_tensor_id x[32];
    for (int i = 0; i < 32; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        x[i] = add_input(test->graph, name, TN_F32, 1, EXTENTS(3));
    }
    for (int count = 32; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++)
            x[i] = put_node(test, "Mul", 2, TENSORS(x[2 * i], x[2 * i + 1]));
    add_output(test->graph, x[0]);
    assert_int_equal(count_applied(test, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_two_results_become_one_node),
        BUILD_TEST(test_what_would_wait_for_itself_is_left_alone),
        BUILD_TEST(test_an_inner_value_that_others_read_stays),
        BUILD_TEST(test_branches_are_found_from_their_input),
        BUILD_TEST(test_a_choice_that_fails_later_is_taken_back),
        BUILD_TEST(test_values_go_into_fields),
        BUILD_TEST(test_a_guard_that_computes_nothing_is_an_error),
        BUILD_TEST(test_a_guard_that_sets_another_name_is_an_error),
        BUILD_TEST(test_extents_of_one_name_are_equal),
        BUILD_TEST(test_extents_of_two_names_are_not_equal_by_accident),
        BUILD_TEST(test_extents_without_names_are_not_equal),
        BUILD_TEST(test_extents_that_vary_are_not_known),
        BUILD_TEST(test_an_operator_without_a_kernel_is_not_put_in_place),
        BUILD_TEST(test_another_type_is_not_put_in_place),
        BUILD_TEST(test_rewrites_follow_each_other),
        BUILD_TEST(test_searches_without_a_match_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
