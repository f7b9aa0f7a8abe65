/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a compiler says it read: as make's rules have them, and as no rule is. */
#include "compile/dependencies.h"
#include "base/file.h"

#include "test.h"

#include <unistd.h>

#define FILE_NAME "dependencies-test.d"

typedef struct rule {
    const char *text;
    size_t count; /* 0: it is no rule */
    const char *paths[3];
} rule;

static const rule rules[] = {
    {"x: a.c", 1, {"a.c"}},
    {"x: a.c b.h\n", 2, {"a.c", "b.h"}},
    {"x: a.c \\\n  b.h \\\n c/d.h\n", 3, {"a.c", "b.h", "c/d.h"}},
    {"x:\\\n a.c", 0, {NULL}}, /* no space behind the colon: part of a name */
    {"x: \\\n a.c", 1, {"a.c"}},
    {"x:\n a.c", 1, {"a.c"}},
    {"C:/x: a.c", 1, {"a.c"}},
    {"x: my\\ file.h a\\#b.h c$$d.h", 3, {"my file.h", "a#b.h", "c$d.h"}},
    {"x: a\\b.h \\", 2, {"a\\b.h", "\\"}},
    {"x: a\\", 1, {"a\\"}},
    {"x: $", 1, {"$"}},
    {"x: a.c\\\n", 1, {"a.c"}},
    {"x: \t \n", 0, {NULL}},
    {"x: ", 0, {NULL}},
    {"x:", 0, {NULL}},
    {":", 0, {NULL}},
    {"", 0, {NULL}},
    {"a.c b.h", 0, {NULL}},
};

static bool read_rule(failing_allocator *memory, const char *text, size_t bytes, tn_arena **arena,
                      tn_dependencies *list) {
    FILE *file = fopen(FILE_NAME, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tn_arena_create(&memory->functions, arena), TN_OK);
    return tn_dependencies_read(*arena, &memory->functions, FILE_NAME, list);
}

static void test_rules_are_read_as_make_reads_them(void **state) {
    failing_allocator memory;
    (void)state;
    failing_allocator_init(&memory);
    for (size_t i = 0; i < TEST_COUNT(rules); i++) {
        tn_dependencies list = {0};
        tn_arena *arena;
        const bool is_read =
            read_rule(&memory, rules[i].text, strlen(rules[i].text), &arena, &list);
        if (is_read != (rules[i].count > 0) || list.count != rules[i].count)
            fail_msg("'%s' has %zu files, expected %zu", rules[i].text, list.count, rules[i].count);
        for (size_t k = 0; k < list.count; k++)
            assert_string_equal(list.paths[k], rules[i].paths[k]);
        tn_arena_destroy(arena);
    }
    unlink(FILE_NAME);
    assert_int_equal(memory.live, 0);
}

static void test_rule_that_is_cut_or_damaged_is_read_without_harm(void **state) {
    const char whole[] = "x: a\\ b.c \\\n c$$d.h\0e.h \\\n\\\n f\\#g\xff.h \\";
    failing_allocator memory;
    (void)state;
    failing_allocator_init(&memory);
    for (size_t bytes = 0; bytes < sizeof(whole); bytes++) {
        for (size_t at = 0; at <= bytes; at++) {
            static const char odd[] = "\\\n $:#\0";
            char text[sizeof(whole)];
            tn_dependencies list = {0};
            tn_arena *arena;
            memcpy(text, whole, sizeof(whole));
            text[at] = odd[(bytes + at) % sizeof(odd)];
            if (read_rule(&memory, text, bytes, &arena, &list))
                for (size_t k = 0; k < list.count; k++)
                    assert_true(strlen(list.paths[k]) <= bytes);
            tn_arena_destroy(arena);
        }
    }
    unlink(FILE_NAME);
    assert_int_equal(memory.live, 0);
}

static void test_file_that_is_not_there_is_no_rule(void **state) {
    tn_dependencies list = {0};
    tn_arena *arena;
    (void)state;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    assert_false(tn_dependencies_read(arena, tn_allocator_default(), "no/such.d", &list));
    assert_int_equal(tn_last_error()->status, TN_OK);
    tn_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_are_read_as_make_reads_them),
        cmocka_unit_test(test_rule_that_is_cut_or_damaged_is_read_without_harm),
        cmocka_unit_test(test_file_that_is_not_there_is_no_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
