/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of other programs: what they are given, how they end, and what is said of that. */
#include "base/process/child_process.h"

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static tn_status run_shell(const char *command, double seconds, tn_text *output, int *out_code) {
    char *const arguments[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)command, NULL};
    const tn_child_process process = {
        .arguments = arguments, .seconds = seconds, .output_limit = 4096};
    return tn_child_process_run(&process, output, out_code);
}

static void expect_end(const char *command, int code, const char *said) {
    tn_text output;
    int found = -1;
    tn_text_init(&output, tn_allocator_default());
    assert_int_equal(run_shell(command, 20, &output, &found), TN_OK);
    assert_int_equal(found, code);
    assert_string_equal(output.data ? output.data : "", said);
    tn_text_deinit(&output);
}

static void test_both_outputs_and_the_exit_code_come_back(void **state) {
    (void)state;
    expect_end("echo one; echo two >&2; exit 3", 3, "one\ntwo\n");
    expect_end("cat", 0, ""); /* the input is empty */
    expect_end("kill -9 $$", 128 + SIGKILL, "");
    expect_end("printf 'a\\0b'", 0, "a?b");
}

static void test_a_program_that_takes_too_long_is_ended_with_what_it_started(void **state) {
    (void)state;
    tn_text output;
    int code = -1;
    tn_text_init(&output, tn_allocator_default());
    assert_failed(run_shell("sleep 60 & sleep 60", 0.2, &output, &code), TN_ERROR_PLUGIN,
                  "had not ended after 0.2 seconds");
    assert_int_equal(code, -1);
    tn_text_deinit(&output);
}

static void test_a_program_that_is_not_there_is_named(void **state) {
    (void)state;
    char *const arguments[] = {(char *)"no-such-program", NULL};
    const tn_child_process process = {.arguments = arguments, .seconds = 1, .output_limit = 16};
    tn_text output;
    int code = -1;
    tn_text_init(&output, tn_allocator_default());
    assert_failed(tn_child_process_run(&process, &output, &code), TN_ERROR_NOT_FOUND,
                  "cannot run 'no-such-program'");
    tn_text_deinit(&output);
}

static void test_descriptors_are_handed_on_by_number(void **state) {
    (void)state;
    int ends[2], how = -1;
    char said[16] = "";
    pid_t child = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const tn_child_descriptor its_own[] = {{ends[1], 5}};
    char *const arguments[] = {(char *)"/bin/sh", (char *)"-c", (char *)"echo there >&5", NULL};
    const tn_child_start start = {
        .arguments = arguments, .descriptors = its_own, .descriptor_count = 1};
    assert_int_equal(tn_child_process_start(&start, &child), 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], said, sizeof(said) - 1), 6);
    assert_string_equal(said, "there\n");
    close(ends[0]);
    while (!tn_child_process_has_ended(child, &how))
        usleep(1000);
    char text[80];
    tn_child_process_describe(how, text, sizeof(text));
    assert_string_equal(text, "called exit(0)");
}

static void test_an_ended_process_is_described(void **state) {
    (void)state;
    pid_t child = 0;
    int how = -1;
    char text[80];
    char *const arguments[] = {(char *)"/bin/sh", (char *)"-c", (char *)"kill -11 $$", NULL};
    const tn_child_start start = {.arguments = arguments};
    assert_int_equal(tn_child_process_start(&start, &child), 0);
    while (!tn_child_process_has_ended(child, &how))
        usleep(1000);
    tn_child_process_describe(how, text, sizeof(text));
    assert_string_equal(text, "was ended by signal 11 (Segmentation fault)");
    tn_child_process_describe(-1, text, sizeof(text));
    assert_string_equal(text, "ended");
    assert_int_equal(tn_child_process_start(&start, &child), 0);
    tn_child_process_end(child, false);
    assert_true(tn_child_process_has_ended(child, &how)); /* it was reaped */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_outputs_and_the_exit_code_come_back),
        cmocka_unit_test(test_a_program_that_takes_too_long_is_ended_with_what_it_started),
        cmocka_unit_test(test_a_program_that_is_not_there_is_named),
        cmocka_unit_test(test_descriptors_are_handed_on_by_number),
        cmocka_unit_test(test_an_ended_process_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
