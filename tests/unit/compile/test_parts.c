/* SPDX-License-Identifier: Apache-2.0 */
/* Layers by their parts, as far as parts go: expressions, formats, lower types, callbacks; texts
 * that are edited and compiled again; CUDA; a cached library that no longer loads. */
#include "compile_test.h"

typedef struct found_kernel {
    const char *combination;
    const char *absorbs;
    uint32_t traits, count;
    bool is_on_device;
} found_kernel;

static bool find_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    found_kernel *found = user;
    if (strcmp(kernel->op, "AddAmount") != 0) return true;
    assert_string_equal(library->name, "AddAmount");
    found->count++;
    found->traits = kernel->traits;
    found->absorbs = kernel->absorbs;
    found->combination = kernel->combination_count ? kernel->combinations[0] : NULL;
    found->is_on_device = strcmp(kernel->device, "cpu") != 0;
    return true;
}

#define ADDING                                                                                     \
    "for (uint64_t i = 0; i < x->bytes / 4; i++)\n"                                                \
    "    ((float *)y->data)[i] = ((const float *)x->data)[i] + fields->amount;"

/* The report of a plan of the layer between two others, which an expression is fused with. */
static void report(tn_runtime *runtime, uint32_t precision, char *text, size_t bytes) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .precision = precision, .flags = TN_BUILD_NO_TIMING};
    const int64_t shape[] = {1, 16, 8, 8};
    tn_tensor_id at;
    tn_graph *graph;
    tn_plan *plan;
    assert_int_equal(tn_graph_create(runtime, "net", &graph), TN_OK);
    assert_int_equal(tn_graph_add_input(graph, "x", TN_F32, 4, shape, NULL, &at), TN_OK);
    const char *const names[] = {"Sqrt", "AddAmount", "Exp"};
    for (int i = 0; i < 3; i++) {
        const tn_node_description node = {.size = sizeof(node),
                                          .version = i == 1 ? 0 : 13,
                                          .domain = i == 1 ? "compiled" : "",
                                          .op = names[i],
                                          .name = names[i],
                                          .input_count = 1,
                                          .output_count = 1,
                                          .inputs = &at};
        if (tn_graph_add_node(graph, &node, &at) != TN_OK) fail_msg("%s", tn_last_error()->message);
    }
    assert_int_equal(tn_graph_add_output(graph, at, "y"), TN_OK);
    if (tn_build(graph, &options, &plan) != TN_OK) fail_msg("%s", tn_last_error()->message);
    snprintf(text, bytes, "%s", tn_plan_report(plan));
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

static void test_an_expression_is_fused(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    found_kernel found = {.count = 0};
    char before[8192], after[8192];
    options.layer = &layer;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    report(test->runtime, 0, before, sizeof(before));
    layer.traits = TN_OPERATOR_ELEMENTWISE;
    layer.expression = "x + amount";
    layer.reference = ADDING;
    layer.run = NULL;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    tn_runtime_visit_kernels(test->runtime, find_kernel, &found);
    assert_int_equal(found.count, 0);
    report(test->runtime, 0, after, sizeof(after));
    assert_non_null(strstr(before, "compiled"));
    if (!strstr(after, "fused")) fail_msg("%s", after);
    assert_adds(test->runtime, "AddAmount", 1.5f);
    layer.reference = NULL; /* the expression alone */
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    report(test->runtime, 0, after, sizeof(after));
    if (!strstr(after, "fused")) fail_msg("%s", after);
    assert_adds(test->runtime, "AddAmount", 1.5f);
    layer.expression = "x + amuont";
    assert_int_equal(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN);
    assert_non_null(strstr(tn_last_error()->message, "the nearest is 'amount'"));
    layer.expression = "x + amount";
    layer.run = ADDING; /* both: the kernel and the expression's own compete */
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

static void test_formats_and_lower_types_are_declared(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    found_kernel found = {.count = 0};
    char text[8192];
    const char *const combinations[] = {"f16:c16 -> f16:c16"};
    options.layer = &layer;
    layer.reference = ADDING;
    layer.run = "for (uint64_t i = 0; i < y->bytes / 2; i++)\n"
                "    ((uint16_t *)y->data)[i] = ((const uint16_t *)x->data)[i];";
    layer.combination_count = 1;
    layer.combinations = combinations;
    layer.kernel_traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE;
    layer.requires_features = "";
    layer.accepts = "if (x->type != TN_F16) return TN_ERROR_UNSUPPORTED;";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    tn_runtime_visit_kernels(test->runtime, find_kernel, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.combination, combinations[0]);
    assert_int_equal(found.traits, layer.kernel_traits);
    report(test->runtime, TN_PRECISION_F16, text, sizeof(text));
    if (!strstr(text, "compiled")) fail_msg("%s", text);
    report(test->runtime, TN_PRECISION_F32, text, sizeof(text));
    assert_null(strstr(text, "\"compiled\", \"library"));
}

static void test_callbacks_share_their_state(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    options.source_name = "stateful";
    layer.support = "#include <stdlib.h>";
    layer.reference = ADDING;
    layer.prepare = "float *amount = (float *)malloc(sizeof(*amount));\n"
                    "if (!amount) return TN_ERROR_MEMORY;\n"
                    "*amount = fields->amount;\n"
                    "call->state = amount;";
    layer.release = "free(call->state);";
    layer.open = "call->context = malloc(4);\nif (!call->context) return TN_ERROR_MEMORY;";
    layer.close = "free(call->context);";
    layer.reshape = "call->workspace_bytes = x->bytes;";
    layer.tactics = "call->tactic_count = 2;";
    layer.operations = "*out_operations = (double)(x->bytes / 4);";
    layer.run =
        "float *copy = (float *)call->workspace;\n"
        "if (call->workspace_bytes < x->bytes || !call->context) return TN_ERROR_INTERNAL;\n"
        "memcpy(copy, x->data, x->bytes);\n"
        "for (uint64_t i = 0; i < x->bytes / 4; i++)\n"
        "    ((float *)y->data)[i] = copy[i] + *(const float *)call->state;";
    for (uint32_t flags = 0; flags <= TN_COMPILE_CPP; flags += TN_COMPILE_CPP) {
        options.flags = flags;
        assert_compiled(tn_compile_library(test->runtime, &options, NULL));
        assert_adds(test->runtime, "AddAmount", 1.5f);
    }
}

static void test_an_output_may_be_a_view(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    const tn_compile_port view = {
        .size = sizeof(view), .name = "y", .flags = TN_PORT_VIEW, .alias = 1};
    const tn_compile_port *const outputs[] = {&view};
    tn_compile_port wrong = view;
    const tn_compile_port *const wrong_outputs[] = {&wrong};
    options.layer = &layer;
    layer.outputs = outputs;
    layer.run = "(void)x, (void)y;";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 0);
    wrong.alias = 2;
    layer.outputs = wrong_outputs;
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN,
                  "input 2, which is not there");
    assert_adds(test->runtime, "AddAmount", 0);
}

/* --- edited --- */

static int count_libraries(tn_runtime *runtime) {
    found_kernel found = {.count = 0};
    tn_runtime_visit_kernels(runtime, find_kernel, &found);
    return (int)found.count;
}

static void test_an_edited_text_replaces_the_first(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    for (int i = 0; i < 3; i++) /* counted */
        assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 1.5f);
    layer.run = "for (uint64_t i = 0; i < x->bytes / 4; i++)\n"
                "    ((float *)y->data)[i] = ((const float *)x->data)[i] + 7;";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 7);
    assert_int_equal(count_libraries(test->runtime), 1);
    layer.run = "this is no C";
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN, "error");
    assert_adds(test->runtime, "AddAmount", 7);
    layer = add_layer(); /* and back, out of the cache */
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 1.5f);
    assert_int_equal(count_libraries(test->runtime), 1);
    assert_int_equal(tn_runtime_unload_library(test->runtime, "AddAmount"), TN_OK);
    assert_int_equal(count_libraries(test->runtime), 0);
}

static void test_each_allocation_of_an_edited_text_may_fail(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    layer.doc = "Edited.";
    options.flags = TN_COMPILE_ONLY;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL)); /* into the cache */
    options.flags = 0;
    tn_status status = TN_ERROR_MEMORY;
    for (uint64_t i = 1; status == TN_ERROR_MEMORY; i++) {
        test->memory.fail_at = test->memory.allocations + i;
        status = tn_compile_library(test->runtime, &options, NULL);
        test->memory.fail_at = 0;
        assert_int_equal(count_libraries(test->runtime), 1);
    }
    assert_int_equal(status, TN_OK);
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

/* --- a cached library that no longer loads --- */

static void make_helper(const compile_test *test, const char *version, const char *amount) {
    char command[2048];
    snprintf(
        command, sizeof(command),
        "cd '%s' && rm -f helper_*.so && echo 'float helper(void) { return %s; }' | cc -shared "
        "-fPIC -x c - -Wl,-soname,helper_%s.so -o helper_%s.so && ln -sf helper_%s.so "
        "libhelper.so",
        test->folder, amount, version, version, version);
    assert_int_equal(system(command), 0);
}

static void test_a_cached_library_that_does_not_load_is_compiled_again(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    char path[600], rpath[600];
    snprintf(path, sizeof(path), "-L%s", test->folder);
    snprintf(rpath, sizeof(rpath), "-Wl,-rpath,%s", test->folder);
    const char *const flags[] = {path, rpath}, *const libraries[] = {"helper"};
    options.layer = &layer;
    options.flag_count = 2, options.compiler_flags = flags;
    options.library_count = 1, options.libraries = libraries;
    options.flags = TN_COMPILE_ONLY;
    layer.support = "float helper(void);";
    layer.run = "for (uint64_t i = 0; i < x->bytes / 4; i++)\n"
                "    ((float *)y->data)[i] = ((const float *)x->data)[i] + helper();";
    make_helper(test, "1", "3");
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    make_helper(test, "2", "4");
    options.flags = 0;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 4);
}

/* --- CUDA --- */

/* Says that it is nvcc, refuses what nvcc refuses, and compiles as C++. */
#define FAKE_NVCC                                                                                  \
    "case \"$*\" in *--version*) echo 'nvcc: NVIDIA (R) Cuda compiler driver'; exit 0 ;; esac\n"   \
    "printf '%s\\n' \"$@\" > $f/arguments\n"                                                       \
    "n=0; for a; do n=$((n + 1)); case $a in -std=gnu*|-fPIC|-fvisibility=*) echo \"fatal: $a\"; " \
    "exit 1 ;; -Xcompiler|-fPIC,*|-cudart=*) ;; *.cu) set -- \"$@\" -x c++ \"$a\" -x none ;; "     \
    "*) set -- \"$@\" \"$a\" ;; esac; done; shift $n\nexec c++ -fPIC \"$@\""

static void test_text_for_nvcc_gets_options_that_it_understands(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    char path[512];
    options.layer = &layer;
    options.compiler = make_compiler(test, FAKE_NVCC);
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    snprintf(path, sizeof(path), "%s/arguments", test->folder);
    assert_non_null(strstr(read_text(path), "-std=c++20\n"));
    assert_non_null(strstr(read_text(path), "-Xcompiler\n-fPIC,-fvisibility=hidden\n"));
    assert_non_null(strstr(read_text(path), ".cu\n"));
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

static void test_missing_nvcc_is_named(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    options.flags = TN_COMPILE_CUDA;
    options.compiler = "no-such-nvcc";
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_NOT_FOUND, "NVCC");
}

/* With the real one, where it is: a kernel for GPUs, which is not run here. */
static void test_a_kernel_for_gpus_compiles(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    found_kernel found = {.count = 0};
    const char *const flags[] = {"-arch=sm_90"};
    if (access("/usr/local/cuda/bin/nvcc", X_OK) != 0) skip();
    options.layer = &layer;
    options.flags = TN_COMPILE_CUDA;
    options.compiler = "/usr/local/cuda/bin/nvcc";
    options.flag_count = 1, options.compiler_flags = flags;
    layer.device = "cuda";
    layer.reference = ADDING;
    layer.support = "__global__ static void add(const float *x, float *y, float amount, int n) {\n"
                    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                    "    if (i < n) y[i] = x[i] + amount;\n"
                    "}\n";
    layer.run = "const int n = (int)(x->bytes / 4);\n"
                "if (n) add<<<(n + 255) / 256, 256, 0, (cudaStream_t)call->stream>>>(\n"
                "    (const float *)x->data, (float *)y->data, fields->amount, n);";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    tn_runtime_visit_kernels(test->runtime, find_kernel, &found);
    assert_true(found.count == 1 && found.is_on_device);
    assert_adds(test->runtime, "AddAmount", 1.5f); /* by the reference */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        COMPILE_TEST(test_an_expression_is_fused),
        COMPILE_TEST(test_formats_and_lower_types_are_declared),
        COMPILE_TEST(test_callbacks_share_their_state),
        COMPILE_TEST(test_an_output_may_be_a_view),
        COMPILE_TEST(test_an_edited_text_replaces_the_first),
        COMPILE_TEST(test_each_allocation_of_an_edited_text_may_fail),
        COMPILE_TEST(test_a_cached_library_that_does_not_load_is_compiled_again),
        COMPILE_TEST(test_text_for_nvcc_gets_options_that_it_understands),
        COMPILE_TEST(test_missing_nvcc_is_named),
        COMPILE_TEST(test_a_kernel_for_gpus_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
