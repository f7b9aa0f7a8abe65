/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that embed a library: what the manifest says of it is checked, and its content before
 * anything of it is loaded. The content here is no library: what gets as far as loading it fails
 * there. Libraries that load are in tests/cli/check_embedded_libraries.py.
 */
#include "plan_test.h"

#include "base/code_cache/sha256.h"
#include <tenon/engine.h>

#include <stdlib.h>
#include <unistd.h>

static const char content[] = "these bytes are no library";
static unsigned char digest[TN_SHA256_BYTES];
static char digest_text[TN_SHA256_TEXT_BYTES];

static void name_it(Tenon__Plan__Plan *plan) {
    tn_sha256(content, sizeof(content), digest);
    tn_sha256_print(digest, digest_text);
    plan->libraries[0]->file_name = "libplan_layers.so";
    plan->libraries[0]->hash = tn_hash(content, sizeof(content));
    plan->libraries[0]->sha256 = (ProtobufCBinaryData){sizeof(digest), digest};
    plan->libraries[0]->embedded_bytes = sizeof(content);
}

static void name_another_digest(Tenon__Plan__Plan *plan) {
    name_it(plan);
    digest[5] ^= 1;
    tn_sha256_print(digest, digest_text);
}
static void name_another_hash(Tenon__Plan__Plan *plan) {
    name_it(plan);
    plan->libraries[0]->hash++;
}
static void name_half_a_digest(Tenon__Plan__Plan *plan) {
    name_it(plan);
    plan->libraries[0]->sha256.len /= 2;
}
static void name_too_many_bytes(Tenon__Plan__Plan *plan) {
    name_it(plan);
    plan->libraries[0]->embedded_bytes++;
}
static void name_an_offset_outside(Tenon__Plan__Plan *plan) {
    name_it(plan);
    plan->libraries[0]->embedded_offset = UINT64_MAX;
}
static void name_no_bytes(Tenon__Plan__Plan *plan) {
    name_it(plan);
    plan->libraries[0]->embedded_bytes = 0;
}
static void name_one_that_was_linked_in(Tenon__Plan__Plan *plan) {
    name_it(plan);
    plan->libraries[0]->file_name = "";
}

/* The small plan with the section of libraries. */
static plan_bytes plan_embedding(const plan_test *test, void (*change)(Tenon__Plan__Plan *plan)) {
    plan_bytes old = plan_edit(plan_of_small_graph(test->runtime, 0.5f), change);
    tn_plan_layout from, to;
    assert_int_equal(tn_plan_layout_read(old.data, old.bytes, &from), TN_OK);
    assert_int_equal(from.section_count, 2);
    assert_int_equal(tn_plan_layout_make(from.sections[0].bytes, from.sections[1].bytes, 0,
                                         sizeof(content), &to),
                     TN_OK);
    plan_bytes made = {aligned_alloc(64, (to.bytes + 63) & ~(size_t)63), to.bytes};
    assert_non_null(made.data);
    memset(made.data, 0, made.bytes);
    for (size_t i = 0; i < 2; i++)
        memcpy((char *)made.data + to.sections[i].offset,
               (const char *)old.data + from.sections[i].offset, from.sections[i].bytes);
    memcpy((char *)made.data + to.sections[2].offset, content, sizeof(content));
    tn_plan_layout_write(&to, made.data);
    free(old.data);
    return made;
}

static tn_status load(const plan_test *test, plan_bytes plan, const tn_embedded_options *options) {
    uint32_t count = 7;
    const tn_status status =
        tn_runtime_load_embedded_bytes(test->runtime, plan.data, plan.bytes, options, &count);
    assert_int_equal(count, 0); /* nothing here loads */
    return status;
}

/* Loads it trusting all, in a folder that is removed again. */
static tn_status load_all(const plan_test *test, plan_bytes plan) {
    char folder[] = "/tmp/tenon-embedded.XXXXXX", file[200];
    assert_non_null(mkdtemp(folder));
    const tn_embedded_options options = {
        .size = sizeof(options), .flags = TN_EMBEDDED_TRUST_ALL, .cache_folder = folder};
    const tn_status status = load(test, plan, &options);
    snprintf(file, sizeof(file), "%s/%s.so", folder, digest_text);
    unlink(file);
    assert_int_equal(rmdir(folder), 0);
    return status;
}

static void test_sha256_of_the_standard_messages(void **state) {
    (void)state;
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        unsigned char found[TN_SHA256_BYTES];
        char text[TN_SHA256_TEXT_BYTES];
        tn_sha256(rows[i].text, strlen(rows[i].text), found);
        assert_string_equal(tn_sha256_print(found, text), rows[i].digest);
    }
}

static void test_plan_reads_without_what_it_embeds(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = {0};
    plan_bytes plan = plan_embedding(test, name_it);
    assert_int_equal(plan_read(test->runtime, plan.data, plan.bytes, &contents), TN_OK);
    tn_plan_contents_deinit(&contents);
    free(plan.data);
}

static void test_error_of_a_missing_library_says_that_it_is_embedded(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = {0};
    plan_bytes plan = plan_embedding(test, name_it);
    tn_runtime *runtime = plan_runtime(&test->allocator.functions, NULL);
    assert_int_equal(plan_read(runtime, plan.data, plan.bytes, &contents), TN_ERROR_NOT_FOUND);
    assert_error("the plan embeds it, SHA-256", "test.plan");
    assert_error(digest_text, NULL);
    tn_runtime_release(runtime);
    free(plan.data);
}

static void test_only_what_is_trusted_is_loaded(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_embedding(test, name_it);
    char other[TN_SHA256_TEXT_BYTES];
    memset(other, '0', 64);
    other[64] = '\0';
    const char *trusted[] = {other};
    tn_embedded_options options = {.size = sizeof(options), .trusted_count = 1, .trusted = trusted};
    assert_int_equal(load(test, plan, NULL), TN_OK);
    assert_int_equal(load(test, plan, &options), TN_OK);
    trusted[0] = digest_text; /* and there is no folder for it */
    assert_int_equal(load(test, plan, &options), TN_ERROR_ARGUMENT);
    assert_error("there is no cache folder", NULL);
    trusted[0] = "0123";
    assert_int_equal(load(test, plan, &options), TN_ERROR_ARGUMENT);
    assert_error("'0123' is no SHA-256", NULL);
    trusted[0] = NULL;
    assert_int_equal(load(test, plan, &options), TN_ERROR_ARGUMENT);
    options.flags = 8;
    assert_int_equal(load(test, plan, &options), TN_ERROR_ARGUMENT);
    assert_int_equal(load_all(test, plan), TN_ERROR_PLUGIN);
    free(plan.data);
}

static void test_other_content_than_the_manifest_names_is_refused(void **state) {
    plan_test *test = *state;
    static const struct {
        void (*change)(Tenon__Plan__Plan *plan);
        const char *why;
        bool is_read; /* the content is not looked at by who reads the plan */
    } rows[] = {
        {name_another_digest, "does not have the SHA-256 that the plan names", true},
        {name_another_hash, "has other content than the manifest names", true},
        {name_half_a_digest, "has no SHA-256", false},
        {name_too_many_bytes, "is not inside that", false},
        {name_an_offset_outside, "is not inside that", false},
        {name_no_bytes, "is not inside that", false},
        {name_one_that_was_linked_in, "was linked in", false},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        tn_plan_contents contents = {0};
        plan_bytes plan = plan_embedding(test, rows[i].change);
        assert_int_equal(load_all(test, plan), TN_ERROR_FORMAT);
        assert_error(rows[i].why, NULL);
        assert_error("plan_layers", NULL);
        const tn_status status = plan_read(test->runtime, plan.data, plan.bytes, &contents);
        assert_int_equal(status, rows[i].is_read ? TN_OK : TN_ERROR_FORMAT);
        if (status == TN_OK) tn_plan_contents_deinit(&contents);
        free(plan.data);
    }
}

static void test_plan_without_the_section_is_refused(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_edit(plan_of_small_graph(test->runtime, 0.5f), name_it);
    assert_int_equal(load_all(test, plan), TN_ERROR_FORMAT);
    assert_error("there is no such section", NULL);
    free(plan.data);
}

static void test_changed_content_is_refused_whoever_wrote_the_checksums(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_embedding(test, name_it);
    ((unsigned char *)plan.data)[plan.bytes - 3] ^= 1;
    assert_int_equal(load_all(test, plan), TN_ERROR_FORMAT);
    assert_error("section 2", NULL);
    plan_repair(plan.data, plan.bytes);
    assert_int_equal(load_all(test, plan), TN_ERROR_FORMAT);
    assert_error("it is not loaded", NULL);
    assert_error(digest_text, NULL);
    free(plan.data);
}

static void test_failing_allocations_leave_nothing_behind(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_embedding(test, name_it);
    tn_status status = TN_ERROR_MEMORY;
    for (size_t n = 1; n < 1000 && status == TN_ERROR_MEMORY; n++) {
        test->allocator.fail_at = test->allocator.allocations + n;
        status = load_all(test, plan);
    }
    test->allocator.fail_at = 0;
    assert_int_equal(status, TN_ERROR_PLUGIN);
    free(plan.data);
}

static void test_plan_of_linked_libraries_embeds_none(void **state) {
    plan_test *test = *state;
    tn_graph *graph = plan_small_graph(test->runtime, 0.5f);
    tn_plan *plan = plan_write(graph), *embedding = NULL;
    uint64_t bytes = 0, more = 0;
    assert_int_equal(tn_plan_embed_libraries(plan, &embedding), TN_OK);
    const void *first = tn_plan_bytes(plan, &bytes), *second = tn_plan_bytes(embedding, &more);
    assert_int_equal(bytes, more);
    assert_memory_equal(first, second, bytes);
    tn_plan_destroy(plan);
    tn_plan_destroy(embedding);
    tn_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_of_the_standard_messages),
        PLAN_TEST(test_plan_reads_without_what_it_embeds),
        PLAN_TEST(test_error_of_a_missing_library_says_that_it_is_embedded),
        PLAN_TEST(test_only_what_is_trusted_is_loaded),
        PLAN_TEST(test_other_content_than_the_manifest_names_is_refused),
        PLAN_TEST(test_plan_without_the_section_is_refused),
        PLAN_TEST(test_changed_content_is_refused_whoever_wrote_the_checksums),
        PLAN_TEST(test_failing_allocations_leave_nothing_behind),
        PLAN_TEST(test_plan_of_linked_libraries_embeds_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
