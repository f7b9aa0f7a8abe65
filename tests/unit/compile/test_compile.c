/* SPDX-License-Identifier: Apache-2.0 */
/* Layers from source text: whole sources, layers by their parts, and what the cache keeps. */
#include "compile_test.h"

#include <pthread.h>
#include <sys/wait.h>

#define WHOLE_SOURCE(amount, more)                                                                 \
    "#include <tenon/plugin.h>\n" more "static tn_status infer(tn_call *call) TN_NOEXCEPT {\n"     \
    "    call->outputs[0]->rank = call->inputs[0]->rank;\n"                                        \
    "    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)\n"                                   \
    "        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];\n"                            \
    "    return TN_OK;\n"                                                                          \
    "}\n"                                                                                          \
    "static tn_status run(tn_call *call) TN_NOEXCEPT {\n"                                          \
    "    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)\n"                              \
    "        ((float *)call->outputs[0]->data)[i] =\n"                                             \
    "            ((const float *)call->inputs[0]->data)[i] + " amount ";\n"                        \
    "    return TN_OK;\n"                                                                          \
    "}\n"                                                                                          \
    "static const tn_port inputs[] = {TN_PORT(\"x\", \"f32\", 0, \"\")};\n"                        \
    "static const tn_port outputs[] = {TN_PORT(\"y\", \"f32\", 0, \"\")};\n"                       \
    "static const tn_operator whole = {.size = sizeof(tn_operator), .since_version = 1,\n"         \
    "    .state_version = 1, .traits = 0, .domain = \"compiled\", .name = \"Whole\",\n"            \
    "    .variant = NULL, .doc = \"\", TN_NO_FIELDS, TN_INPUTS(inputs), TN_OUTPUTS(outputs),\n"    \
    "    .infer = infer, .reference = run};\n"                                                     \
    "static const tn_operator *const operators[] = {&whole};\n"                                    \
    "static const tn_kernel *const kernels[] = {(const tn_kernel *)0};\n"                          \
    "static tn_library library = {sizeof(tn_library), TN_ABI_MAJOR, TN_ABI_MINOR, 0, \"whole\",\n" \
    "    \"1\", 1, operators, 0, kernels, NULL, NULL, NULL, 0, NULL};\n"                           \
    "TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;\n"        \
    "tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {\n"                             \
    "    (void)host;\n"                                                                            \
    "    return &library;\n"                                                                       \
    "}\n"

static void test_whole_source_becomes_a_library(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    options.source = WHOLE_SOURCE("0.25f", "");
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "Whole", 0.25f);
}

static void test_whole_source_may_be_cpp(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    options.flags = TN_COMPILE_CPP;
    options.source =
        WHOLE_SOURCE("amount<float>()", "template <typename T> T amount() { return T(0.5); }\n");
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "Whole", 0.5f);
}

static void test_parts_of_a_layer_become_a_library(void **state) {
    const tn_attribute amount = {
        .size = sizeof(amount), .type = TN_FIELD_F32, .name = "amount", .f = 40};
    const tn_attribute *const attributes[] = {&amount};
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    float y[6];
    options.layer = &layer;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 1.5f);
    run_layer(test->runtime, "AddAmount", 1, attributes, y);
    assert_true(y[5] == 45);
}

static void test_parts_may_be_cpp(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    options.flags = TN_COMPILE_CPP;
    layer.support = "#include <algorithm>\nusing number = float;";
    layer.run = "std::transform((const number *)x->data, (const number *)x->data + x->bytes / 4,\n"
                "               (number *)y->data, [=](number v) { return v + 3; });";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 3);
}

/* --- every type of field, and texts that would break a source that did not quote them --- */

#define HOSTILE "a \"quote\", a \\ back\\slash, ?\?/ two marks,\nlines, */ // and \x01 \xff"

static bool find_hostile(void *user, const tn_operator *op, const tn_library_info *library) {
    if (strcmp(op->name, "AddAmount") != 0) return true;
    *(int *)user = strcmp(op->doc, HOSTILE) == 0 && strcmp(op->fields[0].doc, HOSTILE) == 0 &&
                   strcmp(op->inputs[0].doc, HOSTILE) == 0 && strcmp(op->domain, "compiled") == 0 &&
                   strcmp(op->fields[0].fallback, "7") == 0 &&
                   op->fields[0].maximum == 2147483647.0 &&
                   strcmp(library->name, "AddAmount") == 0 && op->case_count == 1 &&
                   strcmp(op->cases[0], "| x=f32[3]") == 0;
    return false;
}

static void test_texts_come_through_as_they_are(void **state) {
    const tn_compile_field field = {.size = sizeof(field),
                                    .type = TN_FIELD_I64,
                                    .name = "amount",
                                    .fallback = "7",
                                    .doc = HOSTILE,
                                    .minimum = -0.1,
                                    .maximum = 2147483647};
    const tn_compile_field *const fields[] = {&field};
    const tn_compile_port port = {.size = sizeof(port), .name = "x", .doc = HOSTILE};
    const tn_compile_port *const inputs[] = {&port};
    const char *const cases[] = {"| x=f32[3]"};
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    int is_right = 0;
    layer.doc = HOSTILE;
    layer.fields = fields;
    layer.inputs = inputs;
    layer.cases = cases;
    layer.case_count = 1;
    layer.run = "for (uint64_t i = 0; i < x->bytes / 4; i++)\n"
                "    ((float *)y->data)[i] = ((const float *)x->data)[i] + (float)fields->amount;";
    options.layer = &layer;
    options.source_name = HOSTILE;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    tn_runtime_visit_operators(test->runtime, find_hostile, &is_right);
    assert_true(is_right);
    assert_adds(test->runtime, "AddAmount", 7);
}

#define FIELD(field_name, field_type, text)                                                        \
    &(const tn_compile_field) {                                                                    \
        .size = sizeof(tn_compile_field), .name = (field_name), .type = (field_type),              \
        .fallback = (text), .choices = (field_type) == TN_FIELD_ENUM ? "slow|fast" : NULL          \
    }

static void test_every_type_of_field_is_at_hand(void **state) {
    const tn_compile_field *const fields[] = {
        FIELD("a", TN_FIELD_BOOL, "true"),      FIELD("b", TN_FIELD_I32, "2"),
        FIELD("c", TN_FIELD_I64, "3"),          FIELD("d", TN_FIELD_F32, "0.5"),
        FIELD("e", TN_FIELD_F64, "0.25"),       FIELD("f", TN_FIELD_STRING, "four"),
        FIELD("g", TN_FIELD_BYTES, NULL),       FIELD("h", TN_FIELD_TYPE, "f64"),
        FIELD("i", TN_FIELD_ENUM, "fast"),      FIELD("j", TN_FIELD_TENSOR, NULL),
        FIELD("k", TN_FIELD_I64S, "[10, 20]"),  FIELD("l", TN_FIELD_F32S, "[100]"),
        FIELD("m", TN_FIELD_F64S, "[1000, 0]"), FIELD("n", TN_FIELD_STRINGS, NULL)};
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    layer.fields = fields;
    layer.field_count = TEST_COUNT(fields);
    layer.reference = layer.run =
        "double sum = fields->a + fields->b + (double)fields->c + fields->d + fields->e;\n"
        "sum += (double)strlen(fields->f) + (double)fields->g.count + (fields->h == TN_F64);\n"
        "sum += fields->i + (fields->j ? 1e6 : 0);\n"
        "sum += (double)(fields->k.items[0] + fields->k.items[1]) + fields->l.items[0];\n"
        "sum += fields->m.items[0] + (double)fields->m.count + (double)fields->n.count;\n"
        "for (uint64_t k = 0; k < x->bytes / 4; k++)\n"
        "    ((float *)y->data)[k] = ((const float *)x->data)[k] + (float)sum;";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 1 + 2 + 3 + 0.75f + 4 + 1 + 1 + 30 + 100 + 1000 + 2);
}

static void test_code_may_refuse_with_a_reason(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    tn_graph *graph;
    tn_plan *plan;
    tn_tensor_id input, output;
    const int64_t shape[] = {4};
    options.layer = &layer;
    layer.infer = "if (x->rank != 2)\n"
                  "    return call->host->fail(call, TN_ERROR_SHAPE, \"rank %u\", x->rank);\n"
                  "y->rank = 2;\n"
                  "y->shape[0] = x->shape[0], y->shape[1] = x->shape[1];";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 1.5f);
    assert_int_equal(tn_graph_create(test->runtime, "net", &graph), TN_OK);
    assert_int_equal(tn_graph_add_input(graph, "x", TN_F32, 1, shape, NULL, &input), TN_OK);
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "compiled",
                                      .op = "AddAmount",
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = &input};
    assert_int_equal(tn_graph_add_node(graph, &node, &output), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, output, "y"), TN_OK);
    assert_failed(tn_build(graph, NULL, &plan), TN_ERROR_SHAPE, "rank 1");
    tn_graph_destroy(graph);
}

static void test_libraries_folders_and_flags_reach_the_compiler(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    char path[512];
    const char *const folders[] = {test->folder}, *const flags[] = {"-DTWICE(x)=((x) + (x))"};
    const char *const libraries[] = {"m"};
    snprintf(path, sizeof(path), "%s/my amount#1.h", test->folder);
    write_text(path, "#define MY_AMOUNT TWICE(1.25f)\n");
    options.layer = &layer;
    options.include_folder_count = options.flag_count = options.library_count = 1;
    options.include_folders = folders;
    options.compiler_flags = flags;
    options.libraries = libraries;
    layer.support = "#include \"my amount#1.h\"";
    layer.run = "for (uint64_t i = 0; i < x->bytes / 4; i++)\n"
                "    ((float *)y->data)[i] = ((const float *)x->data)[i] + MY_AMOUNT;";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 2.5f);
    /* The file is part of what the cache goes by. */
    write_text(path, "#define MY_AMOUNT TWICE(1.5f)\n");
    assert_int_equal(tn_runtime_unload_library(test->runtime, "AddAmount"), TN_OK);
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 3);
}

static bool count_one(void *user, const tn_operator *op, const tn_library_info *library) {
    (void)library;
    *(int *)user += strcmp(op->name, "AddAmount") == 0;
    return true;
}

static void test_library_is_not_loaded_when_it_is_only_compiled(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    char *path = NULL;
    int count = 0;
    options.layer = &layer;
    options.flags = TN_COMPILE_ONLY;
    assert_compiled(tn_compile_library(test->runtime, &options, &path));
    tn_runtime_visit_operators(test->runtime, count_one, &count);
    assert_int_equal(count, 0);
    assert_compiled(tn_runtime_load_library(test->runtime, path));
    tn_text_free(test->runtime, path);
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

static void test_warnings_go_to_the_log(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    const char *const flags[] = {"-Wunused-variable"};
    options.source = WHOLE_SOURCE("0.25f", "static int lonely;\n");
    options.flag_count = 1;
    options.compiler_flags = flags;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    if (!strstr(test->log, "source:2")) fail_msg("the log says '%s'", test->log);
    assert_non_null(strstr(test->log, "lonely"));
}

/* --- the cache --- */

static void test_same_source_is_compiled_once(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    const char *const flags[] = {"-DSOMETHING=1"};
    char *first = NULL, *again = NULL;
    options.layer = &layer;
    options.compiler = make_compiler(test, COUNTING_COMPILER);
    options.flags = TN_COMPILE_ONLY;
    assert_compiled(tn_compile_library(test->runtime, &options, &first));
    assert_compiled(tn_compile_library(test->runtime, &options, &again));
    assert_string_equal(first, again);
    assert_int_equal(count_compilations(test), 1);
    options.flags |= TN_COMPILE_REBUILD;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_int_equal(count_compilations(test), 2);
    options.flags = TN_COMPILE_ONLY;
    options.flag_count = 1;
    options.compiler_flags = flags;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_int_equal(count_compilations(test), 3);
    layer.run = "(void)x;";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_int_equal(count_compilations(test), 4);
    tn_text_free(test->runtime, first);
    tn_text_free(test->runtime, again);
}

static void test_another_version_of_the_compiler_compiles_again(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    options.flags = TN_COMPILE_ONLY;
    options.compiler = make_compiler(test, COUNTING_COMPILER);
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    make_compiler(test, "case \"$*\" in *--version*) echo 99 ;; *) printf x >> $f/count ;; esac\n"
                        "exec cc \"$@\"");
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_int_equal(count_compilations(test), 2);
}

/* The one file of the cache whose name ends so. */
static const char *find_in_cache(const compile_test *test, const char *ending) {
    static char path[600];
    char command[800];
    snprintf(command, sizeof(command), "ls %s/*%s", test->cache, ending);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_non_null(fgets(path, sizeof(path), list));
    pclose(list);
    path[strcspn(path, "\n")] = 0;
    return path;
}

static void test_damaged_entries_are_compiled_again(void **state) {
    static const char *const damages[] = {"",
                                          "tenon-compile 1\n",
                                          "tenon-compile 2\nend\n",
                                          "tenon-compile 1\nlibrary 0\nend\n",
                                          "tenon-compile 1\nlibrary ../../../../../x\nend\n",
                                          "tenon-compile 1\nend\n",
                                          "\n\n\n",
                                          "\x01\xff"};
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    char whole[4096], path[600];
    options.layer = &layer;
    options.flags = TN_COMPILE_ONLY;
    options.compiler = make_compiler(test, COUNTING_COMPILER);
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    snprintf(path, sizeof(path), "%s", find_in_cache(test, ".txt"));
    snprintf(whole, sizeof(whole), "%s", read_text(path));
    for (size_t i = 0; i < TEST_COUNT(damages); i++) {
        write_text(path, damages[i]);
        assert_compiled(tn_compile_library(test->runtime, &options, NULL));
        assert_int_equal(count_compilations(test), i + 2);
        assert_string_equal(read_text(path), whole);
    }
    truncate(find_in_cache(test, ".so"), 1000);
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_int_equal(count_compilations(test), TEST_COUNT(damages) + 2);
    remove(find_in_cache(test, ".so"));
    options.flags = 0;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_int_equal(count_compilations(test), TEST_COUNT(damages) + 3);
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

/* A compiler that works until FOLDER/stop is there: from then on, what is found is the cache's. */
#define STOPPING_COMPILER                                                                          \
    "case \"$*\" in *--version*) ;; *) [ ! -e $f/stop ] || exit 3 ;; esac\nexec cc \"$@\""

static void test_entry_that_is_cut_anywhere_is_no_entry(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    char whole[4096], path[600], stop[300];
    options.layer = &layer;
    options.flags = TN_COMPILE_ONLY;
    options.compiler = make_compiler(test, STOPPING_COMPILER);
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    snprintf(path, sizeof(path), "%s", find_in_cache(test, ".txt"));
    snprintf(whole, sizeof(whole), "%s", read_text(path));
    snprintf(stop, sizeof(stop), "%s/stop", test->folder);
    write_text(stop, "");
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    for (size_t length = strlen(whole); length-- > 0;) {
        char cut[4096];
        snprintf(cut, sizeof(cut), "%.*s", (int)length, whole);
        write_text(path, cut);
        assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN,
                      "answers 3");
    }
    write_text(path, whole);
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
}

static void test_processes_may_compile_the_same_at_once(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    pid_t children[4];
    options.layer = &layer;
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            int good = 1;
            for (int k = 0; good && k < 3; k++) {
                options.flags = k == 1 ? TN_COMPILE_REBUILD : 0;
                good = tn_compile_library(test->runtime, &options, NULL) == TN_OK;
            }
            if (!good) fprintf(stderr, "%s\n", tn_last_error()->message);
            _exit(good ? 0 : 1);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status = 1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    options.flags = 0;
    options.compiler = "cc";
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

static void *compile_twice(void *user) {
    compile_test *test = user;
    const tn_compile_layer layer = add_layer();
    tn_compile_options options = compile_options(test);
    options.layer = &layer;
    const bool is_good = tn_compile_library(test->runtime, &options, NULL) == TN_OK &&
                         tn_compile_library(test->runtime, &options, NULL) == TN_OK;
    if (!is_good) fprintf(stderr, "%s\n", tn_last_error()->message);
    return is_good ? test : NULL;
}

static void test_threads_may_compile_the_same_at_once(void **state) {
    compile_test *test = *state;
    pthread_t threads[4];
    void *answer;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_twice, test), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &answer), 0);
        assert_non_null(answer);
    }
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

static void test_environment_names_compiler_and_cache(void **state) {
    compile_test *test = *state;
    tn_compile_layer layer = add_layer();
    const tn_compile_options options = {
        .size = sizeof(options), .layer = &layer, .flags = TN_COMPILE_ONLY};
    char command[600], *path = NULL;
    tn_runtime *runtime = compile_test_runtime(test, 0);
    snprintf(command, sizeof(command), "env  FOO=1 %s", make_compiler(test, COUNTING_COMPILER));
    setenv("CC", command, 1);
    setenv("XDG_CACHE_HOME", test->folder, 1);
    assert_compiled(tn_compile_library(runtime, &options, &path));
    unsetenv("CC");
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(count_compilations(test), 1);
    assert_int_equal(strncmp(path, test->folder, strlen(test->folder)), 0);
    assert_int_equal(strncmp(path + strlen(test->folder), "/tenon/", 7), 0);
    tn_text_free(runtime, path);
    tn_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        COMPILE_TEST(test_whole_source_becomes_a_library),
        COMPILE_TEST(test_whole_source_may_be_cpp),
        COMPILE_TEST(test_parts_of_a_layer_become_a_library),
        COMPILE_TEST(test_parts_may_be_cpp),
        COMPILE_TEST(test_texts_come_through_as_they_are),
        COMPILE_TEST(test_every_type_of_field_is_at_hand),
        COMPILE_TEST(test_code_may_refuse_with_a_reason),
        COMPILE_TEST(test_libraries_folders_and_flags_reach_the_compiler),
        COMPILE_TEST(test_library_is_not_loaded_when_it_is_only_compiled),
        COMPILE_TEST(test_warnings_go_to_the_log),
        COMPILE_TEST(test_same_source_is_compiled_once),
        COMPILE_TEST(test_another_version_of_the_compiler_compiles_again),
        COMPILE_TEST(test_damaged_entries_are_compiled_again),
        COMPILE_TEST(test_entry_that_is_cut_anywhere_is_no_entry),
        COMPILE_TEST(test_processes_may_compile_the_same_at_once),
        COMPILE_TEST(test_threads_may_compile_the_same_at_once),
        COMPILE_TEST(test_environment_names_compiler_and_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
