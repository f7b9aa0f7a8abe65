/* SPDX-License-Identifier: Apache-2.0 */
/* The thread's last error: message, chain of locations, truncation, threads. */
#include "base/error_store.h"
#include "base/status.h"

#include "test.h"

#include <pthread.h>

static void test_a_failure_records_status_and_message(void **state) {
    (void)state;
    assert_failed(tn_fail(TN_ERROR_SHAPE, "rank %d of '%s'", 9, "x"), TN_ERROR_SHAPE,
                  "rank 9 of 'x'");
    assert_string_equal(tn_last_error()->where, "");
    assert_int_equal(tn_last_error()->size, sizeof(tn_error));
    assert_failed(tn_fail_memory("a map"), TN_ERROR_MEMORY, "no memory for a map");
}

static void test_locations_are_chained_outermost_first(void **state) {
    (void)state;
    tn_status status = tn_fail(TN_ERROR_TYPE, "bad");
    status = tn_error_at(status, "operator %s", "Conv");
    status = tn_error_at(status, "node '%s'", "conv1");
    assert_int_equal(tn_error_at(status, "model.onnx"), TN_ERROR_TYPE);
    assert_string_equal(tn_last_error()->where, "model.onnx: node 'conv1': operator Conv");
    assert_string_equal(tn_last_error()->message, "bad");
    tn_fail(TN_ERROR_IO, "another");
    assert_string_equal(tn_last_error()->where, "");
}

static void test_positions_are_kept_by_name(void **state) {
    (void)state;
    tn_status status = tn_fail(TN_ERROR_TYPE, "bad");
    tn_error_in(status, .node = "conv1", .domain = "vision", .op = "Conv", .kernel = "fast",
                .library = "v");
    tn_error_at(status, "body '%s'", "then");
    tn_error_in(status, .node = "if1", .op = "If", .library = "other");
    assert_int_equal(tn_error_in(status, .file = "net.plan"), TN_ERROR_TYPE);
    const tn_error *error = tn_last_error();
    assert_string_equal(error->where,
                        "net.plan: node 'if1': operator If (library other): body 'then': node "
                        "'conv1': operator vision::Conv: kernel fast (library v)");
    assert_string_equal(error->node, "conv1");
    assert_string_equal(error->op, "vision::Conv");
    assert_string_equal(error->library, "v");
    assert_string_equal(error->file, "net.plan");
    assert_true(error->offset == UINT64_MAX && error->line == 0 && error->column == 0);
    tn_fail(TN_ERROR_IO, "another");
    error = tn_last_error();
    assert_true(!error->node[0] && !error->op[0] && !error->library[0] && !error->file[0]);
}

static void test_an_operator_without_node_does_not_join_an_outer_node(void **state) {
    (void)state;
    tn_status status = tn_fail(TN_ERROR_TYPE, "bad");
    tn_error_in(status, .op = "Relu");
    tn_error_in(status, .node = "relu1");
    tn_error_in(status, .node = "loop1", .op = "Loop");
    assert_string_equal(tn_last_error()->node, "relu1");
    assert_string_equal(tn_last_error()->op, "Relu");
    tn_fail(TN_ERROR_TYPE, "bad");
    tn_error_in(status, .node = "inner");
    tn_error_in(status, .node = "loop1", .op = "Loop");
    assert_string_equal(tn_last_error()->op, "");
    assert_string_equal(tn_last_error()->where, "node 'loop1': operator Loop: node 'inner'");
}

static void test_a_position_in_a_file_is_kept(void **state) {
    (void)state;
    tn_error_shift(tn_error_at_byte(tn_fail(TN_ERROR_FORMAT, "damaged at byte 0"), 0), 64);
    assert_true(tn_last_error()->offset == 64);
    tn_status status = tn_fail(TN_ERROR_FORMAT, "line 3, column 7: what");
    tn_error_in(status, .line = 3, .column = 7);
    assert_string_equal(tn_last_error()->where, "");
    tn_error_in(status, .node_kind = "layer", .node = "ip", .line = 2);
    assert_true(tn_last_error()->line == 3 && tn_last_error()->column == 7);
    assert_true(tn_last_error()->offset == UINT64_MAX);
    assert_string_equal(tn_last_error()->where, "layer 'ip' (line 2)");
    tn_error_in(status, .file = "net.prototxt", .is_in_message = true);
    assert_string_equal(tn_last_error()->where, "layer 'ip' (line 2)");
    assert_string_equal(tn_last_error()->file, "net.prototxt");
    assert_int_equal(tn_error_in(TN_OK, .file = "nothing"), TN_OK);
    assert_int_equal(tn_error_shift(tn_error_at_byte(TN_OK, 1), 1), TN_OK);
    assert_string_equal(tn_last_error()->file, "net.prototxt");
}

static void test_a_mend_ends_the_message(void **state) {
    (void)state;
    char text[4096];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    const tn_status status = tn_fail(TN_ERROR_NOT_FOUND, "there is no 'a'");
    assert_int_equal(tn_error_mend_nearest(status, "; ", NULL), status);
    assert_string_equal(tn_last_error()->mend, "");
    assert_int_equal(tn_error_mend_nearest(status, "; ", "b"), status);
    assert_string_equal(tn_last_error()->mend, "the nearest is 'b'");
    assert_string_equal(tn_last_error()->message, "there is no 'a'; the nearest is 'b'");
    tn_fail(status, "%s", text);
    tn_error_mend(status, ": ", "%s", text);
    tn_error_in(status, .node = text, .op = text, .domain = text, .library = text, .file = text);
    const tn_error *error = tn_last_error();
    assert_true(strlen(error->message) == 2047 && strlen(error->mend) == 511);
    assert_true(strlen(error->node) == 255 && strlen(error->op) == 127);
    assert_true(strlen(error->library) == 127 && strlen(error->file) == 511);
    tn_error_clear();
    error = tn_last_error();
    assert_true(!error->mend[0] && !error->node[0] && error->offset == UINT64_MAX);
}

static void test_success_leaves_the_error_as_it_is(void **state) {
    (void)state;
    tn_fail(TN_ERROR_IO, "gone");
    assert_int_equal(tn_error_at(TN_OK, "nowhere"), TN_OK);
    assert_string_equal(tn_last_error()->where, "");
    assert_string_equal(tn_last_error()->message, "gone");
}

static void test_a_failure_is_never_ok(void **state) {
    (void)state;
    assert_int_equal(tn_fail(TN_OK, "no status given"), TN_ERROR_INTERNAL);
    assert_int_equal(tn_last_error()->status, TN_ERROR_INTERNAL);
}

static void test_the_error_may_be_quoted_in_the_next(void **state) {
    (void)state;
    tn_fail(TN_ERROR_IO, "inner");
    tn_error_at(TN_ERROR_IO, "here");
    tn_fail(TN_ERROR_FORMAT, "outer: %s", tn_last_error()->message);
    assert_string_equal(tn_last_error()->message, "outer: inner");
    tn_error_at(TN_ERROR_FORMAT, "node");
    tn_error_at(TN_ERROR_FORMAT, "[%s]", tn_last_error()->where);
    assert_string_equal(tn_last_error()->where, "[node]: node");
}

static void test_long_texts_are_cut_not_overrun(void **state) {
    (void)state;
    char text[8192];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    tn_fail(TN_ERROR_FORMAT, "%s", text);
    assert_int_equal(strlen(tn_last_error()->message), sizeof(((tn_error_copy *)0)->message) - 1);
    for (size_t length = 1000; length < 1040; length++) {
        tn_fail(TN_ERROR_FORMAT, "cut");
        tn_error_at(TN_ERROR_FORMAT, "inner node");
        tn_error_at(TN_ERROR_FORMAT, "%.*s", (int)length, text);
        assert_true(strlen(tn_last_error()->where) < sizeof(((tn_error_copy *)0)->where));
        assert_memory_equal(tn_last_error()->where, text, 1000);
    }
    for (int i = 0; i < 500; i++)
        tn_error_at(TN_ERROR_FORMAT, "node %d", i);
    assert_memory_equal(tn_last_error()->where, "node 499: node 498: ", 20);
    assert_true(strlen(tn_last_error()->where) < sizeof(((tn_error_copy *)0)->where));
}

static void test_an_error_can_be_kept_and_forgotten(void **state) {
    (void)state;
    tn_error_copy copy;
    tn_fail(TN_ERROR_RANGE, "kept");
    tn_error_at(TN_ERROR_RANGE, "node");
    tn_error_save(&copy);
    tn_fail(TN_ERROR_IO, "clean-up failed");
    tn_error_restore(&copy);
    assert_failed(TN_ERROR_RANGE, TN_ERROR_RANGE, "kept");
    assert_string_equal(tn_last_error()->where, "node");
    tn_error_clear();
    assert_int_equal(tn_last_error()->status, TN_OK);
    assert_string_equal(tn_last_error()->message, "");
    assert_string_equal(tn_last_error()->where, "");
}

static void test_that_there_was_no_error_can_be_kept(void **state) {
    (void)state;
    tn_error_copy copy;
    memset(&copy, 0xff, sizeof(copy));
    tn_error_clear();
    tn_error_save(&copy);
    tn_fail(TN_ERROR_FORMAT, "tried");
    tn_error_in(TN_ERROR_FORMAT, .node = "n", .op = "o", .library = "l", .file = "f", .line = 3);
    tn_error_at_byte(TN_ERROR_FORMAT, 7);
    tn_error_mend(TN_ERROR_FORMAT, ": ", "again");
    tn_error_restore(&copy);
    const tn_error *error = tn_last_error();
    assert_int_equal(error->status, TN_OK);
    assert_true(error->offset == UINT64_MAX && error->line == 0);
    const char *const texts[] = {error->message, error->where, error->node, error->op,
                                 error->library, error->file,  error->mend};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(texts[i], "");
}

static void *fail_elsewhere(void *user) {
    for (int i = 0; i < 1000; i++) {
        tn_fail(TN_ERROR_DEVICE, "%s", (const char *)user);
        tn_error_at(TN_ERROR_DEVICE, "%s", (const char *)user);
        if (strcmp(tn_last_error()->message, user) != 0) return user;
        if (strcmp(tn_last_error()->where, user) != 0) return user;
    }
    return NULL;
}

static void test_each_thread_has_its_own_error(void **state) {
    (void)state;
    pthread_t threads[2];
    char names[2][8] = {"one", "two"};
    tn_fail(TN_ERROR_IO, "mine");
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fail_elsewhere, names[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_string_equal(tn_last_error()->message, "mine");
}

/* Threads that have failed and stay until all have: more than there are slots. */
enum { CROWD = TN_ERROR_SLOT_COUNT + 16 };
static pthread_barrier_t crowd;

static void *fail_in_a_crowd(void *user) {
    char text[16];
    snprintf(text, sizeof(text), "%d", *(const int *)user);
    tn_fail(TN_ERROR_IO, "%s", text);
    pthread_barrier_wait(&crowd);
    const bool is_right = strcmp(tn_last_error()->message, text) == 0;
    pthread_barrier_wait(&crowd);
    return is_right ? NULL : user;
}

static void test_more_threads_than_slots_keep_their_errors(void **state) {
    (void)state;
    pthread_t threads[CROWD];
    int values[CROWD];
    for (int round = 0; round < 3; round++) { /* what ended threads gave back is used again */
        pthread_barrier_init(&crowd, NULL, CROWD);
        for (int i = 0; i < CROWD; i++) {
            values[i] = i;
            assert_int_equal(pthread_create(&threads[i], NULL, fail_in_a_crowd, &values[i]), 0);
        }
        for (int i = 0; i < CROWD; i++) {
            void *wrong;
            assert_int_equal(pthread_join(threads[i], &wrong), 0);
            assert_null(wrong);
        }
        pthread_barrier_destroy(&crowd);
    }
}

static void *look_without_failing(void *user) {
    (void)user;
    const tn_error *error = tn_last_error();
    return error->status == TN_OK && !error->message[0] && !error->where[0] ? NULL : user;
}

static void test_a_new_thread_has_no_error(void **state) {
    (void)state;
    pthread_t thread;
    void *wrong;
    int mark = 0;
    tn_fail(TN_ERROR_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, look_without_failing, &mark), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
}

static void test_statuses_have_names(void **state) {
    (void)state;
    assert_string_equal(tn_status_name(TN_OK), "TN_OK");
    assert_string_equal(tn_status_name(TN_ERROR_ARGUMENT), "TN_ERROR_ARGUMENT");
    assert_string_equal(tn_status_name(TN_ERROR_SHAPE), "TN_ERROR_SHAPE");
    assert_string_equal(tn_status_name(TN_ERROR_CANCELLED), "TN_ERROR_CANCELLED");
    assert_string_equal(tn_status_name(TN_ERROR_INTERNAL), "TN_ERROR_INTERNAL");
    assert_string_equal(tn_status_name(TN_ERROR_INTERNAL + 1), "unknown status");
    assert_string_equal(tn_status_name(-1), "unknown status");
    assert_string_equal(tn_status_name(INT32_MIN), "unknown status");
    int major, minor, patch;
    assert_int_equal(sscanf(tn_version(), "%d.%d.%d", &major, &minor, &patch), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failure_records_status_and_message),
        cmocka_unit_test(test_locations_are_chained_outermost_first),
        cmocka_unit_test(test_positions_are_kept_by_name),
        cmocka_unit_test(test_an_operator_without_node_does_not_join_an_outer_node),
        cmocka_unit_test(test_a_position_in_a_file_is_kept),
        cmocka_unit_test(test_a_mend_ends_the_message),
        cmocka_unit_test(test_success_leaves_the_error_as_it_is),
        cmocka_unit_test(test_a_failure_is_never_ok),
        cmocka_unit_test(test_the_error_may_be_quoted_in_the_next),
        cmocka_unit_test(test_long_texts_are_cut_not_overrun),
        cmocka_unit_test(test_an_error_can_be_kept_and_forgotten),
        cmocka_unit_test(test_that_there_was_no_error_can_be_kept),
        cmocka_unit_test(test_each_thread_has_its_own_error),
        cmocka_unit_test(test_more_threads_than_slots_keep_their_errors),
        cmocka_unit_test(test_a_new_thread_has_no_error),
        cmocka_unit_test(test_statuses_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
