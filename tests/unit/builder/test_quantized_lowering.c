/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering where the precision allows less than 32-bit floats: which tensors are stored in which
 * type and with which scale, where conversions stand, what is fused, and what the notes say of
 * nodes that stay in floats.
 */
#include "quantized_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "build_test.h"

#include <tenon/builder.h>

static int setup(void **state) {
    quantized_float_ns = quantized_byte_ns = 0;
    if (build_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    return tn_runtime_register_library(test->runtime, quantized_entry) == TN_OK ? 0 : -1;
}
#define QUANTIZED_TEST(function)                                                                   \
    cmocka_unit_test_setup_teardown(function, setup, graph_test_teardown)

static const int64_t EXTENTS_SMALL[] = {1, 4, 2, 2};

static tn_tensor_id add_x(tn_graph *graph) {
    return add_input(graph, "x", TN_F32, 4, EXTENTS_SMALL);
}

static tn_tensor_id add_wide_weigh(tn_graph *graph, const char *name, tn_tensor_id input,
                                   int64_t channels) {
    char weights[32];
    snprintf(weights, sizeof weights, "%s_w", name);
    const tn_tensor_id inputs[] = {input, add_floats(graph, weights, 1, &channels)};
    return add_node(graph, "Weigh", name, 2, inputs);
}

static tn_tensor_id add_weigh(tn_graph *graph, const char *name, tn_tensor_id input) {
    return add_wide_weigh(graph, name, input, 4);
}

/* A lowering in a precision, with scales by tensor. */
typedef struct quantized_stage {
    build_stage stage;
    float scales[64];
    bool is_kept[64];
    tn_lower_notes notes;
} quantized_stage;

static quantized_stage *new_stage(void) {
    return calloc(1, sizeof(quantized_stage));
}

static void lower_in(quantized_stage *stage, tn_graph *graph, tn_lower_options options) {
    options.scales = stage->scales;
    options.is_kept = stage->is_kept;
    options.notes = &stage->notes;
    lower_or_fail(&stage->stage, graph, options);
}

static void end_stage(quantized_stage *stage) {
    stage_end(&stage->stage);
    free(stage);
}

#define PRECISION(name) ((tn_lower_options){.no_timing = true, .precision = (name)})
#define PINNED(name, pinned)                                                                       \
    ((tn_lower_options){.no_timing = true, .precision = (name), .forced = (pinned)})

static const tn_program_value *value_at(const quantized_stage *stage, uint32_t value) {
    return &stage->stage.program.values[value];
}

static const tn_program_value *input_of(const quantized_stage *stage, const char *node,
                                        uint32_t i) {
    const tn_program_step *step = step_of(&stage->stage, node);
    if (!step) fail_msg("no step does '%s'", node);
    return value_at(stage, step->inputs[i]);
}

static const tn_program_value *output_of(const quantized_stage *stage, const char *node) {
    const tn_program_step *step = step_of(&stage->stage, node);
    if (!step) fail_msg("no step does '%s'", node);
    return value_at(stage, step->outputs[0]);
}

static void assert_stored(const tn_program_value *value, tn_type type, float scale) {
    assert_int_equal(value->type, type);
    if (scale == 0) {
        assert_null(value->quantization);
        return;
    }
    assert_non_null(value->quantization);
    assert_int_equal(value->quantization->count, 1);
    assert_true(*(const float *)value->quantization->scales == scale);
}

static uint32_t reason_of(const quantized_stage *stage, const char *node) {
    return stage->notes.nodes[step_of(&stage->stage, node)->node].reason;
}

/* --- types --- */

static void test_full_precision_stores_nothing_in_less(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    quantized_stage *stage = new_stage();
    tn_tensor_id y = add_weigh(graph, "a", add_x(graph));
    add_output(graph, y);
    for (size_t t = 0; t < 64; t++)
        stage->scales[t] = 0.5f;
    lower_in(stage, graph, PRECISION(TN_PRECISION_F32));
    for (uint32_t v = 0; v < stage->stage.program.value_count; v++)
        assert_stored(value_at(stage, v), TN_F32, 0);
    assert_int_equal(stage->notes.type, TN_NONE);
    end_stage(stage);
}

static void test_conversions_stand_at_the_ends_of_what_is_in_8_bits(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    quantized_stage *stage = new_stage();
    tn_tensor_id x = add_x(graph), a = add_weigh(graph, "a", x), b = add_weigh(graph, "b", a);
    tn_tensor_id square = add_unary(graph, "Square", "square", b);
    tn_tensor_id c = add_weigh(graph, "c", square);
    add_output(graph, c);
    stage->scales[x] = 0.5f, stage->scales[a] = 0.25f, stage->scales[square] = 2;
    lower_in(stage, graph, PINNED(TN_PRECISION_I8, "Weigh=weigh_i8"));
    assert_stored(input_of(stage, "a", 0), TN_I8, 0.5f);
    assert_stored(input_of(stage, "a", 1), TN_F32, 0);
    assert_stored(output_of(stage, "a"), TN_I8, 0.25f);
    assert_stored(input_of(stage, "b", 0), TN_I8, 0.25f);
    assert_stored(output_of(stage, "b"), TN_F32, 0); /* it has no scale: by the kernel's f32 */
    assert_stored(output_of(stage, "square"), TN_F32, 0);
    assert_stored(input_of(stage, "c", 0), TN_I8, 2);
    assert_stored(output_of(stage, "c"), TN_F32, 0);
    assert_int_equal(count_kind(&stage->stage, TN_STEP_REFORMAT), 2); /* x and square */
    assert_int_equal(reason_of(stage, "square"), TN_LOWER_NO_KERNEL);
    assert_int_equal(reason_of(stage, "a"), TN_LOWER_DONE);
    end_stage(stage);
}

static void test_one_conversion_serves_all_readers(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    quantized_stage *stage = new_stage();
    tn_tensor_id x = add_x(graph);
    add_output(graph, add_weigh(graph, "a", x));
    add_output(graph, add_weigh(graph, "b", x));
    stage->scales[x] = 0.5f;
    lower_in(stage, graph, PINNED(TN_PRECISION_I8, "Weigh=weigh_i8"));
    assert_int_equal(count_kind(&stage->stage, TN_STEP_REFORMAT), 1);
    assert_ptr_equal(input_of(stage, "a", 0), input_of(stage, "b", 0));
    end_stage(stage);
}

static void test_halves_need_no_scale_and_a_star_never_gets_them(void **state) {
    const uint32_t precisions[] = {TN_PRECISION_F16, TN_PRECISION_BF16};
    const tn_type types[] = {TN_F16, TN_BF16};
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id a = add_weigh(graph, "a", add_x(graph));
    tn_tensor_id flip = add_unary(graph, "Flip", "flip", a);
    tn_tensor_id any = add_unary(graph, "Anything", "any", flip);
    add_output(graph, any);
    for (int i = 0; i < 2; i++) {
        quantized_stage *stage = new_stage();
        lower_in(stage, graph, PINNED(precisions[i], "Weigh=weigh_f16"));
        assert_stored(input_of(stage, "a", 0), types[i], 0);
        assert_stored(output_of(stage, "a"), types[i], 0);
        /* Flip names f16 and not bf16. */
        assert_stored(input_of(stage, "any", 0), TN_F32, 0);
        assert_stored(output_of(stage, "any"), TN_F32, 0);
        assert_int_equal(reason_of(stage, "any"), TN_LOWER_NO_KERNEL);
        if (types[i] == TN_BF16) assert_stored(output_of(stage, "flip"), TN_F32, 0);
        end_stage(stage);
    }
}

/* --- scales --- */

static void test_the_maker_decides_the_scale_of_what_is_selected(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    quantized_stage *stage = new_stage();
    tn_tensor_id x = add_x(graph), a = add_weigh(graph, "a", x);
    tn_tensor_id flip = add_unary(graph, "Flip", "flip", a);
    tn_tensor_id look = add_unary(graph, "Look", "look", flip);
    add_output(graph, add_weigh(graph, "b", look));
    stage->scales[x] = 1, stage->scales[a] = 0.5f, stage->scales[flip] = 0.25f,
    stage->scales[look] = 4;
    lower_in(stage, graph, PINNED(TN_PRECISION_I8, "Weigh=weigh_i8"));
    assert_stored(output_of(stage, "a"), TN_I8, 0.5f);
    assert_stored(output_of(stage, "flip"), TN_I8, 0.5f);
    assert_stored(output_of(stage, "look"), TN_I8, 0.5f);
    assert_int_equal(step_of(&stage->stage, "look")->kind, TN_STEP_VIEW);
    assert_stored(input_of(stage, "b", 0), TN_I8, 0.5f);
    assert_int_equal(count_kind(&stage->stage, TN_STEP_REFORMAT), 1);
    end_stage(stage);
}

static void test_of_several_makers_the_largest_scale_wins(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_x(graph);
    const tn_tensor_id parts[] = {add_weigh(graph, "a", x), add_weigh(graph, "b", x)};
    tn_tensor_id both = add_node(graph, "Chain", "chain", 2, parts);
    add_output(graph, add_weigh(graph, "c", both));
    for (int has_all = 0; has_all < 2; has_all++) {
        quantized_stage *stage = new_stage();
        stage->scales[x] = 1, stage->scales[parts[0]] = 0.5f, stage->scales[both] = 8;
        if (has_all) stage->scales[parts[1]] = 2;
        lower_in(stage, graph, PINNED(TN_PRECISION_I8, "Weigh=weigh_i8"));
        const float expected = has_all ? 2 : 8; /* what is made of a maker without one */
        assert_stored(output_of(stage, "a"), TN_I8, expected);
        assert_stored(output_of(stage, "b"), TN_I8, expected);
        assert_stored(output_of(stage, "chain"), TN_I8, expected);
        end_stage(stage);
    }
}

static void test_scales_that_are_no_numbers_are_none(void **state) {
    const float scales[] = {NAN, -1, 0, INFINITY};
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_x(graph);
    add_output(graph, add_weigh(graph, "a", x));
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        quantized_stage *stage = new_stage();
        stage->scales[x] = scales[i];
        lower_in(stage, graph, PRECISION(TN_PRECISION_I8));
        assert_stored(input_of(stage, "a", 0), TN_F32, 0);
        assert_int_equal(reason_of(stage, "a"), TN_LOWER_NO_SCALE);
        end_stage(stage);
    }
}

static void test_a_chain_is_stored_with_the_scale_of_its_last_tensor(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    quantized_stage *stage = new_stage();
    tn_tensor_id x = add_x(graph), a = add_weigh(graph, "a", x), b = add_weigh(graph, "b", a);
    tn_tensor_id sum = add_node(graph, "Both", "sum", 2, (const tn_tensor_id[]){b, a});
    tn_tensor_id rect = add_unary(graph, "Rect", "rect", sum);
    add_output(graph, add_weigh(graph, "c", rect));
    /* None for b and for the sum: no value of theirs is stored. */
    stage->scales[x] = 1, stage->scales[a] = 0.5f, stage->scales[rect] = 0.125f;
    lower_in(stage, graph, PINNED(TN_PRECISION_I8, "Weigh=weigh_i8"));
    const tn_program_step *step = step_of(&stage->stage, "b");
    assert_int_equal(step->absorbed_count, 2);
    assert_stored(value_at(stage, step->operands[0]), TN_I8, 0.5f);
    assert_stored(output_of(stage, "b"), TN_I8, 0.125f);
    assert_int_equal(count_kind(&stage->stage, TN_STEP_REFORMAT), 1);
    end_stage(stage);
}

/* --- notes --- */

static void test_the_notes_name_the_tensor_without_a_scale(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    quantized_stage *stage = new_stage();
    tn_tensor_id x = add_x(graph), a = add_weigh(graph, "a", x);
    tn_tensor_id square = add_unary(graph, "Square", "square", a);
    add_output(graph, square);
    lower_in(stage, graph, PRECISION(TN_PRECISION_I8));
    assert_int_equal(stage->notes.type, TN_I8);
    assert_int_equal(reason_of(stage, "a"), TN_LOWER_NO_SCALE);
    assert_int_equal(stage->notes.nodes[step_of(&stage->stage, "a")->node].tensor, x);
    assert_int_equal(reason_of(stage, "square"), TN_LOWER_NO_KERNEL);
    /* Not the square's: nobody would take it in 8 bits. */
    assert_int_equal(stage->notes.without_scale_count, 2);
    assert_int_equal(stage->notes.without_scale[0], x);
    assert_int_equal(stage->notes.without_scale[1], a);
    end_stage(stage);
}

static void test_kept_nodes_stay_in_floats_alone_and_in_chains(void **state) {
    const char *const kept[] = {"a", "rect"};
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_x(graph), a = add_weigh(graph, "a", x);
    tn_tensor_id rect = add_unary(graph, "Rect", "rect", a);
    tn_tensor_id b = add_weigh(graph, "b", rect);
    add_output(graph, b);
    for (int i = 0; i < 2; i++) {
        quantized_stage *stage = new_stage();
        stage->scales[x] = stage->scales[a] = stage->scales[rect] = stage->scales[b] = 1;
        for (size_t n = 0; n < graph->node_count; n++)
            stage->is_kept[n] = strcmp(graph->nodes[n].name, kept[i]) == 0;
        lower_in(stage, graph, PINNED(TN_PRECISION_I8, "Weigh=weigh_f32"));
        assert_stored(input_of(stage, "a", 0), TN_F32, 0);
        assert_stored(output_of(stage, "a"), TN_F32, 0);
        assert_int_equal(step_of(&stage->stage, "a")->absorbed_count, 1);
        assert_int_equal(reason_of(stage, "a"), TN_LOWER_KEPT);
        end_stage(stage);
    }
}

/* --- by time --- */

static quantized_stage *lower_timed(tn_graph *graph, tn_tensor_id x, tn_tensor_id a, tn_tensor_id b,
                                    uint64_t float_ns, uint64_t byte_ns) {
    quantized_stage *stage = new_stage();
    stage->scales[x] = stage->scales[a] = stage->scales[b] = 1;
    quantized_float_ns = float_ns;
    quantized_byte_ns = byte_ns;
    lower_in(stage, graph, (tn_lower_options){.precision = TN_PRECISION_I8});
    return stage;
}

static void test_the_measured_time_decides(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_x(graph), a = add_weigh(graph, "a", x), b = add_weigh(graph, "b", a);
    add_output(graph, b);
    quantized_stage *stage = lower_timed(graph, x, a, b, 300000, 20000);
    assert_string_equal(kernel_of(&stage->stage, "a"), "weigh_i8");
    assert_string_equal(kernel_of(&stage->stage, "b"), "weigh_i8");
    assert_stored(output_of(stage, "a"), TN_I8, 1);
    end_stage(stage);
    stage = lower_timed(graph, x, a, b, 20000, 300000);
    assert_string_equal(kernel_of(&stage->stage, "a"), "weigh_f32");
    assert_int_equal(count_kind(&stage->stage, TN_STEP_REFORMAT), 0);
    const tn_lower_note_item *note = &stage->notes.nodes[step_of(&stage->stage, "a")->node];
    assert_int_equal(note->reason, TN_LOWER_SLOWER);
    assert_true(note->is_measured);
    assert_true(note->lower_ns > 300000 && note->chosen_ns >= 20000 && note->chosen_ns < 21000);
    end_stage(stage);
}

static void test_a_second_type_is_taken_where_it_is_faster(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_x(graph), a = add_weigh(graph, "a", x), b = add_weigh(graph, "b", a);
    add_output(graph, b);
    quantized_stage *stage = new_stage();
    stage->scales[x] = stage->scales[a] = stage->scales[b] = 1;
    quantized_float_ns = 300000;
    quantized_byte_ns = 20000; /* kernels of 16 bits take next to nothing */
    tn_lower_options options = {.precision = TN_PRECISION_I8};
    lower_in(stage, graph, options);
    assert_string_equal(kernel_of(&stage->stage, "a"), "weigh_i8");
    stage_end(&stage->stage);
    options.second_precision = TN_PRECISION_F16;
    lower_in(stage, graph, options);
    assert_string_equal(kernel_of(&stage->stage, "a"), "weigh_f16");
    assert_string_equal(kernel_of(&stage->stage, "b"), "weigh_f16");
    assert_stored(output_of(stage, "a"), TN_F16, 0);
    assert_int_equal(stage->notes.type, TN_I8);
    stage_end(&stage->stage);
    options.second_precision = TN_PRECISION_BF16;
    stage->is_kept[graph->tensors[b].producer] = true;
    lower_in(stage, graph, options);
    assert_stored(output_of(stage, "a"), TN_BF16, 0);
    assert_string_equal(kernel_of(&stage->stage, "b"), "weigh_f32");
    end_stage(stage);
}

static void test_by_rule_8_bits_win_where_there_is_work(void **state) {
    const int64_t extents[] = {1, 32, 64, 64};
    tn_graph *graph = ((graph_test *)*state)->graph;
    quantized_stage *stage = new_stage();
    tn_tensor_id last = add_input(graph, "x", TN_F32, 4, extents);
    stage->scales[last] = 1;
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        last = add_wide_weigh(graph, name, last, 32);
        stage->scales[last] = 1;
    }
    add_output(graph, last);
    lower_in(stage, graph, PRECISION(TN_PRECISION_I8));
    assert_string_equal(kernel_of(&stage->stage, "a3"), "weigh_i8");
    assert_true(count_kind(&stage->stage, TN_STEP_REFORMAT) <= 2);
    end_stage(stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        QUANTIZED_TEST(test_full_precision_stores_nothing_in_less),
        QUANTIZED_TEST(test_conversions_stand_at_the_ends_of_what_is_in_8_bits),
        QUANTIZED_TEST(test_one_conversion_serves_all_readers),
        QUANTIZED_TEST(test_halves_need_no_scale_and_a_star_never_gets_them),
        QUANTIZED_TEST(test_the_maker_decides_the_scale_of_what_is_selected),
        QUANTIZED_TEST(test_of_several_makers_the_largest_scale_wins),
        QUANTIZED_TEST(test_scales_that_are_no_numbers_are_none),
        QUANTIZED_TEST(test_a_chain_is_stored_with_the_scale_of_its_last_tensor),
        QUANTIZED_TEST(test_the_notes_name_the_tensor_without_a_scale),
        QUANTIZED_TEST(test_kept_nodes_stay_in_floats_alone_and_in_chains),
        QUANTIZED_TEST(test_the_measured_time_decides),
        QUANTIZED_TEST(test_a_second_type_is_taken_where_it_is_faster),
        QUANTIZED_TEST(test_by_rule_8_bits_win_where_there_is_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
