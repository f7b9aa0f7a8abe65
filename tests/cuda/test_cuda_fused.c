/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused kernels without a GPU: every built-in operator's expression, and chains of all kinds of
 * facets, compile through NVRTC (where it is installed); hostile expressions do not get there;
 * the cache on disk takes nothing that is damaged.
 */
#include "support/steps.h"
#include "kit/cuda/fused/fused_cache.h"
#include "kit/cuda/fused/fused_source.h"
#include "kit/cuda/nvrtc.h"

#include "plugin/fields/fields.h"
#include "plugin/registry.h"
#include "plugin/runtime.h"
#include "tensor/shape.h"
#include "test.h"
#include <tenon/tenon.h>

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAPABILITY = 90 };

typedef struct fused_fixture {
    tn_runtime *runtime;
    const tn_host *host;
    tn_arena *arena;
    const tn_operator *items[400];
    size_t count;
    char folder[64];
} fused_fixture;

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    fused_fixture *f = user;
    (void)library;
    if (op->expression && f->count < TEST_COUNT(f->items)) f->items[f->count++] = op;
    return true;
}

static int setup(void **state) {
    fused_fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    const tn_runtime_options options = {.size = sizeof options};
    assert_int_equal(tn_runtime_create(&options, &f->runtime), TN_OK);
    f->host = tn_runtime_host(f->runtime);
    assert_int_equal(tn_arena_create(tn_allocator_default(), &f->arena), TN_OK);
    tn_runtime_visit_operators(f->runtime, note_operator, f);
    strcpy(f->folder, "/tmp/tenon-fused-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    *state = f;
    return 0;
}

/* Removes what is in a folder, and it. */
static void remove_folder(const char *folder) {
    char path[512];
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
        (void)unlink(path);
    }
    if (files) closedir(files);
    (void)rmdir(folder);
}

static int teardown(void **state) {
    fused_fixture *f = *state;
    remove_folder(f->folder);
    tn_arena_destroy(f->arena);
    tn_runtime_release(f->runtime);
    free(f);
    return 0;
}

/* ----------------------------------------------------------------------------------------------
 * calls */

typedef struct fused_call {
    tn_call call;
    tn_tensor_storage inputs[8], operands[8], output;
    const tn_tensor *input_pointers[8], *operand_pointers[8];
    tn_tensor *output_pointer;
    seen_step seen[8];
    seen_buffer buffers[8];
    tn_step steps[8];
    const tn_step *step_pointers[8];
} fused_call;

static const tn_shape shape = {4, {2, 3, 5, 7}};

static tn_type pick_type(const tn_port_rule *rule, tn_type type) {
    return rule->types & TN_TYPE_BIT(type) ? type : TN_BOOL;
}

static void make_call(const fused_fixture *f, const tn_operator *op, tn_type type,
                      fused_call *out) {
    const tn_operator_entry *entry = NULL;
    void *params = NULL;
    *out = (fused_call){0};
    assert_int_equal(tn_registry_find_operator_exact(tn_runtime_registry(f->runtime), op->domain,
                                                     op->name, op->since_version, &entry),
                     TN_OK);
    assert_int_equal(tn_fields_parse(f->arena, op, 0, NULL, &params), TN_OK);
    for (uint32_t i = 0; i < op->input_count; i++) {
        const tn_type own = pick_type(&entry->inputs[i], type);
        assert_int_equal(tn_tensor_init(&out->inputs[i], own, TN_LINEAR, &shape), TN_OK);
        out->input_pointers[i] = &out->inputs[i].tensor;
    }
    const tn_type own = pick_type(&entry->outputs[0], type);
    assert_int_equal(tn_tensor_init(&out->output, own, TN_LINEAR, &shape), TN_OK);
    out->output_pointer = &out->output.tensor;
    tn_library_release(entry->library);
    out->call = (tn_call){.size = sizeof(tn_call),
                          .input_count = op->input_count,
                          .output_count = 1,
                          .host = f->host,
                          .op = op,
                          .params = params,
                          .inputs = out->input_pointers,
                          .outputs = &out->output_pointer,
                          .operands = out->operand_pointers,
                          .steps = out->step_pointers};
}

static seen_step *add_step(fused_call *c, uint32_t kind, bool has_operand) {
    seen_step *step = &c->seen[c->call.step_count];
    *step = (seen_step){.kind = kind, .alpha = 0.25F, .beta = 2, .has_operand = has_operand};
    c->step_pointers[c->call.step_count] = &c->steps[c->call.step_count];
    c->call.step_count++;
    if (!has_operand) return step;
    const uint32_t at = c->call.operand_count++;
    step->operand = at;
    assert_int_equal(tn_tensor_init(&c->operands[at], TN_F32, TN_LINEAR, &shape), TN_OK);
    c->operand_pointers[at] = &c->operands[at].tensor;
    return step;
}

static const tn_operator *find_operator(const fused_fixture *f, const char *name) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->items[i]->name, name) == 0) return f->items[i];
    fail_msg("no operator %s has an expression", name);
    return NULL;
}

/* The steps, as they are now. */
static void show(fused_call *c) {
    for (uint32_t i = 0; i < c->call.step_count; i++)
        show_step(&c->seen[i], i, NULL, &c->buffers[i], &c->steps[i]);
}

static char *source_of(fused_call *c) {
    show(c);
    char why[300] = "";
    tn_status status = TN_OK;
    char *source = tn_cuda_fused_source(&c->call, &status, why, sizeof(why));
    if (!source) fail_msg("%s: %s", c->call.op->name, why);
    return source;
}

/* Skips the test where there is no NVRTC. */
static void compile(const fused_fixture *f, fused_call *c) {
    char why[1000] = "";
    void *code = NULL;
    size_t bytes = 0;
    char *source = source_of(c);
    if (!tn_nvrtc_is_there(f->host)) {
        f->host->deallocate(f->host, source);
        skip();
    }
    const tn_status status =
        tn_nvrtc_compile(f->host, source, CAPABILITY, &code, &bytes, why, sizeof(why));
    if (status != TN_OK) fail_msg("%s: %s\n%s", c->call.op->name, why, source);
    assert_true(bytes > 1000 && memcmp(code, "\177ELF", 4) == 0);
    f->host->deallocate(f->host, code);
    f->host->deallocate(f->host, source);
}

/* ----------------------------------------------------------------------------------------------
 * sources */

/* Those of integers alone have no kernel from their expression on a device. */
static bool is_of_integers(const fused_fixture *f, const tn_operator *op) {
    const tn_operator_entry *entry = NULL;
    assert_int_equal(tn_registry_find_operator_exact(tn_runtime_registry(f->runtime), op->domain,
                                                     op->name, op->since_version, &entry),
                     TN_OK);
    const uint64_t served = TN_TYPE_BIT(TN_F32) | TN_TYPE_BIT(TN_BOOL);
    const bool answer = op->input_count > 0 && !(entry->inputs[0].types & served);
    tn_library_release(entry->library);
    return answer;
}

static void test_every_builtin_expression_compiles(void **state) {
    const fused_fixture *f = *state;
    fused_call c;
    assert_true(f->count > 40);
    for (size_t i = 0; i < f->count; i++) {
        if (is_of_integers(f, f->items[i])) continue;
        make_call(f, f->items[i], i % 2 ? TN_F32 : TN_F16, &c);
        compile(f, &c);
    }
}

static void test_chains_of_all_facets_compile(void **state) {
    const fused_fixture *f = *state;
    fused_call c;
    make_call(f, find_operator(f, "Add"), TN_BF16, &c);
    add_step(&c, SEEN_BIAS, true);
    add_step(&c, SEEN_SCALE, true);
    add_step(&c, SEEN_RESIDUAL, true);
    seen_step *row = add_step(&c, SEEN_ROW, false);
    row->op = find_operator(f, "Mish");
    row->expression = row->op->expression;
    seen_step *combine = add_step(&c, SEEN_EXPRESSION, true);
    combine->op = find_operator(f, "Div");
    combine->expression = combine->op->expression;
    combine->input = 1;
    seen_step *expression = add_step(&c, SEEN_EXPRESSION, false);
    expression->op = find_operator(f, "Sin");
    expression->expression = expression->op->expression;
    compile(f, &c);
    char *source = source_of(&c);
    assert_non_null(strstr(source, "#define COUNT 6"));
    f->host->deallocate(f->host, source);
}

static void test_all_activations_compile(void **state) {
    const fused_fixture *f = *state;
    for (uint32_t i = 0; i < 3; i++) {
        fused_call c;
        make_call(f, find_operator(f, "Neg"), TN_F32, &c);
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t activation = 1 + (i * 4 + k) % TN_ACTIVATION_ELU;
            add_step(&c, SEEN_ACTIVATION, false)->activation = activation;
        }
        compile(f, &c);
    }
}

static void refuse(fused_call *c, const char *part) {
    show(c);
    char why[300] = "";
    tn_status status = TN_OK;
    assert_null(tn_cuda_fused_source(&c->call, &status, why, sizeof(why)));
    assert_int_equal(status, TN_ERROR_UNSUPPORTED);
    if (!strstr(why, part)) fail_msg("'%s' does not contain '%s'", why, part);
}

static void test_hostile_expressions_never_become_source(void **state) {
    const fused_fixture *f = *state;
    static const char *const texts[] = {"X; asm(\"trap;\")",
                                        "X)\n#include \"/etc/passwd\"\n(",
                                        "printf(X)",
                                        "__trap()",
                                        "*(float *)0",
                                        "X = 1",
                                        ""};
    fused_call c;
    make_call(f, find_operator(f, "Neg"), TN_F32, &c);
    tn_operator hostile = *c.call.op;
    c.call.op = &hostile;
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        hostile.expression = texts[i];
        refuse(&c, "column");
    }
    hostile.expression = "X + unknown";
    refuse(&c, "'unknown' in its expression");
    hostile.expression = "threadIdx";
    refuse(&c, "'threadIdx' in its expression");
    c.call.op = find_operator(f, "Neg");
    seen_step *row = add_step(&c, SEEN_ROW, false);
    refuse(&c, "says not whose it is");
    row->op = &hostile;
    row->input = 3;
    refuse(&c, "says not whose it is");
    row->kind = SEEN_KINDS;
    refuse(&c, "not known");
    row->kind = SEEN_ACTIVATION;
    row->activation = 99;
    refuse(&c, "no expression");
}

static void test_types_that_are_not_served_are_refused(void **state) {
    const fused_fixture *f = *state;
    fused_call c;
    make_call(f, find_operator(f, "Neg"), TN_F32, &c);
    c.inputs[0].tensor.type = TN_I64;
    refuse(&c, "types");
    c.inputs[0].tensor.type = TN_I8; /* without a scale */
    refuse(&c, "types");
}

static void test_fields_become_numbers(void **state) {
    const fused_fixture *f = *state;
    fused_call a, b;
    make_call(f, find_operator(f, "LeakyRelu"), TN_F32, &a);
    char *first = source_of(&a);
    float other[16];
    memcpy(other, a.call.params, sizeof(uint64_t) + sizeof(float));
    other[2] = 0.5F;
    b = a;
    b.call.params = other;
    char *second = source_of(&b);
    assert_string_not_equal(first, second);
    assert_non_null(strstr(second, "0x3f000000u"));
    f->host->deallocate(f->host, first);
    f->host->deallocate(f->host, second);
}

/* ----------------------------------------------------------------------------------------------
 * the cache */

static const char code[] = "\177ELF and what comes after it";

static bool is_found(const fused_fixture *f, const char *key) {
    void *found = NULL;
    size_t bytes = 0;
    if (!tn_cuda_fused_cache_find(f->host, f->folder, key, &found, &bytes)) return false;
    assert_int_equal(bytes, sizeof(code));
    assert_memory_equal(found, code, sizeof(code));
    f->host->deallocate(f->host, found);
    return true;
}

/* The only file in the folder. */
static void find_file(const fused_fixture *f, char *path, size_t bytes) {
    DIR *files = opendir(f->folder);
    int count = 0;
    assert_non_null(files);
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        if (file->d_name[0] == '.') continue;
        snprintf(path, bytes, "%s/%s", f->folder, file->d_name);
        count++;
    }
    closedir(files);
    assert_int_equal(count, 1);
}

static void test_cache_keeps_what_was_added(void **state) {
    const fused_fixture *f = *state;
    assert_false(is_found(f, "a key"));
    tn_cuda_fused_cache_add(f->folder, "a key", code, sizeof(code));
    assert_true(is_found(f, "a key"));
    assert_false(is_found(f, "another key"));
    tn_cuda_fused_cache_add(f->folder, "a key", code, sizeof(code));
    assert_true(is_found(f, "a key"));
}

static void write_file(const char *path, const char *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void test_cache_ignores_damaged_files_and_replaces_them(void **state) {
    const fused_fixture *f = *state;
    char path[512] = "", data[512];
    tn_cuda_fused_cache_add(f->folder, "a key", code, sizeof(code));
    find_file(f, path, sizeof(path));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t bytes = fread(data, 1, sizeof(data), file);
    assert_int_equal(fclose(file), 0);
    assert_true(bytes > sizeof(code) && bytes < sizeof(data) - 1);
    for (size_t i = 0; i < bytes; i++) { /* each byte changed */
        data[i] = (char)(data[i] ^ 0x20);
        write_file(path, data, bytes);
        assert_false(is_found(f, "a key"));
        data[i] = (char)(data[i] ^ 0x20);
    }
    for (size_t i = 0; i < bytes; i++) { /* cut everywhere */
        write_file(path, data, i);
        assert_false(is_found(f, "a key"));
    }
    data[bytes] = 'x';
    write_file(path, data, bytes + 1);
    assert_false(is_found(f, "a key"));
    tn_cuda_fused_cache_add(f->folder, "a key", code, sizeof(code));
    assert_true(is_found(f, "a key"));
}

static void test_cache_without_a_folder_keeps_nothing(void **state) {
    fused_fixture *f = *state;
    remove_folder(f->folder);
    tn_cuda_fused_cache_add(f->folder, "a key", code, sizeof(code));
    assert_false(is_found(f, "a key"));
}

typedef struct cache_thread {
    const fused_fixture *fixture;
    bool has_wrong;
} cache_thread;

static void *add_and_find(void *user) {
    cache_thread *t = user;
    const fused_fixture *f = t->fixture;
    for (int i = 0; i < 200; i++) {
        void *found = NULL;
        size_t bytes = 0;
        tn_cuda_fused_cache_add(f->folder, "a key", code, sizeof(code));
        if (!tn_cuda_fused_cache_find(f->host, f->folder, "a key", &found, &bytes) ||
            bytes != sizeof(code) || memcmp(found, code, bytes) != 0)
            t->has_wrong = true;
        f->host->deallocate(f->host, found);
    }
    return NULL;
}

static void test_cache_serves_two_threads(void **state) {
    const fused_fixture *f = *state;
    cache_thread threads[2] = {{f, false}, {f, false}};
    pthread_t started[2];
    char path[512];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&started[i], NULL, add_and_find, &threads[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(started[i], NULL), 0);
        assert_false(threads[i].has_wrong);
    }
    find_file(f, path, sizeof(path));
}

static void test_cache_folder_is_the_users_own(void **state) {
    const fused_fixture *f = *state;
    char found[300], wanted[100];
    assert_int_equal(setenv("XDG_CACHE_HOME", f->folder, 1), 0);
    snprintf(wanted, sizeof(wanted), "%s/tenon", f->folder);
    assert_true(tn_cuda_fused_cache_folder(f->host, found, sizeof(found)));
    assert_string_equal(found, wanted);
    assert_int_equal(chmod(wanted, 0777), 0);
    assert_false(tn_cuda_fused_cache_folder(f->host, found, sizeof(found)));
    assert_int_equal(chmod(wanted, 0700), 0);
    assert_false(tn_cuda_fused_cache_folder(f->host, found, 10));
    const tn_runtime_options options = {.size = sizeof options, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *closed = NULL;
    assert_int_equal(tn_runtime_create(&options, &closed), TN_OK);
    assert_false(tn_cuda_fused_cache_folder(tn_runtime_host(closed), found, sizeof(found)));
    tn_runtime_release(closed);
    assert_int_equal(rmdir(wanted), 0);
    write_file(wanted, "x", 1);
    assert_false(tn_cuda_fused_cache_folder(f->host, found, sizeof(found)));
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(setenv("HOME", "nowhere", 1), 0);
    assert_false(tn_cuda_fused_cache_folder(f->host, found, sizeof(found)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_builtin_expression_compiles),
        TEST(test_chains_of_all_facets_compile),
        TEST(test_all_activations_compile),
        TEST(test_hostile_expressions_never_become_source),
        TEST(test_types_that_are_not_served_are_refused),
        TEST(test_fields_become_numbers),
        TEST(test_cache_keeps_what_was_added),
        TEST(test_cache_ignores_damaged_files_and_replaces_them),
        TEST(test_cache_without_a_folder_keeps_nothing),
        TEST(test_cache_serves_two_threads),
        TEST(test_cache_folder_is_the_users_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
