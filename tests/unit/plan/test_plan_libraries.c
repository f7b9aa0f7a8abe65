/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan where libraries differ from those that it was built with: missing, of other content,
 * older, newer, with other fields and other states.
 */
#include "plan_test.h"

/* A plan of two Scale nodes and an Opaque one, made under state version 1. */
typedef struct moved_plan {
    plan_bytes bytes;
    tn_runtime *runtime; /* where it is read */
    tn_plan_contents contents;
    tn_status status;
} moved_plan;

/* Reads it in a runtime of its own with `entry`'s library (null: none). */
static void move(moved_plan *moved, const plan_test *test, tn_library_entry entry,
                 const tn_plan_read_options *options) {
    moved->runtime = plan_runtime(&test->allocator.functions, entry);
    moved->status = plan_read_with(moved->runtime, moved->bytes.data, moved->bytes.bytes, options,
                                   &moved->contents);
}

static void move_end(moved_plan *moved) {
    tn_plan_contents_deinit(&moved->contents);
    tn_runtime_release(moved->runtime);
    free(moved->bytes.data);
}

static void assert_read(const moved_plan *moved) {
    if (moved->status != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static void assert_not_read(const moved_plan *moved, tn_status status, const char *part) {
    if (moved->status == TN_OK) fail_msg("the plan was read; expected '%s'", part);
    assert_error(part, "test.plan");
    assert_int_equal(moved->status, status);
}

/* --- libraries --- */

static void test_missing_linked_library_is_named(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_of_small_graph(test->runtime, 0.5f), NULL, {0}, TN_OK};
    move(&moved, test, NULL, NULL);
    assert_not_read(&moved, TN_ERROR_NOT_FOUND,
                    "operator plan::Scale version 1 needs library 'plan_layers', which was linked "
                    "into the program");
    move_end(&moved);
}

static void name_a_file(Tenon__Plan__Plan *plan) {
    plan->libraries[0]->file_name = "libplan_layers.so";
    plan->libraries[0]->hash = 0x1234;
}

static void test_missing_library_file_is_named_with_its_content(void **state) {
    plan_test *test = *state;
    moved_plan moved = {
        plan_edit(plan_of_small_graph(test->runtime, 0.5f), name_a_file), NULL, {0}, TN_OK};
    move(&moved, test, NULL, NULL);
    assert_not_read(&moved, TN_ERROR_NOT_FOUND, "libplan_layers.so, content 0000000000001234");
    assert_error("operator plan::Scale version 1", NULL);
    move_end(&moved);
}

static void test_other_content_loads_with_a_notice(void **state) {
    plan_test *test = *state;
    moved_plan moved = {
        plan_edit(plan_of_small_graph(test->runtime, 0.5f), name_a_file), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, NULL);
    assert_read(&moved);
    assert_non_null(strstr(plan_log, "the plan was built with 0000000000001234"));
    move_end(&moved);
}

static void test_exact_loading_refuses_other_content(void **state) {
    plan_test *test = *state;
    tn_plan_read_options exact = {.is_exact = true};
    moved_plan moved = {
        plan_edit(plan_of_small_graph(test->runtime, 0.5f), name_a_file), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, &exact);
    assert_not_read(&moved, TN_ERROR_NOT_FOUND, "exact loading refuses");
    move_end(&moved);
}

static void test_exact_loading_takes_the_same_library(void **state) {
    plan_test *test = *state;
    tn_plan_read_options exact = {.is_exact = true};
    moved_plan moved = {plan_of_small_graph(test->runtime, 0.5f), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, &exact);
    assert_read(&moved);
    move_end(&moved);
}

static void test_operator_that_the_library_lost_is_named(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_of_everything(test->runtime), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_half, NULL);
    assert_not_read(&moved, TN_ERROR_UNSUPPORTED, "Opaque");
    move_end(&moved);
}

static void blame_tiny(Tenon__Plan__Plan *plan) {
    plan->libraries[0]->name = "tiny"; /* is there, but does not have the operator */
}

static void test_operator_of_another_library_serves_with_a_notice(void **state) {
    plan_test *test = *state;
    moved_plan moved = {
        plan_edit(plan_of_small_graph(test->runtime, 0.5f), blame_tiny), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_other, NULL);
    assert_read(&moved);
    assert_non_null(strstr(plan_log, "operator plan::Scale is taken from library 'other_layers'"));
    move_end(&moved);
}

static void test_exact_loading_refuses_an_operator_of_another_library(void **state) {
    plan_test *test = *state;
    tn_plan_read_options exact = {.is_exact = true};
    moved_plan moved = {
        plan_edit(plan_of_small_graph(test->runtime, 0.5f), blame_tiny), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_other, &exact);
    assert_not_read(&moved, TN_ERROR_PLUGIN, "here it is of library 'other_layers'");
    move_end(&moved);
}

static void want_a_variant(Tenon__Plan__Plan *plan) {
    plan->operators[0]->variant = "foreign";
}

static void test_another_variant_is_refused(void **state) {
    plan_test *test = *state;
    moved_plan moved = {
        plan_edit(plan_of_small_graph(test->runtime, 0.5f), want_a_variant), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, NULL);
    assert_not_read(&moved, TN_ERROR_UNSUPPORTED, "in the variant 'foreign'");
    move_end(&moved);
}

/* --- kernels' libraries --- */

/* The small plan whose first node is done by the kernel of plan_kernels. */
static plan_bytes plan_with_kernel(const plan_test *test) {
    tn_arena *arena = NULL;
    tn_plan *plan = NULL;
    assert_int_equal(tn_runtime_register_library(test->runtime, plan_entry_kernels), TN_OK);
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_graph *graph = plan_small_graph(test->runtime, 1);
    tn_program *program = plan_program(graph, arena);
    const tn_program *programs[] = {program};
    program->steps[0].kernel = "quick";
    program->steps[0].library = "plan_kernels";
    assert_int_equal(tn_plan_write(graph, plan_profiles(graph, arena), 1, programs, &plan), TN_OK);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
    return plan_take(plan);
}

static void test_programs_name_their_kernels(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = {0};
    plan_bytes bytes = plan_with_kernel(test);
    assert_int_equal(plan_read(test->runtime, bytes.data, bytes.bytes, &contents), TN_OK);
    assert_int_equal(contents.program_count, 1);
    assert_string_equal(contents.programs[0]->steps[0].kernel, "quick");
    assert_string_equal(contents.programs[0]->steps[0].library, "plan_kernels");
    assert_int_equal(contents.library_count, 2);
    assert_string_equal(contents.libraries[1]->name, "plan_kernels");
    tn_plan_contents_deinit(&contents);
    free(bytes.data);
}

static void test_program_without_its_kernels_library_is_left_out(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_with_kernel(test), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, NULL);
    assert_read(&moved);
    assert_int_equal(moved.contents.program_count, 0);
    assert_int_equal(moved.contents.graph->node_count, 2);
    assert_non_null(strstr(plan_log, "kernels are chosen again"));
    assert_non_null(strstr(plan_log, "'plan_kernels'"));
    move_end(&moved);
}

static void test_exact_loading_refuses_to_go_without_a_kernels_library(void **state) {
    plan_test *test = *state;
    tn_plan_read_options exact = {.is_exact = true};
    moved_plan moved = {plan_with_kernel(test), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, &exact);
    assert_not_read(&moved, TN_ERROR_NOT_FOUND,
                    "a kernel of the plan needs library 'plan_kernels'");
    move_end(&moved);
}

static void move_away(Tenon__Plan__Plan *plan) {
    plan->programs[0]->fingerprint = "another machine";
}

static void test_libraries_of_other_machines_kernels_are_not_asked_for(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_edit(plan_with_kernel(test), move_away), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, NULL);
    assert_read(&moved);
    assert_int_equal(moved.contents.program_count, 1);
    assert_null(moved.contents.libraries[1]);
    assert_string_equal(plan_log, "");
    move_end(&moved);
}

static void test_library_that_went_during_the_build_is_named(void **state) {
    plan_test *test = *state;
    tn_arena *arena = NULL;
    tn_plan *plan = NULL;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_graph *graph = plan_small_graph(test->runtime, 1);
    tn_program *program = plan_program(graph, arena);
    const tn_program *programs[] = {program};
    program->steps[0].kernel = "quick";
    program->steps[0].library = "plan_kernels";
    assert_int_equal(tn_plan_write(graph, plan_profiles(graph, arena), 1, programs, &plan),
                     TN_ERROR_NOT_FOUND);
    assert_error("'plan_kernels', whose kernels were chosen, was unloaded", NULL);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
}

/* --- state versions --- */

static const plan_scale_2 *scale_params(const moved_plan *moved, size_t node) {
    return moved->contents.graph->nodes[node].params;
}

static void test_older_fields_are_upgraded(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_of_small_graph(test->runtime, 0.5f), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_2, NULL);
    assert_read(&moved);
    const plan_scale_2 *first = scale_params(&moved, 0), *second = scale_params(&moved, 1);
    assert_true(first->numerator == 5 && first->denominator == 10);
    assert_true(second->numerator == 20 && second->denominator == 10);
    assert_string_equal(first->label, "kept"); /* same name, same type */
    assert_null(second->label);
    assert_string_equal(second->count, "three"); /* same name, another type: the default */
    const tn_tensor *table = first->table;
    assert_true(table->data != plan_table_data); /* a copy of the upgrade's own */
    assert_memory_equal(table->data, plan_table_data, sizeof(plan_table_data));
    move_end(&moved);
}

static void test_upgraded_plan_is_written_with_the_new_version(void **state) {
    plan_test *test = *state;
    tn_plan *plan = NULL;
    moved_plan moved = {plan_of_small_graph(test->runtime, 0.5f), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_2, NULL);
    assert_read(&moved);
    tn_plan_contents *contents = &moved.contents, again = {0};
    assert_int_equal(tn_plan_write(contents->graph, contents->profiles, contents->program_count,
                                   contents->programs, &plan),
                     TN_OK);
    plan_bytes bytes = plan_take(plan);
    assert_int_equal(plan_read(moved.runtime, bytes.data, bytes.bytes, &again), TN_OK);
    const plan_scale_2 *first = again.graph->nodes[0].params;
    assert_true(first->numerator == 5 && first->denominator == 10);
    assert_memory_equal(first->table->data, plan_table_data, sizeof(plan_table_data));
    tn_plan_contents_deinit(&again);
    free(bytes.data);
    move_end(&moved);
}

static void test_upgrade_that_fails_gives_its_reason(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_of_small_graph(test->runtime, -1), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_2, NULL);
    assert_not_read(&moved, TN_ERROR_FORMAT, "the factor was negative");
    assert_error("", "node 'first': operator plan::Scale");
    move_end(&moved);
}

static void test_older_fields_without_upgrade_are_refused(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_of_small_graph(test->runtime, 0.5f), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_stubborn, NULL);
    assert_not_read(&moved, TN_ERROR_UNSUPPORTED,
                    "fields of operator Scale in state version 1; library 'plan_layers' (version "
                    "1) has state version 2 and no upgrade");
    assert_error("", "node 'first'");
    move_end(&moved);
}

static void come_from_the_future(Tenon__Plan__Plan *plan) {
    plan->operators[0]->state_version = 7;
}

static void test_newer_fields_are_refused(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_edit(plan_of_small_graph(test->runtime, 0.5f), come_from_the_future),
                        NULL,
                        {0},
                        TN_OK};
    move(&moved, test, plan_entry_2, NULL);
    assert_not_read(&moved, TN_ERROR_UNSUPPORTED,
                    "in state version 7; library 'plan_layers' (version 1) has state version 2, "
                    "does not have the field 'factor': load a newer library");
    move_end(&moved);
}

static void test_field_that_the_library_lost_is_named(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_of_small_graph(test->runtime, 0.5f), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_mistaken, NULL);
    assert_not_read(&moved, TN_ERROR_FORMAT, "operator Scale has no field 'label'");
    assert_error("", "node 'first'");
    move_end(&moved);
}

/* --- opaque state --- */

static void test_state_that_nobody_can_load_is_refused(void **state) {
    plan_test *test = *state;
    moved_plan moved = {plan_of_everything(test->runtime), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_plain, NULL);
    assert_not_read(&moved, TN_ERROR_UNSUPPORTED,
                    "the plan has saved state of operator Opaque, and library 'plan_layers' cannot "
                    "load it");
    assert_error("", "node 'opaque'");
    move_end(&moved);
}

static void forget_state(Tenon__Plan__Plan *plan) {
    for (size_t i = 0; i < plan->n_nodes; i++)
        plan->nodes[i]->has_state = false;
}

static void test_state_that_is_not_there_is_refused(void **state) {
    plan_test *test = *state;
    moved_plan moved = {
        plan_edit(plan_of_everything(test->runtime), forget_state), NULL, {0}, TN_OK};
    move(&moved, test, plan_entry_1, NULL);
    assert_not_read(&moved, TN_ERROR_UNSUPPORTED,
                    "the plan has no saved state of operator Opaque, and library 'plan_layers' "
                    "needs it");
    move_end(&moved);
}

static void write_badly(const plan_test *test, int mode, tn_status status, const char *part) {
    tn_arena *arena = NULL;
    tn_plan *plan = NULL;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_graph *graph = plan_graph(test->runtime);
    plan_opaque_mode = mode;
    assert_int_equal(plan_try_write(graph, arena, &plan), status);
    plan_opaque_mode = PLAN_SOUND;
    assert_error(part, NULL);
    assert_null(plan);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
}

static void test_operators_that_save_badly_are_named(void **state) {
    write_badly(*state, PLAN_SAVE_FAILS, TN_ERROR_UNSUPPORTED, "the secret is not to be told");
    assert_error("", "node 'opaque': operator plan::Opaque");
    write_badly(*state, PLAN_SAVE_GROWS, TN_ERROR_PLUGIN,
                "save wrote 14 bytes of state; 13 are possible");
    assert_error("", "node 'opaque': operator plan::Opaque");
    write_badly(*state, PLAN_SAVE_HUGE, TN_ERROR_PLUGIN, "save asks for");
    assert_error("", "node 'opaque': operator plan::Opaque");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_missing_linked_library_is_named),
        PLAN_TEST(test_missing_library_file_is_named_with_its_content),
        PLAN_TEST(test_other_content_loads_with_a_notice),
        PLAN_TEST(test_exact_loading_refuses_other_content),
        PLAN_TEST(test_exact_loading_takes_the_same_library),
        PLAN_TEST(test_operator_that_the_library_lost_is_named),
        PLAN_TEST(test_operator_of_another_library_serves_with_a_notice),
        PLAN_TEST(test_exact_loading_refuses_an_operator_of_another_library),
        PLAN_TEST(test_another_variant_is_refused),
        PLAN_TEST(test_programs_name_their_kernels),
        PLAN_TEST(test_program_without_its_kernels_library_is_left_out),
        PLAN_TEST(test_exact_loading_refuses_to_go_without_a_kernels_library),
        PLAN_TEST(test_libraries_of_other_machines_kernels_are_not_asked_for),
        PLAN_TEST(test_library_that_went_during_the_build_is_named),
        PLAN_TEST(test_older_fields_are_upgraded),
        PLAN_TEST(test_upgraded_plan_is_written_with_the_new_version),
        PLAN_TEST(test_upgrade_that_fails_gives_its_reason),
        PLAN_TEST(test_older_fields_without_upgrade_are_refused),
        PLAN_TEST(test_newer_fields_are_refused),
        PLAN_TEST(test_field_that_the_library_lost_is_named),
        PLAN_TEST(test_state_that_nobody_can_load_is_refused),
        PLAN_TEST(test_state_that_is_not_there_is_refused),
        PLAN_TEST(test_operators_that_save_badly_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
