/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: which kernel does what, in which formats, fused with what, in place or not. */
#include "build_test.h"

#include "builder/lower/lower_private.h"

static tn_tensor_id image(tn_graph *graph) {
    return add_input(graph, "x", TN_F32, 4, EXTENTS(1, 20, 3, 3));
}

static tn_tensor_id mix(tn_graph *graph, const char *name, tn_tensor_id x) {
    tn_tensor_id w = add_floats(graph, NULL, 1, EXTENTS(20));
    return add_node(graph, "Mix", name, 2, TENSORS(x, w));
}

/* --- fusion --- */

static void test_bias_residual_and_activation_are_fused(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph), bias = add_floats(graph, "bias", 1, EXTENTS(20));
    tn_tensor_id mixed = mix(graph, "mix", x);
    tn_tensor_id biased = add_node(graph, "Plus", "bias_add", 2, TENSORS(mixed, bias));
    tn_tensor_id sum = add_node(graph, "Plus", "residual", 2, TENSORS(x, biased));
    add_output(graph, add_unary(graph, "Relu", "relu", sum));
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_fused"});
    const tn_program_step *step = step_of(&stage, "mix");
    assert_int_equal(stage.program.step_count, 1);
    assert_int_equal(step->absorbed_count, 3);
    assert_int_equal(step->operand_count, 2);
    assert_int_equal(stage.program.values[step->operands[0]].tensor, bias);
    assert_int_equal(stage.program.values[step->operands[1]].tensor, x);
    assert_int_equal(stage.program.values[step->outputs[0]].tensor, graph->outputs[0]);
    stage_end(&stage);
}

static void test_steps_reach_the_kernel_with_their_operands(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph), bias = add_floats(graph, "bias", 1, EXTENTS(20));
    tn_tensor_id mixed = mix(graph, "mix", x);
    tn_tensor_id sum = add_node(graph, "Plus", "residual", 2, TENSORS(x, mixed));
    tn_tensor_id biased = add_node(graph, "Plus", "bias_add", 2, TENSORS(sum, bias));
    tn_tensor_id scaled = add_with_int(graph, "Scale", "scale", biased, "factor", 5);
    add_output(graph, scaled);
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_fused"});
    const tn_program_step *step = step_of(&stage, "mix");
    const tn_tensor *tensors[64];
    tn_chain chain;
    for (size_t t = 0; t < graph->tensor_count; t++)
        tensors[t] = &stage.shapes.points[1]->tensors[t].storage.tensor;
    const tn_kernel_entry *entry =
        tn_registry_find_kernel(tn_runtime_registry(graph->runtime),
                                graph->nodes[step->node].entry->op, "cpu", "mix_fused", NULL);
    assert_non_null(entry);
    assert_int_equal(
        tn_program_chain(&stage.program, step, graph, entry, tensors, stage.arena, &chain), TN_OK);
    const tn_call call = {.steps = chain.steps, .step_count = chain.count};
    seen_step seen[3];
    for (uint32_t i = 0; i < 3; i++)
        see_step(&call, i, &seen[i]);
    assert_int_equal(chain.operand_counts[3], 2);
    assert_int_equal(seen[0].kind, SEEN_RESIDUAL);
    assert_int_equal(seen[0].operand, 0);
    assert_int_equal(chain.operands[0], x);
    assert_int_equal(seen[1].kind, SEEN_BIAS);
    assert_int_equal(seen[1].operand, 1);
    assert_int_equal(seen[1].axis, 1);
    assert_int_equal(chain.operands[1], bias);
    assert_int_equal(seen[2].kind, SEEN_ROW);
    assert_ptr_equal(seen[2].row, layer_scale_row);
    assert_int_equal(((const layer_scale_params *)seen[2].params)->factor, 5);
    tn_library_release(entry->library);
    stage_end(&stage);
}

static void test_only_what_the_kernel_lists_is_fused(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id mixed = mix(graph, "mix", image(graph));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", mixed);
    add_output(graph, add_unary(graph, "Halve", "leaky", relu));
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_fused"});
    assert_int_equal(step_of(&stage, "mix")->absorbed_count, 1);
    assert_string_equal(kernel_of(&stage, "leaky"), "(reference)");
    stage_end(&stage);
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_plain"});
    assert_int_equal(step_of(&stage, "mix")->absorbed_count, 0);
    assert_string_equal(kernel_of(&stage, "relu"), "relu");
    stage_end(&stage);
    lower_or_fail(
        &stage, graph,
        (tn_lower_options){.no_timing = true, .no_fusion = true, .forced = "Mix=mix_fused"});
    assert_int_equal(step_of(&stage, "mix")->absorbed_count, 0);
    stage_end(&stage);
}

static void test_what_others_read_is_not_fused_away(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph);
    tn_tensor_id mixed = mix(graph, "mix", x), other = mix(graph, "other", x);
    add_output(graph, add_unary(graph, "Relu", "relu", mixed));
    add_output(graph, mixed);
    add_output(graph, add_node(graph, "Plus", "itself", 2, TENSORS(other, other)));
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_fused"});
    assert_int_equal(step_of(&stage, "mix")->absorbed_count, 0);
    assert_int_equal(step_of(&stage, "other")->absorbed_count, 0);
    stage_end(&stage);
}

static void test_of_two_fusing_kernels_one_takes_the_sum(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph);
    tn_tensor_id left = mix(graph, "left", x), right = mix(graph, "right", x);
    tn_tensor_id sum = add_node(graph, "Plus", "sum", 2, TENSORS(left, right));
    add_output(graph, add_unary(graph, "Relu", "relu", sum));
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_fused"});
    assert_int_equal(stage.program.step_count, 2);
    assert_int_equal(
        step_of(&stage, "left")->absorbed_count + step_of(&stage, "right")->absorbed_count, 2);
    assert_int_equal(stage.program.steps[1].absorbed_count, 2); /* its operand is there first */
    stage_end(&stage);
}

/* --- formats --- */

static void test_a_blocked_kernel_between_linear_ones_gets_reformats(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id scaled = add_unary(graph, "Scale", "before", image(graph));
    tn_tensor_id blocked = add_unary(graph, "Only16", "blocked", scaled);
    add_output(graph, add_unary(graph, "Scale", "after", blocked));
    lower_or_fail(&stage, graph, NO_TIMING);
    assert_string_equal(kernel_of(&stage, "blocked"), "only16");
    assert_int_equal(stage.program.step_count, 5);
    assert_int_equal(stage.program.steps[1].kind, TN_STEP_REFORMAT);
    assert_int_equal(stage.program.steps[3].kind, TN_STEP_REFORMAT);
    const tn_program_step *step = step_of(&stage, "blocked");
    assert_int_equal(stage.program.values[step->inputs[0]].format, TN_C16);
    assert_int_equal(stage.program.values[step->outputs[0]].format, TN_C16);
    step = step_of(&stage, "after");
    assert_int_equal(stage.program.values[step->inputs[0]].format, TN_LINEAR);
    stage_end(&stage);
}

/* Asked at 16 and 32 channels a kernel may say that there is no rest in the last block. */
static void test_a_blocked_axis_has_one_extent(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, -1, -1, 3));
    add_output(graph, add_unary(graph, "Only16", "blocked", x));
    for (int64_t most = 16; most <= 32; most += 16) {
        const int64_t maximum[] = {1, most, 5, 3};
        tn_profile_input range = {.size = sizeof range,
                                  .rank = 4,
                                  .name = "x",
                                  .minimum = EXTENTS(1, 16, 3, 3),
                                  .optimum = EXTENTS(1, 16, 4, 3),
                                  .maximum = maximum};
        const tn_profile_input *ranges[] = {&range};
        tn_builder_options options = {
            .size = sizeof options, .profile_input_count = 1, .profile_inputs = ranges};
        stage_infer(&stage, graph, &options);
        assert_int_equal(stage_lower(&stage, NO_TIMING), TN_OK);
        assert_string_equal(kernel_of(&stage, "blocked"), most == 16 ? "only16" : "(reference)");
        stage_end(&stage);
    }
}

static void test_a_reformat_is_shared_by_its_readers(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph);
    tn_tensor_id a = add_unary(graph, "Only16", "a", x), b = add_unary(graph, "Only16", "b", x);
    tn_tensor_id c = add_unary(graph, "Only16", "c", b);
    add_output(graph, add_unary(graph, "Relu", "ra", a));
    add_output(graph, add_unary(graph, "Relu", "rc", c));
    lower_or_fail(&stage, graph, NO_TIMING);
    /* x once for both; each output once, before or after its Relu; nothing between b and c */
    assert_int_equal(count_kind(&stage, TN_STEP_REFORMAT), 3);
    stage_end(&stage);
}

static void test_a_fast_kernel_in_its_own_format_is_worth_the_conversions(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph);
    for (int i = 0; i < 4; i++)
        x = mix(graph, i == 0 ? "m0" : i == 1 ? "m1" : i == 2 ? "m2" : "m3", x);
    add_output(graph, x);
    layer_pace_of("mix_plain")->ns = layer_pace_of("mix_fused")->ns = 300000;
    layer_pace_of("mix_c16")->ns = 1000;
    lower_or_fail(&stage, graph, TIMED);
    assert_string_equal(kernel_of(&stage, "m0"), "mix_c16");
    assert_string_equal(kernel_of(&stage, "m3"), "mix_c16");
    assert_int_equal(count_kind(&stage, TN_STEP_REFORMAT), 2);
    assert_true(step_of(&stage, "m0")->nanoseconds >= 1000);
    stage_end(&stage);
    layer_pace_of("mix_plain")->ns = 1000;
    layer_pace_of("mix_c16")->ns = 300000;
    lower_or_fail(&stage, graph, TIMED);
    assert_string_equal(kernel_of(&stage, "m1"), "mix_plain");
    assert_int_equal(count_kind(&stage, TN_STEP_REFORMAT), 0);
    stage_end(&stage);
}

static void test_a_residual_comes_in_the_output_s_format(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph), mixed = mix(graph, "mix", x);
    add_output(graph, add_node(graph, "Plus", "sum", 2, TENSORS(mixed, x)));
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_c16"});
    const tn_program_step *step = step_of(&stage, "mix");
    assert_int_equal(step->absorbed_count, 1);
    assert_int_equal(stage.program.values[step->operands[0]].format, TN_C16);
    assert_int_equal(step->operands[0], step->inputs[0]); /* one conversion serves both */
    stage_end(&stage);
}

/* --- choice --- */

static void test_the_fastest_tactic_is_taken(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    add_output(graph, add_unary(graph, "Scale", "scale", image(graph)));
    layer_pace_of("scale_0")->ns = layer_pace_of("scale_2")->ns = 200000;
    lower_or_fail(&stage, graph, TIMED);
    assert_int_equal(step_of(&stage, "scale")->tactic, 1);
    assert_int_equal(layer_tactic_seen, 7);
    stage_end(&stage);
}

/* Whether the network has the kernel that uses OpenMP when that takes so long, and the other one
 * 300 us. */
static bool takes_openmp(tn_graph *graph, uint64_t openmp_ns, const char *forced) {
    build_stage stage;
    tn_lower_options options = TIMED;
    options.forced = forced;
    layer_pace_of("team_openmp")->ns = openmp_ns;
    layer_pace_of("team_own")->ns = 300000;
    lower_or_fail(&stage, graph, options);
    const bool takes = strcmp(kernel_of(&stage, "team"), "team_openmp") == 0;
    stage_end(&stage);
    return takes;
}

static void test_kernels_that_use_openmp_must_be_worth_it(void **state) {
    graph_test *test = *state;
    add_output(test->graph, add_unary(test->graph, "Team", "team", image(test->graph)));
    assert_true(takes_openmp(test->graph, 250000, NULL));
    assert_false(takes_openmp(test->graph, 296000, NULL));
    assert_true(takes_openmp(test->graph, 296000, "Team=team_openmp"));
}

static void test_openmp_must_save_more_than_steps_wait_for_its_team(void **state) {
    const tn_lower_options one = {.threads = 1}, two = {.threads = 2};
    const tn_lowering alone = {.options = &one}, shared = {.options = &two};
    const tn_lower_openmp small = {.steps = 7};
    (void)state;
    assert_true(tn_lower_is_worth_openmp(&alone, &small, 50e3, 60e3));
    assert_false(tn_lower_is_worth_openmp(&shared, &small, 50e3, 60e3));
    assert_true(tn_lower_is_worth_openmp(&shared, &small, 5e6, 6e6));
}

static void test_short_time_goes_to_the_first_tactics_of_all_nodes(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    const uint64_t ns = 4000000; /* four runs a candidate, the first to warm up */
    tn_tensor_id small = add_input(graph, "a", TN_F32, 1, EXTENTS(5));
    tn_tensor_id middle = add_input(graph, "b", TN_F32, 1, EXTENTS(6));
    tn_tensor_id large = add_input(graph, "c", TN_F32, 1, EXTENTS(7));
    add_output(graph, add_unary(graph, "Scale", "scale_a", small));
    add_output(graph, add_unary(graph, "Scale", "scale_b", middle));
    add_output(graph, add_unary(graph, "Scale", "scale_c", large));
    tn_lower_options options = TIMED;
    for (int i = 0; i < 3; i++)
        layer_pace_of(i == 0 ? "scale_0" : i == 1 ? "scale_1" : "scale_2")->ns = ns;
    options.timing_seconds = 3 * 4 * (double)ns * 1e-9;
    layer_tactic_seen = 0;
    lower_or_fail(&stage, graph, options);
    assert_int_equal(layer_tactic_seen, 1);
    for (int i = 0; i < 3; i++) {
        const char *node = i == 0 ? "scale_a" : i == 1 ? "scale_b" : "scale_c";
        assert_true(step_of(&stage, node)->nanoseconds >= (double)ns);
        assert_int_equal(step_of(&stage, node)->tactic,
                         0); /* the others are no faster by a guess */
    }
    stage_end(&stage);
}

static void test_pins_choose_and_wrong_pins_are_errors(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    add_output(graph, mix(graph, "mix", image(graph)));
    static const char *const pins[][2] = {{"Mix=mix_plain", "mix_plain"},
                                          {"tiny::Mix=mix_fused", "mix_fused"},
                                          {"Relu=relu,Mix=build_layers/mix_c16", "mix_c16"},
                                          {"Mix=reference", "(reference)"}};
    for (size_t i = 0; i < 4; i++) {
        lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .forced = pins[i][0]});
        assert_string_equal(kernel_of(&stage, "mix"), pins[i][1]);
        stage_end(&stage);
    }
    stage_infer(&stage, graph, NULL);
    assert_int_equal(
        stage_lower(&stage, (tn_lower_options){.no_timing = true, .forced = "Mix=quick"}),
        TN_ERROR_NOT_FOUND);
    assert_error("mix_fused", NULL);
    assert_int_equal(stage_lower(&stage, (tn_lower_options){.no_timing = true, .forced = "Mix"}),
                     TN_ERROR_ARGUMENT);
    stage_end(&stage);
}

static void test_a_pinned_node_is_not_absorbed(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    add_output(graph, add_unary(graph, "Relu", "relu", mix(graph, "mix", image(graph))));
    lower_or_fail(&stage, graph,
                  (tn_lower_options){.no_timing = true, .forced = "Mix=mix_fused,Relu=relu"});
    assert_string_equal(kernel_of(&stage, "relu"), "relu");
    stage_end(&stage);
}

static void test_a_kernel_that_does_not_accept_is_not_taken(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 3, EXTENTS(1, 20, 3));
    add_output(graph, mix(graph, "mix", x));
    layer_pace_of("mix_plain")->ns = layer_pace_of("mix_fused")->ns = 100000;
    lower_or_fail(&stage, graph, TIMED);
    assert_string_not_equal(kernel_of(&stage, "mix"), "mix_c16");
    assert_int_equal(layer_pace_of("mix_c16")->runs, 0);
    stage_end(&stage);
}

static void test_reference_only_means_every_node(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    add_output(graph, add_unary(graph, "Relu", "relu", mix(graph, "mix", image(graph))));
    lower_or_fail(&stage, graph, (tn_lower_options){.reference_only = true});
    assert_string_equal(kernel_of(&stage, "mix"), "(reference)");
    assert_string_equal(kernel_of(&stage, "relu"), "(reference)");
    stage_end(&stage);
}

static void test_a_node_without_kernel_or_reference_is_an_error(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    add_output(graph, add_unary(graph, "NoReference", "none", image(graph)));
    stage_infer(&stage, graph, NULL);
    assert_int_equal(stage_lower(&stage, NO_TIMING), TN_ERROR_UNSUPPORTED);
    assert_error("no reference", "none");
    stage_end(&stage);
}

static void test_a_kernel_that_fails_is_named_and_leaves_nothing(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    add_output(graph, add_unary(graph, "Fragile", "fragile", image(graph)));
    for (int failure = LAYER_FAILS_TACTICS; failure <= LAYER_FAILS_RUN; failure++) {
        layer_fragile_failure = failure;
        stage_infer(&stage, graph, NULL);
        assert_int_equal(stage_lower(&stage, TIMED), TN_ERROR_DEVICE);
        assert_error("told to fail", "fragile");
        assert_int_equal(layer_fragile_alive, 0);
        stage_end(&stage);
    }
    layer_fragile_failure = LAYER_FAILS_ACCEPTS; /* is no failure, but a no */
    lower_or_fail(&stage, graph, TIMED);
    assert_string_equal(kernel_of(&stage, "fragile"), "(reference)");
    stage_end(&stage);
    layer_fragile_failure = LAYER_SOUND;
    lower_or_fail(&stage, graph, TIMED);
    assert_string_equal(kernel_of(&stage, "fragile"), "fragile");
    assert_int_equal(layer_fragile_alive, 0);
    stage_end(&stage);
}

/* --- views, shapes, memory --- */

static void test_a_view_is_no_kernel(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id shape = add_i64s(graph, "shape", 2, (const int64_t[]){20, 9});
    tn_tensor_id blocked = add_unary(graph, "Only16", "blocked", image(graph));
    tn_tensor_id flat = add_node(graph, "Reshape", "flat", 2, TENSORS(blocked, shape));
    add_output(graph, add_unary(graph, "Scale", "scale", flat));
    lower_or_fail(&stage, graph, NO_TIMING);
    const tn_program_step *step = step_of(&stage, "flat");
    assert_int_equal(step->kind, TN_STEP_VIEW);
    assert_null(step->kernel);
    assert_int_equal(stage.program.values[step->inputs[0]].format, TN_LINEAR);
    stage_end(&stage);
}

static void test_nodes_that_compute_shapes_are_host_steps(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 4));
    tn_tensor_id blocked = add_unary(graph, "Relu", "relu", x);
    tn_tensor_id shape = add_unary(graph, "Shape", "shape", blocked);
    tn_tensor_id copied = add_unary(graph, "Copy", "copy", shape);
    add_output(graph, add_node(graph, "Reshape", "flat", 2, TENSORS(blocked, copied)));
    lower_or_fail(&stage, graph, NO_TIMING);
    assert_true(step_of(&stage, "shape")->is_host && step_of(&stage, "copy")->is_host);
    assert_false(step_of(&stage, "relu")->is_host);
    assert_string_equal(kernel_of(&stage, "copy"), "(reference)");
    stage_end(&stage);
}

static void test_in_place_only_where_nobody_else_looks(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph);
    tn_tensor_id first = add_unary(graph, "Scale", "of_input", x);
    tn_tensor_id second = add_unary(graph, "Scale", "chained", first);
    tn_tensor_id third = add_unary(graph, "Scale", "shared", second);
    tn_tensor_id fourth = add_unary(graph, "Scale", "shared_too", second);
    tn_tensor_id sum = add_node(graph, "Plus", "sum", 2, TENSORS(third, fourth));
    tn_tensor_id last = add_unary(graph, "Scale", "to_output", sum);
    tn_tensor_id shape = add_i64s(graph, "shape", 2, (const int64_t[]){20, 9});
    tn_tensor_id flat = add_node(graph, "Reshape", "flat", 2, TENSORS(third, shape));
    tn_tensor_id viewed = add_unary(graph, "Scale", "viewed", flat);
    add_output(graph, last);
    add_output(graph, add_unary(graph, "Scale", "after_view", viewed));
    lower_or_fail(&stage, graph, (tn_lower_options){.no_timing = true, .no_fusion = true});
    assert_false(step_of(&stage, "of_input")->is_in_place);
    assert_true(step_of(&stage, "chained")->is_in_place);
    assert_false(step_of(&stage, "shared")->is_in_place);
    assert_true(step_of(&stage, "shared_too")->is_in_place); /* the last one to look */
    assert_false(step_of(&stage, "sum")->is_in_place);       /* by the reference */
    assert_true(step_of(&stage, "to_output")->is_in_place);
    assert_false(step_of(&stage, "viewed")->is_in_place);
    stage_end(&stage);
}

/* --- what is known at a run only --- */

static void test_a_network_whose_shapes_are_values_is_lowered_without_them(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = image(graph);
    tn_tensor_id shape = add_input(graph, "shape", TN_I64, 1, EXTENTS(2));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", x);
    tn_tensor_id flat = add_node(graph, "Reshape", "flat", 2, TENSORS(relu, shape));
    tn_tensor_id copied = add_unary(graph, "Copy", "copied", flat);
    tn_tensor_id fragile = add_unary(graph, "Fragile", "fragile", copied);
    add_output(graph, fragile);
    lower_or_fail(&stage, graph, TIMED);
    assert_true(stage.lowered_shapes.is_partial);
    assert_string_equal(kernel_of(&stage, "relu"), "relu");
    assert_int_equal(step_of(&stage, "flat")->kind, TN_STEP_VIEW);
    assert_string_equal(kernel_of(&stage, "copied"), "copy"); /* needs no shapes */
    assert_string_equal(kernel_of(&stage, "fragile"), "(reference)");
    const tn_program_step *step = step_of(&stage, "fragile");
    assert_int_equal(stage.program.values[step->outputs[0]].type, TN_F32);
    stage_end(&stage);
}

static void test_after_an_output_sized_by_run_nothing_relies_on_shapes(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_I64, 1, EXTENTS(6));
    tn_tensor_id indices = add_unary(graph, "NonZero", "indices", x);
    tn_tensor_id copied = add_unary(graph, "Copy", "copied", indices);
    add_output(graph, add_unary(graph, "Shape", "shape", copied));
    lower_or_fail(&stage, graph, TIMED);
    assert_string_equal(kernel_of(&stage, "indices"), "(reference)");
    assert_string_equal(kernel_of(&stage, "copied"), "copy");
    assert_false(step_of(&stage, "copied")->is_in_place);
    stage_end(&stage);
}

static void test_free_extents_are_not_taken_for_1(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id y = add_input(graph, "y", TN_F32, 1, EXTENTS(1));
    add_output(graph, add_node(graph, "Add", "sum", 2, TENSORS(x, y))); /* fits at 1 alone */
    add_output(graph, add_unary(graph, "Fragile", "fragile", x));
    lower_or_fail(&stage, graph, NO_TIMING);
    assert_true(stage.lowered_shapes.is_partial);
    assert_string_equal(kernel_of(&stage, "fragile"), "(reference)");
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_bias_residual_and_activation_are_fused),
        BUILD_TEST(test_steps_reach_the_kernel_with_their_operands),
        BUILD_TEST(test_only_what_the_kernel_lists_is_fused),
        BUILD_TEST(test_what_others_read_is_not_fused_away),
        BUILD_TEST(test_of_two_fusing_kernels_one_takes_the_sum),
        BUILD_TEST(test_a_blocked_kernel_between_linear_ones_gets_reformats),
        BUILD_TEST(test_a_blocked_axis_has_one_extent),
        BUILD_TEST(test_a_reformat_is_shared_by_its_readers),
        BUILD_TEST(test_a_fast_kernel_in_its_own_format_is_worth_the_conversions),
        BUILD_TEST(test_a_residual_comes_in_the_output_s_format),
        BUILD_TEST(test_the_fastest_tactic_is_taken),
        BUILD_TEST(test_kernels_that_use_openmp_must_be_worth_it),
        cmocka_unit_test(test_openmp_must_save_more_than_steps_wait_for_its_team),
        BUILD_TEST(test_short_time_goes_to_the_first_tactics_of_all_nodes),
        BUILD_TEST(test_pins_choose_and_wrong_pins_are_errors),
        BUILD_TEST(test_a_pinned_node_is_not_absorbed),
        BUILD_TEST(test_a_kernel_that_does_not_accept_is_not_taken),
        BUILD_TEST(test_reference_only_means_every_node),
        BUILD_TEST(test_a_node_without_kernel_or_reference_is_an_error),
        BUILD_TEST(test_a_kernel_that_fails_is_named_and_leaves_nothing),
        BUILD_TEST(test_a_view_is_no_kernel),
        BUILD_TEST(test_nodes_that_compute_shapes_are_host_steps),
        BUILD_TEST(test_in_place_only_where_nobody_else_looks),
        BUILD_TEST(test_a_network_whose_shapes_are_values_is_lowered_without_them),
        BUILD_TEST(test_after_an_output_sized_by_run_nothing_relies_on_shapes),
        BUILD_TEST(test_free_extents_are_not_taken_for_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
