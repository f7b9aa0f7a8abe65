/* SPDX-License-Identifier: Apache-2.0 */
/* What a stored program was built for and this machine is not, in words. */
#include "test.h"

#include "plan/program_fit.h"

static const char old_cpu[] = "cpu; AMD EPYC; sse2,avx2,avx512f; openmp threads";

typedef struct fit_row {
    const char *built;
    uint32_t built_threads;
    const char *here;
    uint32_t threads;
    const char *text; /* "": it fits */
} fit_row;

static const fit_row rows[] = {
    {old_cpu, 2, old_cpu, 2, ""},
    {old_cpu, 2, old_cpu, 0, ""},
    {old_cpu, 1, old_cpu, 2, "for 1 thread, not 2"},
    {old_cpu, 4, old_cpu, 2, "for 4 threads, not 2"},
    {old_cpu, 2, "cpu; AMD EPYC; sse2,avx2; openmp threads", 2,
     "with avx512f, which this machine lacks"},
    {old_cpu, 2, "cpu; AMD EPYC; sse2,avx2,avx512f,amx; openmp threads", 0,
     "without amx, which this machine has"},
    {old_cpu, 2, "cpu; AMD EPYC; sse2,avx,amx; openmp threads", 2,
     "with avx2,avx512f, which this machine lacks; without avx,amx, which this machine has"},
    {old_cpu, 2, "cpu; Intel Xeon; sse2,avx2,avx512f; openmp threads", 3,
     "for 'AMD EPYC', not 'Intel Xeon'; for 2 threads, not 3"},
    {old_cpu, 2, "cpu; AMD EPYC; sse2,avx2,avx512f; own threads", 2,
     "for 'openmp threads', not 'own threads'"},
    {"cuda; A; sm_90", 2, "cuda; A; sm_80; driver 1", 2,
     "for 'sm_90', not 'sm_80'; for '', not 'driver 1'"},
    {"cuda; A; sm_90", 2, old_cpu, 2, "for 'cuda; A; sm_90', not 'cpu'"},
    {"another", 2, "", 2, "for 'another', not ''"},
    {"cpu; AMD EPYC; sse2; x", 2, "cpu; AMD EPYC; ; x", 2, "for 'sse2', not ''"},
};

static void test_the_difference_is_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const tn_program_target built = {rows[i].built, rows[i].built_threads},
                                here = {rows[i].here, rows[i].threads};
        tn_text text;
        tn_text_init(&text, tn_allocator_default());
        tn_program_fit_explain(&text, &built, &here);
        assert_string_equal(text.data ? text.data : "", rows[i].text);
        assert_int_equal(tn_program_fits(&built, &here), rows[i].text[0] == '\0');
        tn_text_deinit(&text);
    }
}

/* A plan is untrusted: a long fingerprint costs no time. */
static void test_a_long_description_is_not_taken_apart(void **state) {
    (void)state;
    static char built[1 << 20];
    memset(built, ',', sizeof(built) - 1);
    const tn_program_target program = {built, 1}, here = {old_cpu, 1};
    tn_text text;
    tn_text_init(&text, tn_allocator_default());
    tn_program_fit_explain(&text, &program, &here);
    assert_string_equal(text.data, "for a device whose description is too long");
    tn_text_deinit(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_difference_is_named),
        cmocka_unit_test(test_a_long_description_is_not_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
