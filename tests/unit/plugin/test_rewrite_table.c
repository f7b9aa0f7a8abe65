/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rewrites: what is read, what is refused and where, when they can be added, and what a
 * library leaves behind. */
#include "plugin/library.h"
#include "plugin/rewrite/pattern.h"
#include "plugin/runtime.h"

#include "failing_allocator.h"
#include "test.h"

static tn_rewrite table = {.size = sizeof(tn_rewrite), .name = "table"};
static const tn_rewrite *const tables[] = {&table};
static const tn_host *host;
static tn_library library;

static tn_status look(const tn_match *match) {
    return match->host && match->host_private && match->user == &table ? TN_OK : TN_ERROR_PLUGIN;
}

static tn_library *entry(const tn_host *given) {
    host = given;
    library = (tn_library){.size = sizeof library,
                           .abi_major = TN_ABI_MAJOR,
                           .abi_minor = TN_ABI_MINOR,
                           .name = "rewrites",
                           .rewrite_count = 1,
                           .rewrites = tables};
    return &library;
}

static tn_runtime *make_runtime(const tn_allocator *allocator) {
    const tn_runtime_options options = {
        .size = sizeof(options), .allocator = allocator, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime = NULL;
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    return runtime;
}

/* Registers a table of these texts; null: they are sound. */
static const char *error_of(const char *pattern, const char *replacement) {
    static char message[1200];
    tn_runtime *runtime = make_runtime(NULL);
    table.pattern = pattern;
    table.replacement = replacement;
    const tn_status status = tn_runtime_register_library(runtime, entry);
    snprintf(message, sizeof message, "%s", status == TN_OK ? "" : tn_last_error()->message);
    tn_runtime_release(runtime);
    return status == TN_OK ? NULL : message;
}

static void assert_refused(const char *pattern, const char *replacement, const char *part) {
    const char *error = error_of(pattern, replacement);
    if (!error) fail_msg("\"%s\" is not refused", pattern);
    if (!strstr(error, part)) fail_msg("'%s' is not in '%s'", part, error);
}

#define SOUND "y = Mul(x, Sigmoid(x))"
#define SWISH "y = Swish(x)"

static void test_sound_texts_are_read(void **state) {
    (void)state;
    static const char *const sound[][2] = {
        {SOUND, SWISH},
        {" y\n=\tMul ( x , Sigmoid ( x ) ) ; ", " y = Swish ( x ) ;"},
        {"a, _ = Split(x, axis=?k, num_outputs=2); y = Relu(a)", "y = Half(x, axis=?k)"},
        {"y = A::B@3(x?, -, _, ?e, ?l[], 1e-5, -inf, [1, 2], w:const, v:channel, s:scalar, m=tanh, "
         "n=[], ...); z = C(C(y))",
         "z = D::E@4(x, -, ?e, ?l, 1, [0, 1], w, F(v), k=?e, m=erf)"},
        {"y = Add(Mul(x, 2) | Div(x, 0.5) | (Add(x, x)), b?:channel)", "y = Line(x, b)"},
        {"y = Op@1-12(Op(x))", "t = Op(x); y = Op@13(t)"},
    };
    assert_null(error_of(sound[0][0], sound[0][1]));
    for (size_t i = 0; i < sizeof sound / sizeof *sound - 1; i++)
        if (error_of(sound[i][0], sound[i][1]))
            fail_msg("%s: %s", sound[i][0], error_of(sound[i][0], sound[i][1]));
    assert_refused(sound[5][0], sound[5][1], "expected fewer");
}

static void test_mistakes_are_refused_with_their_column(void **state) {
    static const char *const wrong[][2] = {
        {"", "column 1"},
        {"y", "column 2 (\"\"): expected ',' or '='"},
        {"y = ", "column 5"},
        {"y = x", "column 4 (\" x\"): expected an operator"},
        {"y = Mul(x, Sigmoid(x)", "column 22"},
        {"y = Mul(x,, x)", "column 11"},
        {"y = Mul(x, axis=)", "column 17"},
        {"y = Mul(axis=1, x)", "inputs before fields"},
        {"y = Mul(x, axis=1, axis=2)", "each field once"},
        {"y = Mul(x, ..., y)", "'...' is the last argument"},
        {"y = Mul(x:wide, x)", "':const', ':scalar' or ':channel'"},
        {"y = Mul(x, $v)", "no '$'"},
        {"y = Mul(x, ?x)", "stands for something else already"},
        {"y = Mul@0(x)", "a version from 1 on"},
        {"y = Mul(x, [1, 2)", "',' or ']'"},
        {"y = Mul(x, Relu(x)); y = Relu(x)", "'y' is assigned twice"},
        {"y = Mul(x, Relu(x)); z = Relu(x)", "does not assign a result of the pattern's last"},
        {"y = Mul(x, Relu(x)) z = 1", "expected ';' or the end"},
        {"y = Mul(x, nan)", "not in the pattern"},
    };
    (void)state;
    for (size_t i = 0; i + 1 < sizeof wrong / sizeof *wrong; i++)
        assert_refused(wrong[i][0], SWISH, wrong[i][1]);
    assert_refused(SOUND, "y = Swish(z)", "'z' is not in the pattern");
    assert_refused(SOUND, "x = Swish(x)", "'x' is an input of the pattern");
    assert_refused(SOUND, "y = Swish(x | x)", "a replacement has no choice");
    assert_refused(SOUND, "y = Swish(x, alpha=$a)", "no guard that computes '$a'");
    assert_refused(SOUND, "y = Mul(x, Sigmoid(x))", "expected fewer");
    assert_refused("m = Relu(x); y = Mul(m, Relu(m))", "y = Swish(m)", "'m' is a result");
}

/* Texts that would cost time or stack. */
static void test_hostile_texts_are_bounded(void **state) {
    static char text[20000];
    (void)state;
    strcpy(text, "y = ");
    for (int i = 0; i < 1000; i++)
        strcat(text, "A(");
    assert_refused(text, SWISH, "fewer operators within each other");
    strcpy(text, "y = ");
    for (int i = 0; i < 1000; i++)
        strcat(text, "(");
    assert_refused(text, SWISH, "fewer operators within each other");
    strcpy(text, "y = A(A()");
    for (int i = 0; i < 200; i++)
        strcat(text, ",A()");
    strcat(text, ")");
    assert_refused(text, SWISH, "at most 16 inputs");
    strcpy(text, "a = A()");
    for (int i = 0; i < 200; i++)
        snprintf(text + strlen(text), 40, "; a%d = A()", i);
    assert_refused(text, SWISH, "at most 48 statements");
    memset(text, ' ', sizeof text - 1);
    assert_refused(text, SWISH, "16 KiB");
}

static void test_what_is_reserved_is_refused(void **state) {
    const tn_rewrite before = table;
    (void)state;
    table.flags = 1;
    assert_refused(SOUND, SWISH, "flags 1 are reserved");
    table = before;
    table.name = "tn.swish";
    assert_refused(SOUND, SWISH, "reserved");
    table.name = "two words";
    assert_refused(SOUND, SWISH, "is not made of letters");
    table = before;
    table.size = 24;
    assert_refused(SOUND, SWISH, "24 bytes");
    table = before;
}

static bool count(void *user, const tn_rewrite *rewrite, const tn_library_info *from) {
    *(uint32_t *)user += strcmp(from->name, "rewrites") == 0 && rewrite->pattern != NULL;
    return true;
}

static uint32_t count_rewrites(tn_runtime *runtime) {
    uint32_t found = 0;
    tn_registry_visit_rewrites(tn_runtime_registry(runtime), count, &found);
    return found;
}

static void test_rewrites_are_added_at_any_time(void **state) {
    tn_runtime *runtime = make_runtime(NULL);
    tn_rewrite later = {.size = sizeof later,
                        .name = "later",
                        .pattern = SOUND,
                        .replacement = SWISH,
                        .guard = look,
                        .user = &table};
    (void)state;
    table.pattern = SOUND;
    table.replacement = SWISH;
    assert_int_equal(tn_runtime_register_library(runtime, entry), TN_OK);
    assert_int_equal(count_rewrites(runtime), 1);
    const tn_rewrite_services *services = host->extension(host, TN_REWRITES);
    assert_int_equal(services->add(host, &library, &later), TN_OK);
    assert_int_equal(count_rewrites(runtime), 2);
    assert_failed(services->add(host, &library, &later), TN_ERROR_ARGUMENT, "offered twice");
    tn_library other = library;
    later.name = "another";
    assert_failed(services->add(host, &other, &later), TN_ERROR_STATE, "not loaded");
    tn_runtime_release(runtime);
}

static void test_memory_that_runs_out_is_an_error(void **state) {
    (void)state;
    table.pattern = "n = Add(x, 1) | Add(x, 2); y = Mul(n, Relu(x, axis=[1, 2]), mode=tanh)";
    table.replacement = "y = Swish(x)";
    for (uint64_t failing = 1;; failing++) {
        failing_allocator allocator;
        failing_allocator_init(&allocator);
        tn_runtime *runtime = make_runtime(&allocator.functions);
        allocator.fail_at = allocator.allocations + failing;
        const tn_status status = tn_runtime_register_library(runtime, entry);
        allocator.fail_at = 0;
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
        tn_runtime_release(runtime);
        assert_int_equal(allocator.live, 0);
        if (status == TN_OK) return;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_texts_are_read),
        cmocka_unit_test(test_mistakes_are_refused_with_their_column),
        cmocka_unit_test(test_hostile_texts_are_bounded),
        cmocka_unit_test(test_what_is_reserved_is_refused),
        cmocka_unit_test(test_rewrites_are_added_at_any_time),
        cmocka_unit_test(test_memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
