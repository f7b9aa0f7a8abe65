/* SPDX-License-Identifier: Apache-2.0 */
/* What tn_plan_describe says in structs, without the libraries that the plan needs. */
#include "plan_test.h"

#include <stdio.h>
#include <unistd.h>

/* In a runtime that has none of the plan's libraries. */
static tn_runtime *bare_runtime(plan_test *test) {
    tn_runtime *bare = NULL;
    tn_runtime_options options = {.size = sizeof(options),
                                  .allocator = &test->allocator.functions,
                                  .flags = TN_RUNTIME_NO_ENVIRONMENT};
    assert_int_equal(tn_runtime_create(&options, &bare), TN_OK);
    return bare;
}

static const tn_described_step *find_step(const tn_described_program *program, const char *name) {
    for (uint32_t s = 0; s < program->step_count; s++)
        if (program->steps[s]->node && strcmp(program->steps[s]->node, name) == 0)
            return program->steps[s];
    fail_msg("there is no step '%s'", name);
    return NULL;
}

static void assert_everything(const tn_plan_description *description) {
    assert_int_equal(description->size, sizeof(*description));
    assert_string_equal(description->producer, tn_version());
    assert_string_equal(description->model->graph_name, "everything");
    assert_string_equal(description->model->producer_name, "trainer");
    assert_string_equal(tn_model_info_find(description->model, "task"), "classify");
    assert_int_equal(description->input_count, 3);
    assert_string_equal(description->inputs[0]->name, "image");
    assert_int_equal(description->inputs[0]->rank, 3);
    assert_int_equal(description->inputs[0]->extents[0], -1);
    assert_string_equal(description->inputs[0]->names[0], "batch");
    assert_null(description->inputs[0]->names[1]);
    assert_int_equal(description->profiles[0]->maximum[0], 4);
    assert_int_equal(description->inputs[1]->is_value, 1);
    assert_int_equal(((const int64_t *)description->profiles[1]->optimum_value)[0], 2);
    assert_int_equal(description->inputs[2]->rank, UINT32_MAX);
    assert_null(description->profiles[2]);
    assert_int_equal(description->output_count, 5);
    assert_string_equal(description->outputs[3]->name, "joined again");
    assert_true(description->constant_bytes > 0);
    assert_int_equal(description->library_count, 2);
    assert_int_equal(description->libraries[0]->is_linked_in, 1);
    assert_null(description->libraries[0]->file);
    assert_int_equal(description->node_count, 6);
    assert_string_equal(description->nodes[1]->op, "Scale");
    assert_string_equal(description->nodes[1]->library, "plan_layers");
    assert_int_equal(description->program_count, 1);
    const tn_described_program *program = description->programs[0];
    assert_int_equal(program->threads, 3);
    assert_int_equal(program->fits, 1);
    assert_string_equal(program->device, "cpu");
    assert_int_equal(program->step_count, 6);
    assert_int_equal(program->host_bytes, 112);
    assert_int_equal(program->device_bytes, 0);
    const tn_described_step *scale = find_step(program, "scale");
    assert_int_equal(scale->kind, TN_DESCRIBED_KERNEL);
    assert_null(scale->kernel);
    assert_string_equal(scale->domain, "plan");
    assert_string_equal(scale->combination, "f32 -> none");
    assert_true(scale->ns == 1000.0);
    assert_int_equal(find_step(program, "reshape")->kind, TN_DESCRIBED_VIEW);
    const tn_described_step *fields = find_step(program, "fields");
    assert_int_equal(fields->inputs[1], TN_NO_VALUE);
    assert_string_equal(fields->combination, "f16, -, bool -> none, -");
    const tn_described_value *value = program->values[fields->inputs[2]];
    assert_string_equal(value->tensor, "mask");
    assert_int_equal(value->rank, 2);
    assert_int_equal(value->extents[1], 4);
    assert_int_equal(value->is_planned, 1);
    assert_int_equal(value->last_step, 2);
}

static void test_a_plan_is_described_without_libraries(void **state) {
    plan_test *test = *state;
    static const char path[] = "test-plan-describe.plan";
    tn_runtime *bare = bare_runtime(test);
    const tn_plan_description *from_bytes = NULL, *from_file = NULL;
    plan_bytes bytes = plan_of_everything(test->runtime);
    assert_int_equal(tn_file_write(tn_allocator_default(), path, bytes.data, bytes.bytes), TN_OK);
    assert_int_equal(tn_plan_describe_bytes(bare, bytes.data, bytes.bytes, &from_bytes), TN_OK);
    free(bytes.data);
    assert_int_equal(tn_plan_describe_file(bare, path, &from_file), TN_OK);
    unlink(path);
    assert_everything(from_bytes);
    assert_everything(from_file);
    assert_int_equal(from_bytes->file_bytes, bytes.bytes);
    tn_plan_description_destroy(from_bytes);
    tn_plan_description_destroy(from_file);
    tn_runtime_release(bare);
}

static void test_a_plan_that_was_built_is_described(void **state) {
    plan_test *test = *state;
    const tn_plan_description *description = NULL;
    tn_graph *graph = plan_graph(test->runtime);
    tn_plan *plan = plan_write(graph);
    tn_graph_destroy(graph);
    assert_int_equal(tn_plan_describe(plan, &description), TN_OK);
    tn_plan_destroy(plan);
    assert_everything(description);
    tn_plan_description_destroy(description);
    tn_plan_description_destroy(NULL);
}

static void make_nonsense(Tenon__Plan__Plan *plan) {
    plan->inputs[0] = 1 << 30;
    plan->profiles[1]->optimum = NULL;
    plan->nodes[0]->operator_index = 99;
    plan->operators[0]->library = 99;
    plan->programs[0]->values[0]->tensor = 1 << 30;
    plan->programs[0]->values[1]->format = 99;
    plan->programs[0]->values[1]->type = 99;
    plan->programs[0]->values[1]->note->offset = UINT64_MAX;
    plan->programs[0]->steps[0]->kind = 99;
    plan->programs[0]->steps[0]->node = 99;
    plan->programs[0]->steps[1]->inputs[0] = UINT32_MAX;
    plan->model->metadata[1]->key = "task";
}

static void test_nonsense_is_absent(void **state) {
    plan_test *test = *state;
    const tn_plan_description *description = NULL;
    plan_bytes bytes = plan_edit(plan_of_everything(test->runtime), make_nonsense);
    assert_int_equal(tn_plan_describe_bytes(test->runtime, bytes.data, bytes.bytes, &description),
                     TN_OK);
    free(bytes.data);
    assert_int_equal(description->input_count, 2);
    assert_null(description->profiles[0]);
    assert_string_equal(description->nodes[0]->op, "");
    assert_null(description->nodes[0]->library);
    const tn_described_program *program = description->programs[0];
    assert_null(program->values[0]->tensor);
    assert_int_equal(program->values[1]->is_planned, 0);
    assert_int_equal(program->steps[0]->kind, 0);
    assert_null(program->steps[0]->node);
    assert_null(program->steps[0]->op);
    assert_int_equal(program->steps[1]->inputs[0], TN_NO_VALUE);
    tn_plan_description_destroy(description);
}

static void test_what_is_no_plan_is_refused(void **state) {
    plan_test *test = *state;
    const tn_plan_description *description = NULL;
    assert_int_equal(tn_plan_describe_bytes(test->runtime, "nonsense", 8, &description),
                     TN_ERROR_FORMAT);
    assert_int_equal(tn_plan_describe_file(test->runtime, "no/such.plan", &description),
                     TN_ERROR_NOT_FOUND);
    assert_error("no/such.plan", NULL);
    assert_int_equal(tn_plan_describe_bytes(NULL, "x", 1, &description), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_plan_describe(NULL, &description), TN_ERROR_ARGUMENT);
    assert_null(description);
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    plan_test *test = *state;
    const tn_plan_description *description = NULL;
    plan_bytes bytes = plan_of_everything(test->runtime);
    const int64_t live = test->allocator.live;
    for (uint64_t n = 1;; n++) {
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        const tn_status status =
            tn_plan_describe_bytes(test->runtime, bytes.data, bytes.bytes, &description);
        test->allocator.fail_at = 0;
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
        assert_null(description);
        assert_int_equal(test->allocator.live, live);
    }
    tn_plan_description_destroy(description);
    assert_int_equal(test->allocator.live, live);
    free(bytes.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_a_plan_is_described_without_libraries),
        PLAN_TEST(test_a_plan_that_was_built_is_described),
        PLAN_TEST(test_nonsense_is_absent),
        PLAN_TEST(test_what_is_no_plan_is_refused),
        PLAN_TEST(test_each_failing_allocation_is_an_error_without_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
