/* SPDX-License-Identifier: Apache-2.0 */
/* What tn_plan_inspect says, without the libraries that the plan needs. */
#include "plan_test.h"

#include <stdio.h>
#include <unistd.h>

static const char path[] = "test-plan-inspect.plan";

static void save(plan_bytes bytes) {
    assert_int_equal(tn_file_write(tn_allocator_default(), path, bytes.data, bytes.bytes), TN_OK);
    free(bytes.data);
}

/* In a runtime that has none of the plan's libraries. */
static void assert_shown(const plan_test *test, const char *const *parts, size_t count) {
    tn_runtime *bare = NULL;
    tn_runtime_options options = {.size = sizeof(options),
                                  .allocator = &test->allocator.functions,
                                  .flags = TN_RUNTIME_NO_ENVIRONMENT};
    char *json = NULL;
    assert_int_equal(tn_runtime_create(&options, &bare), TN_OK);
    assert_int_equal(tn_plan_inspect(bare, path, &json), TN_OK);
    for (size_t i = 0; i < count; i++)
        if (!strstr(json, parts[i])) fail_msg("%s is not in %s", parts[i], json);
    /* brackets outside texts are balanced */
    int depth = 0;
    bool is_text = false;
    for (const char *at = json; *at; at++) {
        if (*at == '"' && (at == json || at[-1] != '\\')) is_text = !is_text;
        if (is_text) continue;
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
    tn_text_free(bare, json);
    tn_runtime_release(bare);
}

static void test_inspection_shows_everything_without_libraries(void **state) {
    plan_test *test = *state;
    static const char *const parts[] = {
        "\"graph\": \"everything\"",
        "\"format_version\": 1",
        "\"model\": {\"source_format\": \"onnx\", \"producer_name\": \"trainer\", "
        "\"producer_version\": \"2.9\", \"domain\": \"com.example\", \"version\": 12, "
        "\"doc\": \"a network with one of everything\", \"opsets\": [{\"domain\": \"plan\", "
        "\"version\": 1}], \"metadata\": [",
        "{\"key\": \"task\", \"value\": \"classify\"}",
        "{\"name\": \"plan_layers\", \"version\": \"1\", \"file\": null, \"hash\": "
        "\"0000000000000000\", \"linked_in\": true}",
        "{\"domain\": \"plan\", \"name\": \"Scale\", \"version\": 1, \"state_version\": 1, "
        "\"library\": \"plan_layers\"}",
        "{\"name\": \"image\", \"type\": \"f32\", \"shape\": [-1, 3, 8], \"extent_names\": "
        "[\"batch\", \"\", \"\"], \"free\": false, \"min\": [1, 3, 8], \"opt\": [2, 3, 8], "
        "\"max\": [4, 3, 8]}",
        "{\"name\": \"any\", \"type\": \"f16\", \"shape\": null",
        "{\"name\": \"joined again\", \"tensor\": ",
        "{\"name\": \"weight\", \"type\": \"i8\", \"shape\": [3], \"bytes\": 3}",
        "{\"name\": \"fields\", \"op\": \"Fields\", \"domain\": \"tiny\", \"version\": 1, "
        "\"inputs\": [\"any\", null, \"mask\"]",
        "\"fields\": {\"number\": -42, \"factor\": 0.25, \"text\": \"some text\", \"to\": \"f16\", "
        "\"mode\": \"fast\", \"list\": [-1, 0, 9223372036854775807], \"factors\": [1.5, -0], "
        "\"names\": [\"one\", \"\", \"three\"], \"blob\": \"4 bytes\", \"table\": {\"type\": "
        "\"i64\", \"shape\": [2, 2], \"bytes\": 32}}",
        "\"fields\": {\"seed\": 77}, \"state_bytes\": 13}",
        "\"threads\": 3, \"fits\": true, \"steps\": [",
        "{\"name\": \"scale\", \"kind\": \"kernel\", \"kernel\": \"reference\", \"library\": null, "
        "\"tactic\": 0, \"in_place\": false, \"ns\": ",
        "{\"name\": \"reshape\", \"kind\": \"view\"",
        "{\"tensor\": \"mask\", \"type\": \"bool\", \"format\": \"linear\", \"shape\": [3, 4]}",
        "\"op\": \"Scale\", \"absorbed_ops\": []}",
        "\"memory\": {\"workspaces\": false, \"arenas\": [{\"space\": \"host\", \"bytes\": 112, "
        "\"buffers\": [",
        "{\"tensor\": \"mask\", \"offset\": 64, \"bytes\": 48, \"first\": 1, \"last\": 2}"};
    save(plan_of_everything(test->runtime));
    assert_shown(test, parts, TN_COUNT(parts));
    unlink(path);
}

static void make_nonsense(Tenon__Plan__Plan *plan) {
    plan->name = "quote \" backslash \\ newline \n bell \a not UTF-8 \xff";
    plan->inputs[0] = 1 << 30;
    plan->outputs[0]->tensor = 1 << 30;
    plan->nodes[0]->operator_index = 99;
    plan->nodes[1]->inputs[0] = UINT32_MAX;
    plan->nodes[1]->attributes[0]->f = 1.0 / 0.0;
    plan->nodes[0]->attributes[9]->tensor = NULL;
    plan->operators[0]->library = 99;
    plan->profiles[1]->optimum = NULL;
    plan->programs[0]->values[0]->tensor = 1 << 30;
    plan->programs[0]->values[1]->format = 99;
    plan->programs[0]->values[1]->type = 99;
    plan->programs[0]->steps[0]->kind = 99;
    plan->programs[0]->steps[0]->node = 99;
    plan->programs[0]->steps[1]->inputs[0] = UINT32_MAX;
}

static void test_inspection_shows_nonsense_as_null(void **state) {
    plan_test *test = *state;
    static const char *const parts[] = {
        "quote \\\" backslash \\\\ newline \\u000a bell \\u0007 not UTF-8 \\ufffd\"",
        ("{\"name\": \"result\", \"tensor\": null, \"type\": null, \"shape\": null, "
         "\"extent_names\": []}"),
        "\"inputs\": [null], \"outputs\"",
        "\"fields\": {\"factor\": null",
        "\"table\": null",
        "\"library\": null}",
        "\"opt\": null",
        "\"format\": \"unknown\"",
        "{\"name\": null, \"kind\": \"unknown\""};
    save(plan_edit(plan_of_everything(test->runtime), make_nonsense));
    assert_shown(test, parts, TN_COUNT(parts));
    unlink(path);
}

static void test_inspection_cuts_long_lists(void **state) {
    plan_test *test = *state;
    tn_graph *graph = NULL;
    int64_t items[20] = {0};
    static const char *const parts[] = {"0, 0, \"20 in all\"]"};
    assert_int_equal(tn_graph_create(test->runtime, "long", &graph), TN_OK);
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id y =
        plan_add_node(graph, "tiny", "Fields", "fields", 1, &x, 1,
                      ATTRIBUTES(ATTRIBUTE("list", TN_FIELD_I64S, .count = 20, .items = items)));
    assert_int_equal(tn_graph_add_output(graph, y, "y"), TN_OK);
    save(plan_take(plan_write(graph)));
    tn_graph_destroy(graph);
    assert_shown(test, parts, TN_COUNT(parts));
    unlink(path);
}

static void test_inspection_refuses_what_is_no_plan(void **state) {
    plan_test *test = *state;
    char *json = NULL;
    plan_bytes bytes = plan_of_everything(test->runtime);
    assert_int_equal(tn_plan_inspect(test->runtime, "no-such-file.plan", &json),
                     TN_ERROR_NOT_FOUND);
    bytes.data[200] ^= 1;
    assert_int_equal(tn_file_write(tn_allocator_default(), path, bytes.data, bytes.bytes), TN_OK);
    assert_int_equal(tn_plan_inspect(test->runtime, path, &json), TN_ERROR_FORMAT);
    assert_error("does not have its checksum", path);
    bytes.bytes = 100;
    save(bytes);
    assert_int_equal(tn_plan_inspect(test->runtime, path, &json), TN_ERROR_FORMAT);
    assert_error("the plan is cut off: it has 100 bytes", path);
    assert_int_equal(tn_plan_inspect(test->runtime, ".", &json), TN_ERROR_IO);
    assert_int_equal(tn_plan_inspect(test->runtime, NULL, &json), TN_ERROR_ARGUMENT);
    assert_null(json);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_inspection_shows_everything_without_libraries),
        PLAN_TEST(test_inspection_shows_nonsense_as_null),
        PLAN_TEST(test_inspection_cuts_long_lists),
        PLAN_TEST(test_inspection_refuses_what_is_no_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
