/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a program that came from a third party: every damaged number is found. */
#include "build_test.h"

/* Two fused steps, a view, a conversion on both sides of a blocked kernel. */
static void lower_example(build_stage *stage, tn_graph *graph) {
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, 20, 3, 3));
    tn_tensor_id w = add_floats(graph, "w", 1, EXTENTS(20));
    tn_tensor_id mixed = add_node(graph, "Mix", "mix", 2, TENSORS(x, w));
    tn_tensor_id sum = add_node(graph, "Plus", "sum", 2, TENSORS(mixed, x));
    tn_tensor_id blocked = add_unary(graph, "Only16", "blocked", sum);
    tn_tensor_id shape = add_i64s(graph, "shape", 2, (const int64_t[]){20, 9});
    tn_tensor_id scaled = add_unary(graph, "Scale", "scale", blocked);
    tn_tensor_id again = add_unary(graph, "Scale", "again", scaled);
    add_output(graph, add_node(graph, "Reshape", "flat", 2, TENSORS(again, shape)));
    lower_or_fail(stage, graph, (tn_lower_options){.no_timing = true, .forced = "Mix=mix_fused"});
}

static void test_a_lowered_program_is_sound(void **state) {
    graph_test *test = *state;
    build_stage stage;
    lower_example(&stage, test->graph);
    assert_int_equal(tn_program_check(&stage.program, test->graph), TN_OK);
    assert_int_equal(step_of(&stage, "mix")->absorbed_count, 1);
    stage_end(&stage);
}

static void assert_refused(build_stage *stage) {
    assert_int_equal(tn_program_check(&stage->program, stage->graph), TN_ERROR_FORMAT);
}

/* Every 32-bit number of every step, set to other values, is refused or makes no difference that
 * could hurt: the check must at least not read beyond its arrays (sanitizers see that). */
static void test_wrong_numbers_are_refused(void **state) {
    graph_test *test = *state;
    build_stage stage;
    lower_example(&stage, test->graph);
    tn_program *program = &stage.program;
    static const uint32_t wrong[] = {1000000, UINT32_MAX - 1};
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_program_step *step = &program->steps[s];
        uint32_t *values[] = {&step->kind,         &step->node,          &step->input_count,
                              &step->output_count, &step->operand_count, &step->absorbed_count};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            if (values[i] == &step->node && step->kind == TN_STEP_REFORMAT) continue;
            for (size_t k = 0; k < 2; k++) {
                uint32_t right = *values[i];
                *values[i] = wrong[k];
                assert_refused(&stage);
                *values[i] = right;
            }
        }
        for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
            uint32_t *value =
                i < step->input_count ? &step->inputs[i] : &step->outputs[i - step->input_count];
            for (uint32_t v = 0; v <= program->value_count; v++) {
                uint32_t right = *value;
                if (v == right) continue;
                *value = v == program->value_count ? UINT32_MAX : v;
                tn_status status = tn_program_check(program, test->graph);
                /* another format of the same tensor may be read as well */
                if (i >= step->input_count || v == program->value_count ||
                    program->values[v].tensor != program->values[right].tensor)
                    assert_int_equal(status, TN_ERROR_FORMAT);
                *value = right;
            }
        }
    }
    stage_end(&stage);
}

static void test_values_that_are_not_there_are_refused(void **state) {
    graph_test *test = *state;
    build_stage stage;
    lower_example(&stage, test->graph);
    for (uint32_t v = 0; v < stage.program.value_count; v++) {
        tn_program_value *value = &stage.program.values[v], right = *value;
        value->tensor = (tn_tensor_id)test->graph->tensor_count;
        assert_refused(&stage);
        *value = right;
        value->format = 0xffffffff;
        assert_refused(&stage);
        *value = right;
        value->type = 77;
        assert_refused(&stage);
        *value = right;
    }
    uint32_t right = stage.program.output_values[0];
    stage.program.output_values[0] = 1000;
    assert_refused(&stage);
    stage.program.output_values[0] = right;
    right = stage.program.input_values[0];
    stage.program.input_values[0] = UINT32_MAX;
    assert_refused(&stage);
    stage.program.input_values[0] = right;
    stage_end(&stage);
}

static void test_missing_repeated_and_swapped_steps_are_refused(void **state) {
    graph_test *test = *state;
    build_stage stage;
    lower_example(&stage, test->graph);
    tn_program *program = &stage.program;
    uint32_t count = program->step_count;
    program->step_count--;
    assert_refused(&stage);
    program->step_count = count;
    for (uint32_t s = 0; s + 1 < count; s++) {
        tn_program_step kept = program->steps[s];
        program->steps[s] = program->steps[s + 1];
        assert_refused(&stage); /* one is missing, one is there twice */
        program->steps[s + 1] = kept;
        assert_refused(&stage); /* each needs what the one before makes */
        program->steps[s + 1] = program->steps[s];
        program->steps[s] = kept;
    }
    assert_int_equal(tn_program_check(program, test->graph), TN_OK);
    stage_end(&stage);
}

static void test_overwriting_what_is_needed_is_refused(void **state) {
    graph_test *test = *state;
    build_stage stage;
    lower_example(&stage, test->graph);
    for (uint32_t s = 0; s < stage.program.step_count; s++) {
        tn_program_step *step = &stage.program.steps[s];
        bool was = step->is_in_place;
        bool is_sound = step->kind == TN_STEP_KERNEL && step != step_of(&stage, "mix");
        step->is_in_place = true;
        assert_int_equal(tn_program_check(&stage.program, test->graph),
                         is_sound ? TN_OK : TN_ERROR_FORMAT);
        if (step->output_count > 0) { /* what it would lie on is no value at all */
            const uint32_t kept = step->outputs[0];
            step->outputs[0] = UINT32_MAX - 1;
            assert_refused(&stage);
            step->outputs[0] = kept;
        }
        step->is_in_place = was;
    }
    stage_end(&stage);
}

/* Memory of a device is for programs of a device, for its kernels, and for constants and copies. */
static void test_values_in_the_wrong_memory_are_refused(void **state) {
    graph_test *test = *state;
    build_stage stage;
    lower_example(&stage, test->graph);
    tn_program *program = &stage.program;
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        program->device = is_remote ? "other" : "cpu";
        for (uint32_t v = 0; v < program->value_count; v++) {
            program->values[v].space = TN_SPACE_DEVICE;
            if (!is_remote || v == program->input_values[0] || v == program->output_values[0])
                assert_refused(&stage);
            program->values[v].space = 2;
            assert_refused(&stage);
            program->values[v].space = TN_SPACE_HOST;
        }
        for (uint32_t s = 0; s < program->step_count; s++) {
            program->steps[s].is_device = true;
            if (!is_remote) assert_refused(&stage);
            program->steps[s].is_device = false;
        }
        assert_int_equal(tn_program_check(program, test->graph), TN_OK);
    }
    stage_end(&stage);
}

static void test_a_chain_that_is_none_is_an_error(void **state) {
    graph_test *test = *state;
    build_stage stage;
    lower_example(&stage, test->graph);
    const tn_tensor *tensors[64];
    tn_chain found;
    uint32_t chain[1];
    for (size_t t = 0; t < test->graph->tensor_count; t++)
        tensors[t] = &stage.shapes.points[1]->tensors[t].storage.tensor;
    tn_program_step step = *step_of(&stage, "mix");
    chain[0] = step_of(&stage, "flat")->node;
    step.absorbed = chain;
    const tn_kernel_entry *entry =
        tn_registry_find_kernel(tn_runtime_registry(test->graph->runtime),
                                test->graph->nodes[step.node].entry->op, "cpu", "mix_fused", NULL);
    assert_non_null(entry);
    assert_int_equal(
        tn_program_chain(&stage.program, &step, test->graph, entry, tensors, stage.arena, &found),
        TN_ERROR_FORMAT);
    tn_library_release(entry->library);
    assert_error("flat", NULL);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_a_lowered_program_is_sound),
        BUILD_TEST(test_wrong_numbers_are_refused),
        BUILD_TEST(test_values_that_are_not_there_are_refused),
        BUILD_TEST(test_missing_repeated_and_swapped_steps_are_refused),
        BUILD_TEST(test_overwriting_what_is_needed_is_refused),
        BUILD_TEST(test_values_in_the_wrong_memory_are_refused),
        BUILD_TEST(test_a_chain_that_is_none_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
