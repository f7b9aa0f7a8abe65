/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of compiled layers share: a runtime on a counting allocator, a folder of the
 * test's own for cache and scripts, compilers that are scripts, and a network of one layer.
 */
#ifndef TN_TESTS_COMPILE_TEST_H
#define TN_TESTS_COMPILE_TEST_H

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include "test.h"

typedef struct compile_test {
    failing_allocator memory;
    tn_runtime *runtime;
    char folder[256], cache[300];
    char log[8192];
} compile_test;

static inline void compile_test_log(void *user, uint32_t level, const char *text) {
    compile_test *test = user;
    const size_t at = strlen(test->log);
    (void)level;
    snprintf(test->log + at, sizeof(test->log) - at, "%s\n", text);
}

static inline tn_runtime *compile_test_runtime(compile_test *test, uint32_t flags) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test->memory.functions,
                                        .log = compile_test_log,
                                        .log_user = test,
                                        .flags = flags};
    tn_runtime *runtime = NULL;
    return tn_runtime_create(&options, &runtime) == TN_OK ? runtime : NULL;
}

static inline int compile_test_setup(void **state) {
    compile_test *test = calloc(1, sizeof(*test));
    char here[128];
    if (!test || !getcwd(here, sizeof(here))) return -1;
    *state = test;
    failing_allocator_init(&test->memory);
    snprintf(test->folder, sizeof(test->folder), "%s/compile-test-XXXXXX", here);
    if (!mkdtemp(test->folder)) return -1;
    snprintf(test->cache, sizeof(test->cache), "%s/cache", test->folder);
    test->runtime = compile_test_runtime(test, TN_RUNTIME_NO_ENVIRONMENT);
    return test->runtime ? 0 : -1;
}

static inline int compile_test_remove(const char *path, const struct stat *info, int kind,
                                      struct FTW *at) {
    (void)info, (void)kind, (void)at;
    return remove(path);
}

/* Fails when anything was left behind. */
static inline int compile_test_teardown(void **state) {
    compile_test *test = *state;
    tn_runtime_release(test->runtime);
    const int64_t live = test->memory.live;
    nftw(test->folder, compile_test_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(test);
    return live == 0 ? 0 : -1;
}

#define COMPILE_TEST(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, compile_test_setup, compile_test_teardown)

static inline void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The text of a file, or "" when there is none. */
static inline const char *read_text(const char *path) {
    static char text[4096];
    FILE *file = fopen(path, "r");
    const size_t count = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[count] = 0;
    if (file) fclose(file);
    return text;
}

/* A compiler that is a script of these lines, FOLDER/compiler; FOLDER is $f in them. */
static inline const char *make_compiler(const compile_test *test, const char *lines) {
    static char path[512];
    char text[2048];
    snprintf(path, sizeof(path), "%s/compiler", test->folder);
    snprintf(text, sizeof(text), "#!/bin/sh\nf='%s'\n%s\n", test->folder, lines);
    write_text(path, text);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* The real one, which writes a letter into FOLDER/count each time that it compiles. */
#define COUNTING_COMPILER                                                                          \
    "case \"$*\" in *--version*) ;; *) printf x >> $f/count ;; esac\nexec cc \"$@\""

static inline size_t count_compilations(const compile_test *test) {
    char path[512];
    snprintf(path, sizeof(path), "%s/count", test->folder);
    return strlen(read_text(path));
}

static inline tn_compile_options compile_options(const compile_test *test) {
    return (tn_compile_options){.size = sizeof(tn_compile_options), .cache_folder = test->cache};
}

/* A layer of one input and one output that adds `amount`. */
static inline tn_compile_layer add_layer(void) {
    static const tn_compile_field amount = {.size = sizeof(amount),
                                            .type = TN_FIELD_F32,
                                            .name = "amount",
                                            .fallback = "1.5",
                                            .doc = "is added"};
    static const tn_compile_port x = {.size = sizeof(x), .name = "x"};
    static const tn_compile_port y = {.size = sizeof(y), .name = "y"};
    static const tn_compile_field *const fields[] = {&amount};
    static const tn_compile_port *const inputs[] = {&x}, *const outputs[] = {&y};
    return (tn_compile_layer){.size = sizeof(tn_compile_layer),
                              .field_count = 1,
                              .input_count = 1,
                              .output_count = 1,
                              .domain = "compiled",
                              .name = "AddAmount",
                              .doc = "Adds an amount.",
                              .fields = fields,
                              .inputs = inputs,
                              .outputs = outputs,
                              .run = "const float *from = (const float *)x->data;\n"
                                     "float *to = (float *)y->data;\n"
                                     "for (uint64_t i = 0; i < x->bytes / sizeof(float); i++)\n"
                                     "    to[i] = from[i] + fields->amount;"};
}

/* Runs `op` of the domain "compiled" on 0, 1, 2 ... 5 in f32[2,3]; answers its output, or null. */
static inline const float *run_layer(tn_runtime *runtime, const char *op, uint32_t count,
                                     const tn_attribute *const *attributes, float *output) {
    static const float x[6] = {0, 1, 2, 3, 4, 5};
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    const int64_t shape[] = {2, 3};
    const void *data;
    uint64_t bytes;
    const tn_tensor *y;
    tn_tensor_id input, result;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    assert_int_equal(tn_graph_create(runtime, "net", &graph), TN_OK);
    assert_int_equal(tn_graph_add_input(graph, "x", TN_F32, 2, shape, NULL, &input), TN_OK);
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "compiled",
                                      .op = op,
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = &input,
                                      .attribute_count = count,
                                      .attributes = attributes};
    if (tn_graph_add_node(graph, &node, &result) != TN_OK) fail_msg("%s", tn_last_error()->message);
    assert_int_equal(tn_graph_add_output(graph, result, "y"), TN_OK);
    if (tn_build(graph, &options, &plan) != TN_OK) fail_msg("%s", tn_last_error()->message);
    data = tn_plan_bytes(plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(runtime, data, bytes, NULL, &engine), TN_OK);
    assert_int_equal(tn_context_create(engine, &context), TN_OK);
    assert_int_equal(tn_context_bind_input(context, 0, x, sizeof(x)), TN_OK);
    if (tn_context_run(context) != TN_OK) fail_msg("%s", tn_last_error()->message);
    assert_int_equal(tn_context_output(context, 0, &y), TN_OK);
    assert_int_equal(y->bytes, sizeof(x));
    memcpy(output, y->data, sizeof(x));
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    return output;
}

static inline void assert_adds(tn_runtime *runtime, const char *op, float amount) {
    float y[6];
    run_layer(runtime, op, 0, NULL, y);
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == (float)i + amount);
}

static inline void assert_compiled(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

#endif
