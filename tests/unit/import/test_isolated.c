/* SPDX-License-Identifier: Apache-2.0 */
/* Reading in a helper process: the same graph as without, what becomes of a helper or a reader that
 * does its worst (tests/isolated_reader), records that are damaged, and memory that is short. */
#include "unit/import/isolated_parcel.h"
#include "onnx_test.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define HELPER  "../bin/tenon-isolate"
#define READERS "isolated_reader"
#define BODIES  "bodies/libtenon_bodies.so" /* has If */

static const tn_import_options isolated = {.size = sizeof(isolated),
                                           .format = "onnx",
                                           .flags = TN_IMPORT_ISOLATED,
                                           .isolation_helper = HELPER};

/* ----------------------------------------------------------------------------------------------
 * models */

/* A constant, one in a file beside it (named where there is one), a body that captures, and a
 * tensor in an attribute. */
static onnx_part rich_model(const char *location) {
    static const float values[] = {1, 2, 3};
    onnx_part graph = onnx_graph("rich"), then = onnx_graph("then"), other = onnx_graph("else");
    onnx_graph_input(&graph, "x", ONNX_F32, "N,3");
    onnx_graph_input(&graph, "c", ONNX_BOOL, "");
    onnx_part w = location ? onnx_tensor_external("w", ONNX_F32, "3", location, "4", "12")
                           : onnx_tensor_raw("w", ONNX_F32, "3", values, sizeof(values));
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &w);
    onnx_graph_node(&graph, "Add", "add", "", "x,w", "h");
    onnx_graph_node(&then, "Relu", "relu", "", "h", "t");
    onnx_graph_output(&then, "t", ONNX_F32, NULL);
    onnx_part constant = onnx_node("Constant", "k", "", "", "kept"),
              raw = onnx_tensor_raw("v", ONNX_F32, "3", values, sizeof(values));
    onnx_node_add(&constant, onnx_attribute_tensor("value", &raw));
    onnx_part_free(&raw);
    onnx_part_move(&other, ONNX_GRAPH_NODE, &constant);
    onnx_graph_node(&other, "Mul", "mul", "", "h,kept", "e");
    onnx_graph_output(&other, "e", ONNX_F32, NULL);
    onnx_part choice = onnx_node("If", "if", "Test", "c", "y");
    onnx_node_add(&choice, onnx_attribute_graph("then_branch", &then));
    onnx_node_add(&choice, onnx_attribute_graph("else_branch", &other));
    onnx_part_free(&then);
    onnx_part_free(&other);
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &choice);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    onnx_part model = onnx_model(&graph, "", 21), import = onnx_import("Test", 1);
    onnx_part_move(&model, ONNX_MODEL_IMPORT, &import);
    return model;
}

static void assert_attributes_equal(const tn_graph_node *a, const tn_graph_node *b);

static void assert_graphs_equal(const tn_graph *a, const tn_graph *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->tensor_count, b->tensor_count);
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->input_count, b->input_count);
    assert_int_equal(a->output_count, b->output_count);
    assert_int_equal(tn_graph_names_made(a), tn_graph_names_made(b));
    for (size_t i = 0; i < a->tensor_count; i++) {
        const tn_graph_tensor *one = &a->tensors[i], *two = &b->tensors[i];
        assert_string_equal(one->name, two->name);
        assert_int_equal(one->type, two->type);
        assert_int_equal(one->is_constant, two->is_constant);
        assert_int_equal(one->is_input, two->is_input);
        assert_int_equal(one->declaration, two->declaration);
        assert_int_equal(one->use_count, two->use_count);
        assert_int_equal(one->producer, two->producer);
        assert_int_equal(one->has_shape, two->has_shape);
        assert_memory_equal(&one->shape, &two->shape, sizeof(one->shape));
        assert_int_equal(one->bytes, two->bytes);
        if (one->bytes > 0) assert_memory_equal(one->data, two->data, one->bytes);
    }
    for (size_t i = 0; i < a->node_count; i++) {
        const tn_graph_node *one = &a->nodes[i], *two = &b->nodes[i];
        assert_string_equal(one->name, two->name);
        assert_string_equal(one->entry->op->name, two->entry->op->name);
        assert_int_equal(one->entry->op->since_version, two->entry->op->since_version);
        assert_int_equal(one->input_count, two->input_count);
        assert_int_equal(one->output_count, two->output_count);
        if (one->input_count > 0)
            assert_memory_equal(one->inputs, two->inputs, one->input_count * sizeof(*one->inputs));
        assert_memory_equal(one->outputs, two->outputs, one->output_count * sizeof(*one->outputs));
        assert_attributes_equal(one, two);
    }
}

static void assert_attributes_equal(const tn_graph_node *a, const tn_graph_node *b) {
    assert_int_equal(a->attribute_count, b->attribute_count);
    for (uint64_t i = 0; i < a->attribute_count; i++) {
        assert_string_equal(a->attributes[i]->name, b->attributes[i]->name);
        assert_int_equal(a->attributes[i]->type, b->attributes[i]->type);
        if (a->attributes[i]->type == TN_FIELD_GRAPH)
            assert_graphs_equal(tn_graph_body_of(a->attributes[i]->graph)->graph,
                                tn_graph_body_of(b->attributes[i]->graph)->graph);
    }
}

static void must(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* ----------------------------------------------------------------------------------------------
 * good ones */

static void test_the_graph_is_the_same(void **state) {
    graph_test *test = *state;
    onnx_part model = rich_model(NULL);
    tn_graph *here = NULL, *there = NULL;
    must(tn_graph_parse_onnx(test->runtime, model.data, model.bytes, NULL, &here));
    must(tn_graph_parse(test->runtime, model.data, model.bytes, &isolated, &there));
    assert_graphs_equal(here, there);
    tn_graph_destroy(here);
    tn_graph_destroy(there);
    onnx_part_free(&model);
}

static void test_constants_of_files_stay_there(void **state) {
    graph_test *test = *state;
    static const float values[] = {0, 1, 2, 3};
    char folder[] = "/tmp/tenon-isolated-XXXXXX", path[100], weights[100];
    tn_graph *here = NULL, *there = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/model.onnx", folder);
    snprintf(weights, sizeof(weights), "%s/w.bin", folder);
    onnx_part model = rich_model("w.bin");
    onnx_write_file(path, model.data, model.bytes);
    onnx_write_file(weights, values, sizeof(values));
    must(tn_graph_load(test->runtime, path, NULL, &here));
    must(tn_graph_load(test->runtime, path, &isolated, &there));
    assert_graphs_equal(here, there);
    const tn_tensor_id id = find_tensor(there, "w");
    bool is_in_file = false;
    for (size_t i = 0; i < there->file_count; i++)
        is_in_file |=
            there->files[i].bytes == sizeof(values) &&
            (const char *)there->tensors[id].data == (const char *)there->files[i].data + 4;
    assert_true(is_in_file);
    tn_graph_destroy(here);
    tn_graph_destroy(there);
    unlink(weights);
    assert_int_equal(tn_graph_load(test->runtime, path, &isolated, &there), TN_ERROR_NOT_FOUND);
    unlink(path);
    assert_int_equal(tn_graph_load(test->runtime, path, &isolated, &there), TN_ERROR_NOT_FOUND);
    rmdir(folder);
    onnx_part_free(&model);
}

static void test_errors_are_those_of_the_reader(void **state) {
    graph_test *test = *state;
    tn_graph *graph = NULL;
    char here[2048], there[2048];
    onnx_part model = rich_model(NULL);
    for (size_t bytes = 0; bytes < model.bytes; bytes += 61) {
        if (tn_graph_parse_onnx(test->runtime, model.data, bytes, NULL, &graph) == TN_OK) {
            tn_graph_destroy(graph);
            graph = NULL;
            continue;
        }
        snprintf(here, sizeof(here), "%s|%s|%s", tn_last_error()->where, tn_last_error()->message,
                 tn_last_error()->node);
        assert_int_not_equal(tn_graph_parse(test->runtime, model.data, bytes, &isolated, &graph),
                             TN_OK);
        snprintf(there, sizeof(there), "%s|%s|%s", tn_last_error()->where, tn_last_error()->message,
                 tn_last_error()->node);
        assert_string_equal(here, there);
        assert_null(graph);
    }
    onnx_part_free(&model);
}

/* ----------------------------------------------------------------------------------------------
 * bad ones */

static void assert_fails(graph_test *test, const tn_import_options *options, tn_status status,
                         const char *text) {
    tn_graph *graph = NULL;
    onnx_part model = rich_model(NULL);
    assert_int_equal(tn_graph_parse(test->runtime, model.data, model.bytes, options, &graph),
                     status);
    if (!strstr(tn_last_error()->message, text)) fail_msg("%s", tn_last_error()->message);
    assert_null(graph);
    onnx_part_free(&model);
}

static void test_a_helper_that_is_none_is_an_error(void **state) {
    graph_test *test = *state;
    tn_import_options options = isolated;
    options.isolation_helper = "nowhere/tenon-isolate";
    assert_fails(test, &options, TN_ERROR_IO, "nowhere/tenon-isolate cannot be started");
    options.isolation_helper = "/bin/true";
    assert_fails(test, &options, TN_ERROR_PLUGIN, "called exit(0), before it began");
    options = isolated;
    options.flags = 2;
    assert_fails(test, &options, TN_ERROR_ARGUMENT, "flags that are not known: 0x2");
    const tn_attribute tensor = {.size = sizeof(tensor), .type = TN_FIELD_TENSOR, .name = "t"},
                       text = {.size = sizeof(text), .type = TN_FIELD_STRING, .name = "wrong"};
    const tn_attribute *list[] = {&tensor};
    options = isolated;
    options.option_count = 1;
    options.options = list;
    assert_fails(test, &options, TN_ERROR_UNSUPPORTED, "option 't' is a tensor or a graph");
    list[0] = &text;
    assert_fails(test, &options, TN_ERROR_ARGUMENT, "option 'wrong' is a null text");
    list[0] = NULL;
    assert_fails(test, &options, TN_ERROR_ARGUMENT, "option 0 is null");
}

typedef struct worst {
    const char *what;
    tn_status status;
    const char *message;
} worst;
static const worst worsts[] = {
#ifndef SANITIZED /* sanitizers catch these, and take memory themselves */
    {"crash", TN_ERROR_PLUGIN, "was ended by signal 11 (Segmentation fault), in the importer"},
    {"stack", TN_ERROR_PLUGIN, "was ended by signal 11 (Segmentation fault), in the importer"},
    {"give_up", TN_ERROR_PLUGIN, "was ended by signal 6 (Aborted), in the importer 'worst'"},
    {"memory", TN_ERROR_PLUGIN, "was ended when it had taken more than 64 MiB, in the importer"},
    {"many_tensors", TN_ERROR_PLUGIN, "was ended when it had taken more than 64 MiB"},
#endif
    {"leave", TN_ERROR_PLUGIN, "called exit(0), in the importer 'worst' of library"},
    {"hang", TN_ERROR_PLUGIN, "was ended after 300 ms, which is its limit, in the importer"},
    {"no_reason", TN_ERROR_PLUGIN, "returned 4 without a reason"},
    {"forged", TN_ERROR_PLUGIN, "gave no reason why it failed"},
    {"child", TN_OK, ""},
    {"sound", TN_OK, ""},
};

static tn_status read_worst(graph_test *test, const char *what, uint32_t limit_ms,
                            tn_graph **out_graph) {
    const tn_attribute option = {
        .size = sizeof(option), .type = TN_FIELD_STRING, .name = "what", .s = what};
    const tn_attribute *const list[] = {&option};
    const tn_import_options options = {.size = sizeof(options),
                                       .flags = TN_IMPORT_ISOLATED,
                                       .format = "worst",
                                       .option_count = 1,
                                       .options = list,
                                       .isolation_helper = HELPER,
                                       .isolation_limit_ms = limit_ms,
                                       .isolation_memory = (uint64_t)64 << 20};
    return tn_graph_parse(test->runtime, "hello", 5, &options, out_graph);
}

static void test_a_reader_may_do_its_worst(void **state) {
    graph_test *test = *state;
    must(tn_runtime_add_search_path(test->runtime, READERS));
    for (size_t i = 0; i < TN_COUNT(worsts); i++) {
        const uint32_t limit = strcmp(worsts[i].what, "hang") == 0 ? 300 : 20000;
        tn_graph *graph = NULL;
        const tn_status status = read_worst(test, worsts[i].what, limit, &graph);
        if (status != worsts[i].status ||
            (status != TN_OK && !strstr(tn_last_error()->message, worsts[i].message)))
            fail_msg("%s: %d: %s: %s", worsts[i].what, status, tn_last_error()->where,
                     tn_last_error()->message);
        if (status == TN_ERROR_PLUGIN && !strstr("no_reason forged", worsts[i].what)) {
            assert_string_equal(tn_last_error()->node, "conv1");
            assert_int_equal(tn_last_error()->offset, 7);
        }
        if (status == TN_OK) assert_int_equal(graph->node_count, 2);
        tn_graph_destroy(graph);
    }
}

static void test_a_library_may_crash_when_it_is_loaded(void **state) {
    graph_test *test = *state;
    tn_graph *graph = NULL;
    must(tn_runtime_add_search_path(test->runtime, READERS));
    setenv("WORST_READER_LOAD", "crash", 1);
    assert_int_equal(read_worst(test, "sound", 0, &graph), TN_ERROR_PLUGIN);
    assert_non_null(strstr(tn_last_error()->message, "while library isolated_reader/libworst"));
    setenv("WORST_READER_LOAD", "hang", 1);
    assert_int_equal(read_worst(test, "sound", 300, &graph), TN_ERROR_PLUGIN);
    assert_non_null(strstr(tn_last_error()->message, "which is its limit, while library"));
    unsetenv("WORST_READER_LOAD");
    assert_int_equal(read_worst(test, "sound", 0, &graph), TN_OK);
    tn_graph_destroy(graph);
}

static size_t count_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void test_nothing_is_left_behind(void **state) {
    graph_test *test = *state;
    tn_graph *graph = NULL;
    must(tn_runtime_add_search_path(test->runtime, READERS));
    const size_t before = count_descriptors();
    for (int i = 0; i < 3; i++) {
        must(read_worst(test, "child", 0, &graph));
        tn_graph_destroy(graph);
        assert_int_equal(read_worst(test, "crash", 0, &graph), TN_ERROR_PLUGIN);
    }
    assert_int_equal(count_descriptors(), before);
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    graph_test *test = *state;
    onnx_part model = rich_model(NULL);
#ifdef SANITIZED /* each takes a process, which begins slowly there */
    const uint64_t step = 7;
#else
    const uint64_t step = 1;
#endif
    for (uint64_t n = 1;; n += step) {
        const int64_t live = test->allocator.live;
        tn_graph *graph = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        const tn_status status =
            tn_graph_parse(test->runtime, model.data, model.bytes, &isolated, &graph);
        test->allocator.fail_at = 0;
        tn_graph_destroy(graph);
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    onnx_part_free(&model);
}

/* ----------------------------------------------------------------------------------------------
 * damaged records */

static void unpack(graph_test *test, const isolated_parcel *parcel, const void *records,
                   size_t bytes) {
    tn_graph *graph = NULL;
    if (isolated_parcel_unpack(test->runtime, parcel, records, bytes, &graph) == TN_OK)
        tn_graph_destroy(graph);
    else
        assert_true(tn_last_error()->message[0] && !graph);
}

static void test_damaged_records_are_errors(void **state) {
    graph_test *test = *state;
    onnx_part model = rich_model(NULL);
    isolated_parcel parcel = {0};
    tn_graph *here = NULL, *again = NULL;
    must(tn_graph_parse_onnx(test->runtime, model.data, model.bytes, NULL, &here));
    must(isolated_parcel_make(test->runtime, model.data, model.bytes, &parcel));
    must(isolated_parcel_unpack(test->runtime, &parcel, parcel.records, parcel.record_bytes,
                                &again));
    assert_graphs_equal(here, again);
    unsigned char *copy = malloc(parcel.record_bytes + 1);
    assert_non_null(copy);
    for (size_t bytes = 0; bytes < parcel.record_bytes; bytes++) {
        unsigned char *cut = malloc(bytes + 1);
        assert_non_null(cut);
        memcpy(cut, parcel.records, bytes);
        unpack(test, &parcel, cut, bytes);
        free(cut);
    }
    for (size_t bit = 0; bit < parcel.record_bytes * 8; bit += 3) {
        memcpy(copy, parcel.records, parcel.record_bytes);
        copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
        unpack(test, &parcel, copy, parcel.record_bytes);
    }
    free(copy);
    isolated_parcel_free(&parcel);
    tn_graph_destroy(here);
    tn_graph_destroy(again);
    onnx_part_free(&model);
}

static int setup(void **state) {
    if (graph_test_setup(state) != 0) return -1;
    return tn_runtime_load_library(((graph_test *)*state)->runtime, BODIES) == TN_OK ? 0 : -1;
}
#define ISOLATED_TEST(function)                                                                    \
    cmocka_unit_test_setup_teardown(function, setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        ISOLATED_TEST(test_the_graph_is_the_same),
        ISOLATED_TEST(test_constants_of_files_stay_there),
        ISOLATED_TEST(test_errors_are_those_of_the_reader),
        ISOLATED_TEST(test_a_helper_that_is_none_is_an_error),
        ISOLATED_TEST(test_a_reader_may_do_its_worst),
        ISOLATED_TEST(test_a_library_may_crash_when_it_is_loaded),
        ISOLATED_TEST(test_nothing_is_left_behind),
        ISOLATED_TEST(test_each_failing_allocation_is_an_error_without_leak),
        ISOLATED_TEST(test_damaged_records_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
