/* SPDX-License-Identifier: Apache-2.0 */
/* Layers from source text where something is wrong: options, compilers, folders, memory. */
#include "compile_test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

/* --- what the author wrote --- */

static void test_errors_have_the_authors_lines(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    layer.run = "const float *from = (const float *)x->data;\nfloat twice = from[0] * 2;\n"
                "y->rank = undeclared + (uint32_t)twice;";
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN,
                  "AddAmount.run:3:");
    assert_non_null(strstr(tn_last_error()->message, "undeclared"));
    assert_non_null(strstr(tn_last_error()->where, "compiling 'AddAmount'"));
    options.source_name = "soft.c";
    layer.run = "(void)x;";
    layer.support = "\n\nint helper = ;";
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN,
                  "soft.c.support:3:");
    layer.support = NULL;
    layer.reference = "(void)y;\nreturn nothing;";
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN,
                  "soft.c.reference:2:");
    layer.reference = NULL;
    layer.infer = "}";
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN,
                  "soft.c (the code around it):");
    options.layer = NULL;
    options.source = "#include <tenon/plugin.h>\n\nint main(void) { return nobody; }\n";
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN, "soft.c:3:");
}

static void test_long_complaints_are_cut_at_a_line(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    char source[4096] = "";
    for (int i = 0; i < 100; i++)
        snprintf(source + strlen(source), sizeof(source) - strlen(source), "int a%d = b%d;\n", i,
                 i);
    options.source = source;
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_PLUGIN,
                  "\n(more of it is in the log)");
    assert_non_null(strstr(tn_last_error()->message, "source:1:"));
    assert_non_null(strstr(test->log, "source:40:"));
}

static void test_source_that_is_no_plugin_is_refused_by_the_loader(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    char *path = NULL;
    options.source = "int nothing;";
    assert_failed(tn_compile_library(test->runtime, &options, &path), TN_ERROR_PLUGIN,
                  "does not export 'tenon_library_1'");
    assert_non_null(strstr(tn_last_error()->where, "compiled from 'source'"));
    assert_null(path);
    options.source = "extern int nowhere; int *there(void); int *there(void) { return &nowhere; }";
    assert_failed(tn_compile_library(test->runtime, &options, &path), TN_ERROR_PLUGIN, "nowhere");
    assert_null(path);
}

static void test_operator_that_is_there_already_is_refused(void **state) {
    compile_test *test = *state;
    tn_compile_options options = compile_options(test);
    tn_compile_layer layer = add_layer();
    options.layer = &layer;
    assert_compiled(tn_compile_library(test->runtime, &options, NULL));
    layer.doc = "Another one.";
    options.source_name = "elsewhere"; /* what is edited has one name */
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_ARGUMENT, "already");
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

/* --- options --- */

static void refuse(const compile_test *test, const tn_compile_layer *layer, const char *part) {
    tn_compile_options options = compile_options(test);
    options.layer = layer;
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_ARGUMENT, part);
}

static void test_layers_that_are_no_layers_are_refused(void **state) {
    const compile_test *test = *state;
    const tn_compile_layer good = add_layer();
    tn_compile_layer layer = good;
    const tn_compile_port *const no_ports[] = {NULL};
    const tn_compile_field *const no_fields[] = {NULL};
    const char *const no_cases[] = {NULL};
    layer.name = "Soft Clip";
    refuse(test, &layer, "'Soft Clip': expected an identifier");
    layer.name = "a\"); system(\"true";
    refuse(test, &layer, "expected an identifier");
    layer.name = NULL;
    refuse(test, &layer, "expected an identifier");
    layer = good, layer.run = NULL;
    refuse(test, &layer, "no code for 'run'");
    layer = good, layer.input_count = 0;
    refuse(test, &layer, "no code for 'infer', and no input");
    layer = good, layer.output_count = 0;
    refuse(test, &layer, "1 field");
    layer = good, layer.field_count = 65;
    refuse(test, &layer, "65 fields");
    layer = good, layer.input_count = UINT32_MAX;
    refuse(test, &layer, "4294967295 inputs");
    layer = good, layer.fields = NULL;
    refuse(test, &layer, "not there");
    layer = good, layer.inputs = NULL;
    refuse(test, &layer, "not there");
    layer = good, layer.case_count = 1;
    refuse(test, &layer, "not there");
    layer.cases = no_cases;
    refuse(test, &layer, "number 0 of the cases is null");
    layer = good, layer.fields = no_fields;
    refuse(test, &layer, "field 0 is null");
    layer = good, layer.outputs = no_ports;
    refuse(test, &layer, "output 0 is null");
    layer = good, layer.expression = "x + amount";
    refuse(test, &layer, "expected TN_OPERATOR_ELEMENTWISE");
    layer.traits = TN_OPERATOR_ELEMENTWISE, layer.run = NULL;
    layer.reference = "return TN_OK;", layer.accepts = "return TN_OK;";
    refuse(test, &layer, "'accepts' of a kernel, and no code for 'run'");
    layer = good, layer.release = "";
    refuse(test, &layer, "'release' without 'prepare'");
    layer = good, layer.device = "cuda";
    refuse(test, &layer,
           "no code for 'reference': its 'run' cannot serve, since it is for a device");
    layer = good, layer.combination_count = 1, layer.reference = good.run;
    refuse(test, &layer, "combinations that are not there");
    layer.combinations = no_cases;
    refuse(test, &layer, "number 0 of the combinations is null");
    layer = good, layer.size = 8; /* of a header that had nothing yet */
    refuse(test, &layer, "expected an identifier");
}

static void refuse_field(const compile_test *test, const tn_compile_field *field,
                         const char *part) {
    tn_compile_layer layer = add_layer();
    layer.fields = &field;
    refuse(test, &layer, part);
}

static void test_fields_that_are_no_fields_are_refused(void **state) {
    const compile_test *test = *state;
    const tn_compile_field good = {.size = sizeof(good), .type = TN_FIELD_F32, .name = "a"};
    tn_compile_field field = good;
    field.name = "a; int b";
    refuse_field(test, &field, "the name of field 0 is 'a; int b'");
    field.name = NULL;
    refuse_field(test, &field, "the name of field 0 is missing");
    field.name = "";
    refuse_field(test, &field, "the name of field 0 is ''");
    field.name = "0a";
    refuse_field(test, &field, "'0a'");
    field = good, field.type = 0;
    refuse_field(test, &field, "field 'a' has type 0");
    field.type = TN_FIELD_GRAPH;
    refuse_field(test, &field, "field 'a' has type 15");
    field = good, field.maximum = 1.0 / 0.0;
    refuse_field(test, &field, "bounds of field 'a' are not finite");
}

static void refuse_port(const compile_test *test, const tn_compile_port *port, const char *part) {
    tn_compile_layer layer = add_layer();
    const tn_compile_port *const ports[] = {port, layer.inputs[0]};
    layer.inputs = ports;
    layer.input_count = 2;
    refuse(test, &layer, part);
}

static void test_ports_that_are_no_ports_are_refused(void **state) {
    const compile_test *test = *state;
    const tn_compile_port good = {.size = sizeof(good), .name = "a"};
    tn_compile_port port = good;
    port.name = "a b";
    refuse_port(test, &port, "the name of input 0 is 'a b'");
    port.name = "call";
    refuse_port(test, &port, "may not be named 'call'");
    port = good, port.flags = TN_PORT_VIEW;
    refuse_port(test, &port, "input 'a' shares the memory of input 0");
    port = good, port.flags = 1u << 20;
    refuse_port(test, &port, "input 'a' has flags 0x100000 that are not known");
    port = good, port.flags = TN_PORT_VARIADIC;
    refuse_port(test, &port, "input 'a' is variadic, and not the last");
}

static void refuse_options(compile_test *test, const tn_compile_options *options,
                           const char *part) {
    assert_failed(tn_compile_library(test->runtime, options, NULL), TN_ERROR_ARGUMENT, part);
}

static void test_options_that_make_no_sense_are_refused(void **state) {
    compile_test *test = *state;
    const tn_compile_layer layer = add_layer();
    const char *const nothing[] = {NULL}, *const empty[] = {""};
    tn_compile_options options = compile_options(test);
    refuse_options(test, NULL, "no options");
    assert_failed(tn_compile_library(NULL, &options, NULL), TN_ERROR_ARGUMENT, "no runtime");
    refuse_options(test, &options, "neither a source nor a layer");
    options.source = "";
    options.layer = &layer;
    refuse_options(test, &options, "a source, and a layer too");
    options.source = NULL, options.flags = 64;
    refuse_options(test, &options, "flags that are not known: 0x40");
    options.flags = 0, options.seconds = -1;
    refuse_options(test, &options, "a limit of -1 seconds");
    options.seconds = 0.0 / 0.0;
    refuse_options(test, &options, "seconds");
    options.seconds = 0, options.library_count = 1;
    refuse_options(test, &options, "count 1 libraries, which are not there");
    options.libraries = nothing;
    refuse_options(test, &options, "number 0 of the libraries is empty");
    options.library_count = 0, options.flag_count = 1, options.compiler_flags = empty;
    refuse_options(test, &options, "number 0 of the compiler flags is empty");
    options.flag_count = 0, options.include_folder_count = UINT32_MAX;
    refuse_options(test, &options, "include folders, which are not there");
    options.include_folder_count = 0, options.compiler = "  ";
    refuse_options(test, &options, "the compiler's name is empty");
    options.compiler = NULL, options.cache_folder = NULL;
    refuse_options(test, &options, "without the environment it must be given");
    options.cache_folder = "";
    refuse_options(test, &options, "the path of the cache folder is empty");
}

/* --- compilers --- */

static tn_status compile_with(compile_test *test, const char *compiler, double seconds) {
    const tn_compile_layer layer = add_layer();
    tn_compile_options options = compile_options(test);
    options.layer = &layer;
    options.compiler = compiler;
    options.seconds = seconds;
    return tn_compile_library(test->runtime, &options, NULL);
}

static void test_missing_compiler_is_named(void **state) {
    compile_test *test = *state;
    assert_failed(compile_with(test, "no-such-compiler", 0), TN_ERROR_NOT_FOUND,
                  "cannot run 'no-such-compiler': No such file or directory: a layer from source "
                  "needs a compiler");
    assert_failed(compile_with(test, "/no/such/cc", 0), TN_ERROR_NOT_FOUND, "'/no/such/cc'");
    assert_failed(compile_with(test, test->folder, 0), TN_ERROR_NOT_FOUND, "Permission denied");
}

static double seconds_since(const struct timespec *start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* Whether the process whose number is in FOLDER/pid is gone; a killed one may linger a moment. */
static bool is_gone(const compile_test *test) {
    char path[512];
    snprintf(path, sizeof(path), "%s/pid", test->folder);
    const pid_t child = (pid_t)strtol(read_text(path), NULL, 10);
    assert_true(child > 1);
    for (int i = 0; i < 200; i++) {
        char stat[64];
        snprintf(stat, sizeof(stat), "/proc/%d/stat", (int)child);
        const char *after = strrchr(read_text(stat), ')');
        if (!after || after[2] == 'Z') return true;
        usleep(10000);
    }
    return false;
}

static void test_compiler_that_hangs_is_killed_with_its_children(void **state) {
    compile_test *test = *state;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    const char *hangs = make_compiler(test, "case \"$*\" in *--version*) echo 1; exit ;; esac\n"
                                            "sleep 100 & echo $! > $f/pid; wait");
    assert_failed(compile_with(test, hangs, 0.3), TN_ERROR_PLUGIN,
                  "was stopped: it had not ended after 0.3 seconds");
    assert_true(seconds_since(&start) < 20);
    assert_true(is_gone(test));
    hangs = make_compiler(test, "echo $$ > $f/pid; exec sleep 100");
    assert_failed(compile_with(test, hangs, 0.3), TN_ERROR_PLUGIN, "was stopped");
    assert_true(is_gone(test));
}

static void test_compiler_that_never_stops_talking_is_killed(void **state) {
    compile_test *test = *state;
    const char *talks = make_compiler(test, "case \"$*\" in *--version*) echo 1; exit ;; esac\n"
                                            "exec yes 'warning: on and on'");
    assert_failed(compile_with(test, talks, 0.5), TN_ERROR_PLUGIN, "was stopped");
}

static void test_children_that_hold_the_pipe_do_not_hold_us(void **state) {
    compile_test *test = *state;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    const char *leaves = make_compiler(test, "(sleep 3) &\nexec cc \"$@\"");
    assert_compiled(compile_with(test, leaves, 0));
    assert_true(seconds_since(&start) < 3);
}

static void test_compilers_that_fail_or_lie_are_named(void **state) {
    compile_test *test = *state;
    assert_failed(compile_with(test, make_compiler(test, "exit 7"), 0), TN_ERROR_PLUGIN,
                  "answers 7:\nit says nothing");
    assert_failed(compile_with(test, make_compiler(test, "kill -SEGV $$"), 0), TN_ERROR_PLUGIN,
                  "answers 139");
    assert_failed(compile_with(test, make_compiler(test, "exit 0"), 0), TN_ERROR_PLUGIN,
                  "says that all is well, and wrote no library");
    assert_failed(compile_with(test, make_compiler(test, "printf 'a\\0b\\377' >&2; exit 1"), 0),
                  TN_ERROR_PLUGIN, "answers 1:\na?b\xff");
    assert_failed(compile_with(test,
                               make_compiler(test, "while [ \"$1\" ]; do [ \"$1\" != -o ] || echo "
                                                   "rubbish > \"$2\"; shift; done"),
                               0),
                  TN_ERROR_PLUGIN, "cannot load library");
}

static void test_compiler_is_heard_where_sigchld_is_ignored(void **state) {
    compile_test *test = *state;
    signal(SIGCHLD, SIG_IGN);
    const tn_status status = compile_with(test, NULL, 0);
    signal(SIGCHLD, SIG_DFL);
    assert_compiled(status);
    assert_adds(test->runtime, "AddAmount", 1.5f);
}

/* --- folders --- */

static void refuse_folder(compile_test *test, const char *folder, const char *part) {
    const tn_compile_layer layer = add_layer();
    tn_compile_options options = compile_options(test);
    options.layer = &layer;
    options.cache_folder = folder;
    assert_failed(tn_compile_library(test->runtime, &options, NULL), TN_ERROR_IO, part);
}

static void test_folders_that_cannot_be_used_are_named(void **state) {
    compile_test *test = *state;
    char path[600];
    snprintf(path, sizeof(path), "%s/file", test->folder);
    write_text(path, "");
    refuse_folder(test, path, "is not a folder");
    snprintf(path, sizeof(path), "%s/file/inside", test->folder);
    refuse_folder(test, path, "cannot make the cache folder");
    refuse_folder(test, "/proc/cache", "cannot make the cache folder '/proc/cache'");
    snprintf(path, sizeof(path), "%s/open", test->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    refuse_folder(test, path, "may be written by others");
    assert_int_equal(chmod(path, 0720), 0);
    refuse_folder(test, path, "may be written by others");
    if (geteuid() == 0) return; /* who may write everywhere */
    assert_int_equal(chmod(path, 0500), 0);
    refuse_folder(test, path, "cannot write in the cache folder");
    refuse_folder(test, "/etc", "may be written by others");
}

static size_t count_parts(const compile_test *test) {
    size_t count = 0;
    DIR *folder = opendir(test->cache);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strstr(entry->d_name, ".part") != NULL;
    closedir(folder);
    return count;
}

static void test_failures_leave_no_half_files(void **state) {
    compile_test *test = *state;
    compile_with(test,
                 make_compiler(test, "while [ \"$1\" ]; do case \"$1\" in -o|-MF) echo "
                                     "half > \"$2\" ;; esac; shift; done; exit 1"),
                 0);
    assert_failed(TN_ERROR_PLUGIN, TN_ERROR_PLUGIN, "answers 1");
    assert_int_equal(count_parts(test), 0);
    assert_compiled(compile_with(test, NULL, 0));
    assert_int_equal(count_parts(test), 0);
}

/* --- memory --- */

/* A compiler that copies what was compiled before: each call is quick. */
#define COPYING_COMPILER                                                                           \
    "while [ \"$1\" ]; do\n  case \"$1\" in\n  -o) cp $f/ready.so \"$2\" ;;\n"                     \
    "  -MF) echo \"x: /dev/null\" > \"$2\" ;;\n  esac\n  shift\ndone"

static void test_every_allocation_may_fail(void **state) {
    compile_test *test = *state;
    const tn_compile_layer layer = add_layer();
    const char *const folders[] = {test->folder}, *const libraries[] = {"m"};
    tn_compile_options options = compile_options(test);
    char *path = NULL, command[1200];
    options.layer = &layer;
    options.flags = TN_COMPILE_ONLY;
    options.include_folder_count = options.library_count = 1;
    options.include_folders = folders;
    options.libraries = libraries;
    assert_compiled(tn_compile_library(test->runtime, &options, &path));
    snprintf(command, sizeof(command), "cp '%s' '%s/ready.so'", path, test->folder);
    tn_text_free(test->runtime, path);
    assert_int_equal(system(command), 0);
    options.compiler = make_compiler(test, COPYING_COMPILER);
    for (uint32_t flags = 0; flags <= TN_COMPILE_REBUILD; flags++) {
        uint64_t failed = 0;
        for (bool is_done = false; !is_done; failed++) {
            char *found = NULL;
            const int64_t live = test->memory.live;
            options.flags = flags;
            test->memory.fail_at = test->memory.allocations + failed + 1;
            const tn_status status = tn_compile_library(test->runtime, &options, &found);
            is_done = test->memory.fail_at > test->memory.allocations;
            test->memory.fail_at = 0;
            if (is_done) {
                assert_compiled(status);
                assert_adds(test->runtime, "AddAmount", 1.5f);
            } else if (status != TN_OK) {
                assert_failed(status, TN_ERROR_MEMORY, "memory");
                assert_null(found);
            }
            tn_text_free(test->runtime, found);
            if (status == TN_OK)
                assert_int_equal(tn_runtime_unload_library(test->runtime, "AddAmount"), TN_OK);
            else
                assert_int_equal(test->memory.live, live);
            assert_true(failed < 2000);
        }
        assert_true(failed > 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        COMPILE_TEST(test_errors_have_the_authors_lines),
        COMPILE_TEST(test_long_complaints_are_cut_at_a_line),
        COMPILE_TEST(test_source_that_is_no_plugin_is_refused_by_the_loader),
        COMPILE_TEST(test_operator_that_is_there_already_is_refused),
        COMPILE_TEST(test_layers_that_are_no_layers_are_refused),
        COMPILE_TEST(test_fields_that_are_no_fields_are_refused),
        COMPILE_TEST(test_ports_that_are_no_ports_are_refused),
        COMPILE_TEST(test_options_that_make_no_sense_are_refused),
        COMPILE_TEST(test_missing_compiler_is_named),
        COMPILE_TEST(test_compiler_that_hangs_is_killed_with_its_children),
        COMPILE_TEST(test_compiler_that_never_stops_talking_is_killed),
        COMPILE_TEST(test_children_that_hold_the_pipe_do_not_hold_us),
        COMPILE_TEST(test_compilers_that_fail_or_lie_are_named),
        COMPILE_TEST(test_compiler_is_heard_where_sigchld_is_ignored),
        COMPILE_TEST(test_folders_that_cannot_be_used_are_named),
        COMPILE_TEST(test_failures_leave_no_half_files),
        COMPILE_TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
