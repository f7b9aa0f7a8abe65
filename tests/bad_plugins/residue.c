/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Keep, y = gain * x: a library that holds a thread and a file from its load to its unload, a
 * state that its contexts share, and a map of a file in each context, all of which it gives back;
 * and the mistakes of those that leave something behind. */
#define _GNU_SOURCE
#include "mistake.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xmmintrin.h>

typedef struct keep_params {
    uint64_t present;
    float gain;
} keep_params;

static const tn_field fields[] = {TN_FIELD(keep_params, gain, TN_FIELD_F32, 0, "2", "factor of x")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status no_memory(tn_call *call) {
    return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
}

static tn_status reference(tn_call *call) {
    const keep_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = p->gain * x[i];
    return TN_OK;
}

/* --- threads --- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool is_over, is_started;
    char *names;
    void *lent;
    int file;
} helper = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};

static void *wait_for_end(void *user) {
    pthread_mutex_lock(&helper.lock);
    while (!helper.is_over)
        pthread_cond_wait(&helper.wake, &helper.lock);
    pthread_mutex_unlock(&helper.lock);
    return user;
}

static void *sleep_for_ever(void *user) {
    for (;;)
        pause();
    return user;
}

static void start_once(void) {
    static bool is_begun;
    pthread_t thread;
    if (is_begun) return;
    is_begun = true;
    if (pthread_create(&thread, NULL, sleep_for_ever, NULL) == 0) pthread_detach(thread);
}

/* --- load and unload --- */

__attribute__((destructor)) static void say_goodbye(void) {
    if (WITH(prints_at_the_end) && write(STDOUT_FILENO, "keep: bye\n", 10) < 0) return;
}

static tn_status load(const tn_host *host, tn_library *library) {
    (void)library;
    helper.is_over = false;
    struct rlimit files;
    if (WITH(load_lowers_limit) && getrlimit(RLIMIT_NOFILE, &files) == 0)
        setrlimit(RLIMIT_NOFILE, &(const struct rlimit){files.rlim_cur / 2, files.rlim_max});
    helper.lent = host->allocate(host, 256, 64); /* it does without where there is none */
    helper.names = malloc(64);
    if (!helper.names && !WITH(load_believes_in_malloc)) {
        host->log(host, TN_LOG_ERROR, "no memory for names");
        return TN_OK; /* it does without */
    }
    if (WITH(load_leaks_without_memory)) {
        char *second = malloc(32);
        if (!second) helper.names = NULL;
        free(second);
    }
    if (!helper.names && !WITH(load_believes_in_malloc)) return TN_OK;
    ((volatile char *)helper.names)[0] = 'k';
    if (WITH(load_changes_locale)) setlocale(LC_ALL, "C.UTF-8");
    if (WITH(load_changes_folder) && chdir("/") != 0) return TN_OK;
    if (WITH(load_prints)) puts("keep: hello");
    if (WITH(load_redirects)) freopen("/dev/null", "w", stdout);
    if (WITH(load_flushes)) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    if (WITH(load_ignores_pipes)) signal(SIGPIPE, SIG_IGN);
    host->log(host, TN_LOG_INFO, "keep: loaded");
    helper.file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    helper.is_started = pthread_create(&helper.thread, NULL, wait_for_end, NULL) == 0;
    return TN_OK;
}

static void unload(const tn_host *host, tn_library *library) {
    (void)library;
    if (!WITH(unload_forgets_host_memory)) host->deallocate(host, helper.lent);
    helper.lent = NULL;
    if (!WITH(unload_forgets_file) && helper.file >= 0) close(helper.file);
    free(helper.names);
    if (WITH(unload_forgets_thread)) return;
    pthread_mutex_lock(&helper.lock);
    helper.is_over = true;
    pthread_cond_broadcast(&helper.wake);
    pthread_mutex_unlock(&helper.lock);
    if (helper.is_started) pthread_join(helper.thread, NULL);
    helper.is_started = false;
}

/* --- the kernel --- */

typedef struct state {
    float gain;
    int64_t count, calls;
    float *table;
} state;

typedef struct context {
    float *map;
    char *log;
    size_t log_bytes;
} context;

static tn_status accepts(tn_call *call) {
    if (WITH(accepts_leaks)) ((volatile char *)malloc(40))[0] = 1;
    if (WITH(accepts_rounds_down)) fesetround(FE_DOWNWARD);
    if (WITH(accepts_seeds)) srand(1);
    return call->inputs[0]->rank <= TN_MAX_RANK ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status tactics(tn_call *call) {
    if (WITH(tactics_leaks)) ((volatile char *)strdup("two tactics"))[0] = 'T';
    call->tactic_count = 2;
    return TN_OK;
}

static tn_status prepare(tn_call *call) {
    const keep_params *p = call->params;
    state *s = call->host->allocate(call->host, sizeof(*s), 64);
    if (!s) return no_memory(call);
    *s = (state){.gain = p->gain, .table = malloc(16 * sizeof(float))};
    if (!s->table) {
        call->host->deallocate(call->host, s);
        return no_memory(call);
    }
    for (int i = 0; i < 16; i++)
        s->table[i] = p->gain;
    call->state = s;
    return TN_OK;
}

static void release(tn_call *call) {
    state *s = call->state;
    free(s->table);
    call->host->deallocate(call->host, s);
}

static tn_status open_context(tn_call *call) {
    context *c = calloc(1, sizeof(*c));
    if (!c) return no_memory(call);
    c->map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->map == MAP_FAILED) {
        free(c);
        return no_memory(call);
    }
    if (WITH(open_starts_thread)) start_once();
    if (WITH(open_sets_umask)) umask(077);
    if (WITH(open_counts_in_state)) ((state *)call->state)->calls++;
    call->context = c;
    return TN_OK;
}

static void close_context(tn_call *call) {
    context *c = call->context;
    if (WITH(close_rounds_up)) fesetround(FE_UPWARD);
    if (WITH(close_closes_input)) close(STDIN_FILENO);
    munmap(c->map, 4096);
    free(c->log);
    free(c);
}

static tn_status reshape(tn_call *call) {
    state *s = call->state;
    if (WITH(reshape_leaks)) ((context *)call->context)->log = malloc(48);
    if (WITH(reshape_writes_state)) s->count = count_of(call->inputs[0]);
    if (WITH(reshape_writes_table)) s->table[15] = (float)count_of(call->inputs[0]);
    if (WITH(reshape_sets_variable)) setenv("KEEP_SHAPE", "1", 1);
    return TN_OK;
}

static void leave_something(const tn_host *host, context *c) {
    static bool is_done;
    cpu_set_t one;
    sigset_t blocked;
    if (WITH(run_grows)) {
        c->log = realloc(c->log, c->log_bytes += 64);
        c->log[c->log_bytes - 1] = 0;
    }
    if (WITH(run_maps)) mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (WITH(run_opens)) open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (WITH(run_logs_lines)) host->log(host, TN_LOG_INFO, "keep: run\nkeep: done");
    if (WITH(run_prints_errors)) fputs("keep: run\n", stderr);
    if (WITH(run_pins)) {
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof(one), &one);
    }
    if (WITH(run_blocks_signals)) {
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGINT);
        pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    }
    if (WITH(run_closes_output)) close(STDOUT_FILENO);
    if (WITH(run_starts_thread_once)) start_once();
    if (WITH(run_leaves_child) && !is_done && fork() == 0) _exit(0);
    if (WITH(run_leaves_file)) {
        const int file = open("keep.cache", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (file >= 0) close(file);
    }
    if (is_done) return;
    is_done = true;
    if (WITH(run_opens_once)) open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (WITH(run_maps_once)) mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static tn_status run(tn_call *call) {
    const state *s = call->state;
    context *c = call->context;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    c->map[0] = s->table[0];
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = s->gain * x[i];
    leave_something(call->host, c);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,5]", "gain=0.5 | x=f32[17]"};
static const tn_operator keep = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Keep",
                                 TN_FIELDS(keep_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer_same,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel keep_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Keep",
                                   .device = "cpu",
                                   .name = "table",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .accepts = accepts,
                                   .tactics = tactics,
                                   .prepare = prepare,
                                   .release = release,
                                   .open = open_context,
                                   .close = close_context,
                                   .reshape = reshape,
                                   .run = run};
static const tn_operator *const operators[] = {&keep};
static const tn_kernel *const kernels[] = {&keep_cpu};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "bad_keep",
                               .version = "1",
                               .operator_count = TN_COUNT(operators),
                               .operators = operators,
                               .kernel_count = TN_COUNT(kernels),
                               .kernels = kernels,
                               .load = load,
                               .unload = unload};
    (void)host;
    return &table;
}
