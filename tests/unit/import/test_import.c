/* SPDX-License-Identifier: Apache-2.0 */
/* Importers as libraries provide them: how one is found, its options, and what the host refuses of
 * what a reader does. The readers here do what their option `what` says. */
#include "graph_test.h"

#include "import_test.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct params {
    uint64_t present;
    int32_t number;
    uint32_t what;
    tn_strings list;
} params;
enum {
    SOUND,
    NO_REASON,
    NOTHING,
    DANGLING,
    CYCLE,
    TWICE,
    OUTSIDE,
    MISSING,
    OFFSET,
    KEPT,
    COPIED,
    FOREIGN_BODY,
    OPEN_BODY,
    FORGED_OPERATOR
};
static const tn_field fields[] = {
    TN_FIELD_RANGE(params, number, TN_FIELD_I32, TN_OPTIONAL, "3", 1, 9, "a number"),
    TN_FIELD_CHOICE(params, what, TN_FIELD_ENUM, TN_OPTIONAL, "sound",
                    "sound|no_reason|nothing|dangling|cycle|twice|outside|missing|offset|kept|"
                    "copied|foreign_body|open_body|forged_operator",
                    "what it does"),
    TN_FIELD(params, list, TN_FIELD_STRINGS, TN_OPTIONAL, NULL, "texts"),
};
static params seen;
static const void *seen_data;

/* y = Relu(x), through a tensor that is there before the node. */
static tn_status add_relu(tn_import *import, tn_import_tensor from, bool is_cycle) {
    const tn_import_services *s = import->services;
    const tn_operator *op = NULL;
    tn_import_tensor y;
    tn_status status = s->find_operator(import, "", "Relu", 0, &op);
    if (status == TN_OK) status = s->add_tensor(import->graph, "y", &y);
    if (status != TN_OK) return status;
    if (is_cycle) from = y;
    const tn_import_node node = {.size = sizeof(node),
                                 .op = op,
                                 .name = "r",
                                 .input_count = 1,
                                 .output_count = 1,
                                 .inputs = &from,
                                 .outputs = &y};
    status = s->add_node(import->graph, &node);
    return status == TN_OK ? s->add_output(import->graph, y, NULL) : status;
}

static tn_status add_data(tn_import *import, const void *data) {
    static const int64_t extents[] = {2};
    tn_import_tensor id;
    return import->services->add_constant(import->graph, "c", TN_F32, 1, extents, data, 8, &id);
}

static tn_status add_body(tn_import *import, bool is_open) {
    static const int body = 0;
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_GRAPH, .name = "body", .graph = &body};
    const tn_attribute *const attributes[] = {&attribute};
    const tn_import_node node = {.size = sizeof(node),
                                 .domain = "",
                                 .op_name = "Loop",
                                 .name = "l",
                                 .attribute_count = 1,
                                 .attributes = attributes};
    tn_import_graph *inner = NULL;
    if (!is_open) return import->services->add_node(import->graph, &node);
    return import->services->begin_body(import->graph, "inner", &inner);
}

static tn_status read_test(tn_import *import) {
    const tn_import_services *s = import->services;
    const params *p = import->params;
    static const int64_t extents[] = {-1, 4};
    static const float values[] = {1, 2};
    tn_import_file file = {.size = sizeof(file)};
    tn_import_tensor x;
    seen = *p;
    if (p->what == NO_REASON) return TN_ERROR_FORMAT;
    if (p->what == NOTHING) return TN_OK;
    if (p->what == OUTSIDE) return s->open(import, "../secret", 0, &file);
    if (p->what == OFFSET) {
        s->place(import, 17, "conv");
        return (s->fail)(import, TN_ERROR_FORMAT, "an odd number: %d", 5);
    }
    tn_status status = s->add_input(import->graph, "x", TN_F32, 2, extents, NULL, &x);
    if (status == TN_OK && p->what == KEPT) {
        status = s->open(import, "values", TN_IMPORT_KEEP, &file);
        seen_data = file.data;
        if (status == TN_OK) status = add_data(import, file.data);
    }
    if (status == TN_OK && p->what == COPIED) status = add_data(import, values);
    if (status == TN_OK && p->what == TWICE)
        status = s->add_input(import->graph, "x", TN_F32, 2, extents, NULL, &x);
    if (status == TN_OK && (p->what == FOREIGN_BODY || p->what == OPEN_BODY))
        status = add_body(import, p->what == OPEN_BODY);
    if (status == TN_OK && p->what == FORGED_OPERATOR) {
        const tn_operator forged = {.size = sizeof(forged), .name = "Relu", .domain = ""};
        const tn_import_node node = {.size = sizeof(node), .op = &forged};
        return s->add_node(import->graph, &node);
    }
    if (status == TN_OK && p->what == MISSING) {
        const tn_operator *op;
        status = s->find_operator(import, "", "Rellu", 13, &op);
        if (status == TN_ERROR_UNSUPPORTED) status = s->add_missing(import, "a", "first");
        if (status == TN_OK) status = s->find_operator(import, "", "Addd", 13, &op);
        if (status == TN_ERROR_UNSUPPORTED) status = s->add_missing(import, "b", "second");
        if (status == TN_OK && s->is_missing(import, "a")) return TN_OK;
    }
    return status == TN_OK ? add_relu(import, p->what == DANGLING ? 99 : x, p->what == CYCLE)
                           : status;
}

static uint32_t probe_test(void *user, const void *head, uint64_t bytes) {
    (void)user;
    return bytes >= 4 && memcmp(head, "TEST", 4) == 0 ? 50 : 0;
}

static const tn_importer test_importer = {.size = sizeof(tn_importer),
                                          .name = "tester",
                                          .what = "a test's model",
                                          .endings = ".tst .tst.txt",
                                          .probe = probe_test,
                                          TN_FIELDS(params, fields),
                                          .read = read_test};

static tn_status add_importer(const tn_host *host, tn_library *library) {
    const tn_importers *importers = host->extension(host, TN_IMPORTERS);
    return importers->add(host, library, library->user);
}

static tn_library test_library = {.size = sizeof(tn_library),
                                  .abi_major = TN_ABI_MAJOR,
                                  .abi_minor = TN_ABI_MINOR,
                                  .name = "tester",
                                  .load = add_importer,
                                  .user = (void *)(uintptr_t)&test_importer};

static int setup(void **state) {
    if (graph_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    return tn_runtime_add_library(test->runtime, &test_library, NULL) == TN_OK ? 0 : -1;
}
#define IMPORT_TEST(function) cmocka_unit_test_setup_teardown(function, setup, graph_test_teardown)

static tn_status parse(graph_test *test, const char *option) {
    const char *const options[] = {option, NULL};
    tn_graph *graph = NULL;
    const tn_status status =
        import_parse_with(test->runtime, "tester", "TEST", 4, options, NULL, &graph);
    if (status != TN_OK) assert_null(graph);
    tn_graph_destroy(test->graph);
    test->graph = graph;
    return status;
}

static void test_a_file_is_known_by_ending_or_first_bytes(void **state) {
    graph_test *test = *state;
    tn_graph *graph = NULL;
    const tn_importer *importer = NULL;
    char folder[] = "/tmp/tenon-import-XXXXXX", path[100];
    assert_non_null(mkdtemp(folder));
    static const struct {
        const char *name, *data;
        bool is_known;
    } cases[] = {{"a.TST", "?", true}, {"b", "TEST", true}, {"c.other", "text", false}};
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].name);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(cases[i].data, file);
        fclose(file);
        const tn_status status = tn_graph_load(test->runtime, path, NULL, &graph);
        assert_int_equal(status, cases[i].is_known ? TN_OK : TN_ERROR_FORMAT);
        if (!cases[i].is_known) assert_error("tester (.tst .tst.txt)", path);
        tn_graph_destroy(graph);
        graph = NULL;
        assert_int_equal(tn_graph_find_importer(test->runtime, path, &importer), status);
        unlink(path);
    }
    rmdir(folder);
}

static void test_options_are_the_tables(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse(test, "number=7"), TN_OK);
    assert_int_equal(seen.number, 7);
    assert_int_equal(parse(test, "list=some text"), TN_OK);
    assert_int_equal(seen.number, 3);
    assert_int_equal(seen.list.count, 1);
    assert_int_equal(parse(test, "number=70"), TN_ERROR_RANGE);
    assert_int_equal(parse(test, "number=many"), TN_ERROR_ARGUMENT);
    assert_int_equal(parse(test, "nunber=7"), TN_ERROR_ARGUMENT);
    assert_error("the nearest is 'number'", NULL);
    tn_graph *graph = NULL;
    const tn_import_options options = {.size = sizeof(options), .format = "testar"};
    assert_int_equal(tn_graph_parse(test->runtime, "", 0, &options, &graph), TN_ERROR_NOT_FOUND);
    assert_error("the nearest is 'tester'", NULL);
}

static void test_what_a_reader_does_wrong_is_refused(void **state) {
    graph_test *test = *state;
    static const struct {
        const char *option;
        tn_status status;
        const char *message, *where;
    } cases[] = {{"what=no_reason", TN_ERROR_PLUGIN, "without a reason", NULL},
                 {"what=nothing", TN_ERROR_PLUGIN, "added nothing", NULL},
                 {"what=dangling", TN_ERROR_ARGUMENT, "no tensor number 99", NULL},
                 {"what=cycle", TN_ERROR_FORMAT, "cycle", NULL},
                 {"what=twice", TN_ERROR_ARGUMENT, "'x' already", NULL},
                 {"what=outside", TN_ERROR_UNSUPPORTED, "without a folder", NULL},
                 {"what=missing", TN_ERROR_UNSUPPORTED, "2 things", NULL},
                 {"what=missing", TN_ERROR_UNSUPPORTED, "'Relu'", NULL},
                 {"what=offset", TN_ERROR_FORMAT, "an odd number: 5", "byte 17: node 'conv'"},
                 {"what=foreign_body", TN_ERROR_ARGUMENT, "begun and ended", "node 'l'"},
                 {"what=forged_operator", TN_ERROR_ARGUMENT, "find_operator", NULL}};
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        assert_int_equal(parse(test, cases[i].option), cases[i].status);
        assert_error(cases[i].message, cases[i].where);
    }
    assert_int_equal(parse(test, "what=open_body"), TN_OK); /* the body is dropped */
}

static void test_constants_stay_in_a_kept_file(void **state) {
    graph_test *test = *state;
    static const float values[] = {3, 4};
    char folder[] = "/tmp/tenon-import-XXXXXX", path[100];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/values", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(values, sizeof(values), 1, file);
    fclose(file);
    const tn_attribute what = {
        .size = sizeof(what), .type = TN_FIELD_STRING, .name = "what", .s = "kept"};
    const tn_attribute *const list[] = {&what};
    const tn_import_options options = {.size = sizeof(options),
                                       .format = "tester",
                                       .folder = folder,
                                       .option_count = 1,
                                       .options = list};
    tn_graph_destroy(test->graph);
    assert_int_equal(tn_graph_parse(test->runtime, "TEST", 4, &options, &test->graph), TN_OK);
    tn_tensor_id id;
    assert_int_equal(tn_graph_find(test->graph, "c", &id), TN_OK);
    assert_ptr_equal(test->graph->tensors[id].data, seen_data);
    assert_memory_equal(test->graph->tensors[id].data, values, sizeof(values));
    assert_int_equal(parse(test, "what=copied"), TN_OK);
    assert_int_equal(tn_graph_find(test->graph, "c", &id), TN_OK);
    unlink(path);
    rmdir(folder);
}

static void test_an_unloaded_librarys_importer_is_gone(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse(test, "number=1"), TN_OK);
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    assert_int_equal(tn_runtime_unload_library(test->runtime, "tester"), TN_OK);
    assert_int_equal(parse(test, "number=1"), TN_ERROR_NOT_FOUND);
    assert_int_equal(tn_runtime_add_library(test->runtime, &test_library, NULL), TN_OK);
    assert_int_equal(parse(test, "number=1"), TN_OK);
}

static void test_broken_tables_are_refused(void **state) {
    graph_test *test = *state;
    tn_importer broken[8];
    for (size_t i = 0; i < TN_COUNT(broken); i++) {
        broken[i] = test_importer;
        broken[i].name = "another";
    }
    broken[0].size = 8;
    broken[1].name = "no name";
    broken[2].endings = "tst";
    broken[3].read = NULL;
    broken[4].params_bytes = 4;
    broken[5].name = "tester"; /* it is there already */
    broken[6].field_size = 8;
    broken[7].fields = NULL;
    assert_int_equal(broken[7].field_count, TN_COUNT(fields));
    for (size_t i = 0; i < TN_COUNT(broken); i++) {
        tn_library library = test_library;
        library.name = "broken";
        library.user = &broken[i];
        assert_int_equal(tn_runtime_add_library(test->runtime, &library, NULL), TN_ERROR_PLUGIN);
    }
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    graph_test *test = *state;
    for (uint64_t n = 1;; n++) {
        const int64_t live = test->allocator.live;
        tn_graph *graph = NULL;
        static const char *const options[] = {"number=2", "what=copied", NULL};
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        const tn_status status =
            import_parse_with(test->runtime, "tester", "TEST", 4, options, NULL, &graph);
        test->allocator.fail_at = 0;
        tn_graph_destroy(graph);
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IMPORT_TEST(test_a_file_is_known_by_ending_or_first_bytes),
        IMPORT_TEST(test_options_are_the_tables),
        IMPORT_TEST(test_what_a_reader_does_wrong_is_refused),
        IMPORT_TEST(test_constants_stay_in_a_kept_file),
        IMPORT_TEST(test_an_unloaded_librarys_importer_is_gone),
        IMPORT_TEST(test_broken_tables_are_refused),
        IMPORT_TEST(test_each_failing_allocation_is_an_error_without_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
