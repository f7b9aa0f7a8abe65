/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans and libraries of both ages, real files and real binaries: every plan that a release left in
 * ../fixtures/migration, and those that are written now, with version 1 of the library, version 2,
 * and a version 2 whose author forgot `upgrade`. Public interface alone; MIGRATION_PLANS is the
 * folder of the releases' folders, MIGRATION_NOW that of today's.
 */
#include "plans.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const float input[6] = {-1, 0, 0.5f, 1, 2, 3};

/* What the layers compute, written down once more. */
static float scale_full(float x, int i) {
    return 3 * (1.5f * x) * (1.5f * x) + 0.75f + 10 * (float)(i % 3 + 1);
}
static float scale_default(float x, int i) {
    (void)i;
    return 1.5f * x;
}
static float scale_negative(float x, int i) {
    (void)i;
    return -2 * x;
}
static float book_1(float x, int i) {
    return x + 7 + 0.5f * (float)(i % 3);
}
static float book_2(float x, int i) {
    return 2 * x + 7 - 0.25f * (float)(i % 3);
}
static float shift(float x, int i) {
    (void)i;
    return x + 4;
}
static float shift_limit(float x, int i) {
    (void)i;
    return x + 4 > 6.5f ? 6.5f : x + 4;
}

static float round_1(float x, int i) {
    (void)i;
    return (float)(int)x;
}
static float round_2(float x, int i) {
    (void)i;
    return (float)(int)(x + 0.5f);
}

/* A plan, a library, and what becomes of them: a result, or an error. */
typedef struct meeting {
    const char *plan, *library;
    float (*value)(float x, int i);
    tn_status status;
    const char *says[4]; /* the message, then the location */
} meeting;

#define REFUSED(...)                                                                               \
    NULL, TN_ERROR_UNSUPPORTED, {                                                                  \
        __VA_ARGS__                                                                                \
    }
#define NO_UPGRADE                                                                                 \
    REFUSED("in state version 1", "library 'migration' (version 2.0) has state version 2",         \
            "no upgrade", "node 'layer'")
static const meeting meetings[] = {
    {"scale_1", "1", scale_full, TN_OK, {NULL}},
    {"scale_1", "2", scale_full, TN_OK, {NULL}},
    {"scale_1", "2_without_upgrade", NO_UPGRADE},
    {"scale_2", "1",
     REFUSED("in state version 2", "(version 1.0) has state version 1",
             "does not have the fields 'numerator', 'denominator', 'repeats'", "node 'layer'")},
    {"scale_2", "2", scale_full, TN_OK, {NULL}},
    {"scale_2", "2_without_upgrade", scale_full, TN_OK, {NULL}},
    {"scale_defaults_1", "1", scale_default, TN_OK, {NULL}},
    {"scale_defaults_1", "2", scale_default, TN_OK, {NULL}},
    {"scale_negative_1", "1", scale_negative, TN_OK, {NULL}},
    {"scale_negative_1",
     "2",
     NULL,
     TN_ERROR_FORMAT,
     {"the factor is -2: version 2 has no negative ones", NULL, NULL,
      "node 'layer': operator migration::Scale"}},
    {"codebook_1", "1", book_1, TN_OK, {NULL}},
    {"codebook_1", "2", book_1, TN_OK, {NULL}},
    {"codebook_1", "2_without_upgrade", NO_UPGRADE},
    {"codebook_2", "1",
     REFUSED("operator Codebook in state version 2", "does not have the field 'start'", NULL,
             "node 'layer'")},
    {"codebook_2", "2", book_2, TN_OK, {NULL}},
    {"sealed_1", "1", book_1, TN_OK, {NULL}},
    {"sealed_1", "2", book_1, TN_OK, {NULL}},
    {"sealed_1", "2_without_upgrade", book_1, TN_OK, {NULL}},
    {"sealed_2", "1",
     REFUSED("in a form that library version 1.0 does not know: BK2", NULL, NULL,
             "node 'layer': operator migration::Sealed")},
    {"sealed_2", "2", book_2, TN_OK, {NULL}},
    {"shift_1", "1", shift, TN_OK, {NULL}},
    {"shift_1", "2", shift, TN_OK, {NULL}},
    {"shift_2", "1", shift, TN_OK, {NULL}},
    {"shift_2", "2", shift, TN_OK, {NULL}},
    {"shift_limit_2",
     "1",
     NULL,
     TN_ERROR_FORMAT,
     {"operator Shift has no field 'limit' in library 'migration' (version 1.0)",
      "its number 1 is 'amount' here", NULL, "node 'layer'"}},
    {"shift_limit_2", "2", shift_limit, TN_OK, {NULL}},
    {"round_1", "1", round_1, TN_OK, {NULL}},
    {"round_1", "2", round_1, TN_OK, {NULL}},
    {"round_2", "1",
     REFUSED("operator 'migration::Round' has versions 1; version 2 was asked for",
             "built with library 'migration' version 2.0 (libmigration.so, content ",
             "what is loaded is version 1.0 (", "node 'layer'")},
    {"round_2", "2", round_2, TN_OK, {NULL}},
    {"gone_1", "1", round_1, TN_OK, {NULL}},
    {"gone_1", "2",
     REFUSED("no operator 'migration::Gone'", "built with library 'migration' version 1.0",
             "/2/libmigration.so, content ", "node 'layer'")},
};

static void assert_error(const meeting *m, const char *path, tn_status status) {
    const tn_error *error = tn_last_error();
    bool is_right = status == m->status && (!m->says[3] || strstr(error->where, m->says[3]));
    for (int i = 0; i < 3; i++)
        is_right = is_right && (!m->says[i] || strstr(error->message, m->says[i]));
    if (!is_right)
        fail_msg("%s with library %s: status %d, \"%s\" at \"%s\"", path, m->library, status,
                 error->message, error->where);
}

static void assert_result(const meeting *m, const char *path, tn_engine *engine) {
    tn_context *context;
    const tn_tensor *y;
    assert_int_equal(tn_context_create(engine, &context), TN_OK);
    assert_int_equal(tn_context_bind_input(context, 0, input, sizeof(input)), TN_OK);
    if (tn_context_run(context) != TN_OK) fail_msg("%s: %s", path, tn_last_error()->message);
    assert_int_equal(tn_context_output(context, 0, &y), TN_OK);
    assert_int_equal(y->bytes, sizeof(input));
    for (int i = 0; i < 6; i++)
        if (!(fabsf(((const float *)y->data)[i] - m->value(input[i], i)) < 1e-5f))
            fail_msg("%s with library %s: y[%d] is %g, expected %g", path, m->library, i,
                     (double)((const float *)y->data)[i], (double)m->value(input[i], i));
    tn_context_destroy(context);
}

static void meet(const meeting *m, const char *folder, uint32_t flags) {
    const tn_engine_options options = {.size = sizeof(options), .flags = flags};
    char path[4096];
    tn_engine *engine = NULL;
    tn_runtime *runtime = migration_runtime(m->library, NULL, NULL);
    assert_non_null(runtime);
    snprintf(path, sizeof(path), "%s/%s.plan", folder, m->plan);
    const tn_status status = tn_engine_load(runtime, path, &options, &engine);
    if (m->value && status != TN_OK)
        fail_msg("%s with library %s: %s: %s", path, m->library, tn_last_error()->where,
                 tn_last_error()->message);
    if (m->value)
        assert_result(m, path, engine);
    else
        assert_error(m, path, status);
    tn_engine_release(engine);
    tn_runtime_release(runtime);
}

/* Plans that a later release added are not in an earlier one's folder: with `is_partial`, those
 * that are missing are left out. Answers how many met. */
static int meet_all(const char *folder, bool is_partial) {
    int met = 0;
    for (size_t i = 0; i < sizeof(meetings) / sizeof(meetings[0]); i++) {
        char path[4200];
        snprintf(path, sizeof(path), "%s/%s.plan", folder, meetings[i].plan);
        if (is_partial && access(path, F_OK) != 0) continue;
        meet(&meetings[i], folder, 0);
        met++;
    }
    return met;
}

static void test_plans_of_today_meet_both_libraries(void **state) {
    (void)state;
    for (uint32_t i = 0; i < migration_plan_count; i++)
        if (!migration_plan_write(&migration_plans[i], MIGRATION_NOW))
            fail_msg("%s: %s", migration_plans[i].name, tn_last_error()->message);
    meet_all(MIGRATION_NOW, false);
}

static void test_plans_of_every_release_meet_both_libraries(void **state) {
    char folder[3000];
    int releases = 0;
    (void)state;
    DIR *directory = opendir(MIGRATION_PLANS);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        snprintf(folder, sizeof(folder), "%s/%s", MIGRATION_PLANS, entry->d_name);
        assert_true(meet_all(folder, strcmp(entry->d_name, tn_version()) != 0) > 20);
        releases++;
    }
    closedir(directory);
    assert_true(releases > 0);
}

static void test_every_plan_meets_both_versions(void **state) {
    (void)state;
    for (uint32_t i = 0; i < migration_plan_count; i++) {
        int met[2] = {0, 0};
        for (size_t k = 0; k < sizeof(meetings) / sizeof(meetings[0]); k++) {
            if (strcmp(meetings[k].plan, migration_plans[i].name) != 0) continue;
            met[0] += strcmp(meetings[k].library, "1") == 0;
            met[1] += strcmp(meetings[k].library, "2") == 0;
        }
        if (met[0] != 1 || met[1] != 1) fail_msg("%s is not in the table", migration_plans[i].name);
    }
}

static void test_exact_loading_takes_its_own_library_and_refuses_the_other(void **state) {
    const meeting same = {"shift_1", "1", shift, TN_OK, {NULL}};
    const meeting other = {"shift_1",
                           "2",
                           NULL,
                           TN_ERROR_NOT_FOUND,
                           {"which exact loading refuses", NULL, NULL, NULL}};
    (void)state;
    meet(&same, MIGRATION_NOW, TN_ENGINE_EXACT);
    meet(&other, MIGRATION_NOW, TN_ENGINE_EXACT);
}

static void keep_line(void *user, uint32_t level, const char *text) {
    (void)level;
    snprintf(user, 1024, "%s", text);
}

static void test_another_version_is_told_in_the_log(void **state) {
    char line[1024] = "";
    tn_engine *engine = NULL;
    tn_runtime *runtime = migration_runtime("2", keep_line, line);
    (void)state;
    assert_int_equal(tn_engine_load(runtime, MIGRATION_NOW "/scale_1.plan", NULL, &engine), TN_OK);
    if (!strstr(line, "the plan was built with")) fail_msg("the log says \"%s\"", line);
    tn_engine_release(engine);
    tn_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_of_today_meet_both_libraries),
        cmocka_unit_test(test_plans_of_every_release_meet_both_libraries),
        cmocka_unit_test(test_every_plan_meets_both_versions),
        cmocka_unit_test(test_exact_loading_takes_its_own_library_and_refuses_the_other),
        cmocka_unit_test(test_another_version_is_told_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
