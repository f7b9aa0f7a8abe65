/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes in children: what their text says, who else gets the signal, and that nobody is asked to.
 */
#include "plugin/crash.h"
#include "plugin/call.h"
#include "plugin/runtime.h"

#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_a_library_installs_no_handlers(void **state) {
    (void)state;
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction before[5], after;
    tn_runtime *runtime = NULL;
    for (int i = 0; i < 5; i++)
        assert_int_equal(sigaction(signals[i], NULL, &before[i]), 0);
    assert_int_equal(tn_runtime_create(NULL, &runtime), TN_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sigaction(signals[i], NULL, &after), 0);
        assert_ptr_equal(after.sa_sigaction, before[i].sa_sigaction);
    }
    assert_false(atomic_load(&tn_crash_is_watched));
    tn_runtime_release(runtime);
}

/* Runs `crash` in a child of which the text comes here; returns how it ended. */
static int run_child(void (*crash)(int descriptor), char *text, size_t bytes) {
    int ends[2], status;
    size_t length = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        for (int number = 1; number < 32; number++)
            signal(number, SIG_DFL); /* cmocka's */
        crash(ends[1]);
        _exit(99);
    }
    close(ends[1]);
    for (ssize_t count; (count = read(ends[0], text + length, bytes - 1 - length)) > 0;)
        length += (size_t)count;
    text[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void start(int descriptor) {
    const tn_crash_report_options options = {
        .size = sizeof(options), .descriptor = descriptor, .title = "test", .advice = "  advice"};
    if (tn_crash_report_start(&options) != TN_OK) _exit(98);
}

static const tn_operator up = {.size = sizeof(tn_operator), .name = "Up", .domain = "Test"};
static tn_call_scope scope = {.library = "lifts"};
static tn_call outer_call = {.op = &up, .node = "outer", .host_private = &scope};
static tn_call inner_call = {.op = &up, .node = "inner", .host_private = &scope};

static void crash_in_nested_marks(int descriptor) {
    tn_crash_mark outer, inner;
    start(descriptor);
    tn_crash_enter(&outer, &outer_call, "open", NULL);
    tn_crash_enter(&inner, &inner_call, "infer", NULL);
    tn_crash_leave(&inner);
    tn_crash_enter(&inner, &inner_call, "infer", NULL);
    tn_crash_leave(&outer); /* what jumped over the inner one's end */
    tn_crash_enter(&outer, &outer_call, "close", NULL);
    raise(SIGSEGV);
}

static void test_the_innermost_callback_is_named(void **state) {
    (void)state;
    char text[2048];
    const int status = run_child(crash_in_nested_marks, text, sizeof(text));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_memory_equal(text, "test: Segmentation fault (SIGSEGV)", 34);
    assert_non_null(
        strstr(text, "  node 'outer': operator Test::Up of library 'lifts', in close\n"));
    assert_non_null(strstr(text, "\n  advice\n"));
    assert_null(strstr(text, "inner"));
}

static void leave_by_own_handler(int number) {
    _exit(number == SIGFPE ? 7 : 8);
}

static void crash_with_a_handler_before(int descriptor) {
    signal(SIGFPE, leave_by_own_handler);
    start(descriptor);
    start(descriptor); /* twice is once */
    raise(SIGFPE);
}

static void test_who_handled_the_signal_before_gets_it(void **state) {
    (void)state;
    char text[2048];
    const int status = run_child(crash_with_a_handler_before, text, sizeof(text));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_memory_equal(text, "test: Arithmetic fault (SIGFPE)", 31);
    assert_non_null(strstr(text, "in no callback of a plugin\n"));
}

enum { CROWD = 80 }; /* more than there are slots */
static pthread_barrier_t barrier;

static void *stay(void *user) {
    tn_crash_mark mark;
    tn_crash_enter(&mark, &inner_call, "prepare", NULL);
    pthread_barrier_wait(&barrier);
    if (user) raise(SIGABRT);
    pthread_barrier_wait(&barrier);
    tn_crash_leave(&mark);
    return NULL;
}

static void crash_in_a_crowd(int descriptor) {
    pthread_t threads[CROWD];
    tn_crash_mark mark;
    start(descriptor);
    for (int round = 0; round < 3; round++) { /* slots are given back */
        pthread_barrier_init(&barrier, NULL, CROWD + 1);
        for (int i = 0; i < CROWD; i++)
            pthread_create(&threads[i], NULL, stay, NULL);
        for (int i = 0; i < 2; i++)
            pthread_barrier_wait(&barrier);
        for (int i = 0; i < CROWD; i++)
            pthread_join(threads[i], NULL);
    }
    tn_crash_enter(&mark, &outer_call, "run", NULL);
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_create(&threads[0], NULL, stay, NULL);
    pthread_create(&threads[1], NULL, stay, &mark);
    pthread_barrier_wait(&barrier);
    sleep(60);
}

static void test_each_of_many_threads_has_its_own(void **state) {
    (void)state;
    char text[2048];
    const int status = run_child(crash_in_a_crowd, text, sizeof(text));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(
        strstr(text, "  node 'inner': operator Test::Up of library 'lifts', in prepare\n"));
    assert_null(strstr(text, "outer"));
}

static void *raise_illegal(void *user) {
    raise(SIGILL);
    return user;
}

static void crash_without_a_mark(int descriptor) {
    tn_crash_mark mark;
    start(descriptor);
    tn_crash_enter(&mark, &outer_call, "run", NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, raise_illegal, NULL);
    pthread_join(thread, NULL);
}

static void test_a_thread_without_a_mark_works_for_one_that_has(void **state) {
    (void)state;
    char text[2048];
    const int status = run_child(crash_without_a_mark, text, sizeof(text));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
    assert_non_null(strstr(text, "  in a thread of node 'outer': operator Test::Up"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_library_installs_no_handlers),
        cmocka_unit_test(test_the_innermost_callback_is_named),
        cmocka_unit_test(test_who_handled_the_signal_before_gets_it),
        cmocka_unit_test(test_each_of_many_threads_has_its_own),
        cmocka_unit_test(test_a_thread_without_a_mark_works_for_one_that_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
