/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Lend, y = gain * x by ranges on the engine's threads, which it changes for a while and gives
 * back as they were: subnormal numbers are flushed within a range, locks are taken and given back,
 * a file is read when the library is loaded; and the mistakes of those that leave threads changed,
 * locks taken, files written, or a position in the C library. */
#define _GNU_SOURCE
#include "mistake.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#define LOG "/tmp/tenon-bad-plugin.log"

typedef struct lend_params {
    uint64_t present;
    float gain;
} lend_params;

static const tn_field fields[] = {TN_FIELD(lend_params, gain, TN_FIELD_F32, 0, "2", "factor of x")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static struct {
    pthread_mutex_t lock;
    pthread_rwlock_t table_lock;
    pthread_cond_t never;
    pthread_spinlock_t spin;
    atomic_flag busy;
    long ranges;
    char host_name[64];
    locale_t plain;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .table_lock = PTHREAD_RWLOCK_INITIALIZER,
            .never = PTHREAD_COND_INITIALIZER};

static tn_status reference(tn_call *call) {
    const lend_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = p->gain * x[i];
    return TN_OK;
}

/* --- the library --- */

static tn_status load(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    FILE *file = fopen("/proc/sys/kernel/hostname", "r");
    if (file && !fgets(shared.host_name, sizeof(shared.host_name), file)) shared.host_name[0] = 0;
    if (file) fclose(file);
    pthread_spin_init(&shared.spin, PTHREAD_PROCESS_PRIVATE);
    shared.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (WITH(load_names_thread)) prctl(PR_SET_NAME, "lend");
    return TN_OK;
}

static void unload(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    if (shared.plain) freelocale(shared.plain);
    shared.plain = (locale_t)0;
    pthread_spin_destroy(&shared.spin);
}

/* --- what is left on a thread --- */

static void leave_scheduling(void) {
    cpu_set_t one;
    const struct sched_param none = {0};
    if (WITH(range_pins)) {
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    }
    if (WITH(range_is_nice)) setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5);
    if (WITH(range_is_batch)) sched_setscheduler(0, SCHED_BATCH, &none);
    if (WITH(range_is_idle_at_disks)) syscall(SYS_ioprio_set, 1, 0, 3 << 13);
    if (WITH(range_sets_slack)) prctl(PR_SET_TIMERSLACK, 1000000L, 0, 0, 0);
    if (WITH(range_names_thread)) pthread_setname_np(pthread_self(), "lend worker");
}

static void leave_signals(void) {
    static _Thread_local char stack[16384];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigset_t blocked;
    if (WITH(range_blocks_signals)) {
        sigfillset(&blocked);
        pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    }
    if (WITH(range_keeps_signal_stack)) sigaltstack(&own, NULL);
    if (WITH(range_cannot_be_cancelled)) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (WITH(range_cancels_at_once)) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}

static void leave_arithmetic(void) {
    uint16_t word;
    if (WITH(range_flushes)) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    if (WITH(range_rounds_up)) _MM_SET_ROUNDING_MODE(_MM_ROUND_UP);
    if (WITH(range_traps_division)) feenableexcept(FE_DIVBYZERO);
    if (WITH(range_narrows_long_double)) {
        __asm__ volatile("fnstcw %0" : "=m"(word));
        word &= 0xFCFF;
        __asm__ volatile("fldcw %0" : : "m"(word));
    }
    if (WITH(range_sets_locale)) uselocale(shared.plain);
}

/* --- the process --- */

static void write_log(const char *path, int flags) {
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    if (file < 0) return;
    if (write(file, "lend: run\n", 10) < 0) unlink(path);
    close(file);
}

static void write_stream(const char *path) {
    FILE *file = fopen(path, "a");
    if (!file) return;
    fputs("lend: range\n", file);
    fclose(file);
}

/* Where a run keeps what does not fit, and takes it away again. */
static void use_scratch_file(void) {
    char path[] = "/tmp/tenon-lend.XXXXXX";
    const int file = mkstemp(path);
    if (file < 0) return;
    if (!WITH(run_forgets_scratch_file)) unlink(path);
    close(file);
}

static double noise(void) {
    static _Thread_local unsigned seed = 7;
    double more = 0 * (double)(rand_r(&seed) % 8);
    if (WITH(range_draws)) more += 0 * (rand() % 8);
    if (WITH(range_draws_doubles)) more += 0 * drand48();
    return more;
}

static void split_text(void) {
    char text[] = "a,b", *rest = NULL;
    strtok_r(text, ",", &rest);
    if (WITH(run_splits_text)) strtok(text, ",");
    const time_t now = time(NULL);
    struct tm parts;
    if (WITH(run_asks_the_day)) localtime(&now);
    localtime_r(&now, &parts);
}

/* --- the kernel --- */

typedef struct work {
    tn_call *call;
    pthread_t caller;
    const float *x;
    float *y, gain;
} work;

static tn_status scale(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const work *w = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        w->y[i] = w->gain * w->x[i];
    return TN_OK;
}

static void count_range(void) {
    pthread_mutex_lock(&shared.lock);
    shared.ranges++;
    if (!WITH(range_keeps_lock)) pthread_mutex_unlock(&shared.lock);
    pthread_rwlock_rdlock(&shared.table_lock);
    if (!WITH(range_keeps_reading)) pthread_rwlock_unlock(&shared.table_lock);
    pthread_spin_lock(&shared.spin);
    if (!WITH(range_keeps_spinning)) pthread_spin_unlock(&shared.spin);
}

static tn_status do_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    work *w = user;
    const unsigned mode = _mm_getcsr();
    const locale_t locale = uselocale(shared.plain);
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    const double more = noise();
    _mm_setcsr(mode);
    uselocale(locale);
    count_range();
    if (!pthread_equal(pthread_self(), w->caller)) { /* what run's own frame would show */
        leave_scheduling();
        leave_signals();
        leave_arithmetic();
    }
    if (WITH(range_writes_log)) write_stream(LOG);
    if (WITH(nests_loops) && end - begin > 1)
        return w->call->host->parallel_for(
            w->call, end - begin, 1, scale,
            &(work){w->call, w->caller, w->x + begin, w->y + begin, w->gain});
    (void)more;
    return scale(user, begin, end, thread);
}

static tn_status prepare(tn_call *call) {
    if (WITH(prepare_leaves_temporary)) write_log("/tmp/tenon-bad-plugin.table", O_TRUNC);
    if (WITH(prepare_keeps_lock)) pthread_mutex_trylock(&shared.lock);
    return TN_OK;
}

static tn_status open_context(tn_call *call) {
    if (WITH(open_writes_log)) write_log(LOG, O_APPEND);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const lend_params *p = call->params;
    work w = {call, pthread_self(), call->inputs[0]->data, call->outputs[0]->data, p->gain};
    const int64_t count = count_of(call->inputs[0]);
    if (WITH(run_dithers_by_the_day)) w.gain += (float)(time(NULL) % 17) * 1e-3f;
    if (WITH(run_writes_log)) write_log(LOG, O_APPEND);
    use_scratch_file();
    split_text();
    const tn_status status = call->host->parallel_for(call, count, 4, do_range, &w);
    pthread_mutex_lock(&shared.lock);
    if (WITH(run_locks_twice)) pthread_mutex_lock(&shared.lock);
    if (WITH(run_waits_for_nobody)) pthread_cond_wait(&shared.never, &shared.lock);
    if (status != TN_OK && WITH(run_keeps_lock_on_failure)) return status;
    if (!WITH(run_keeps_lock)) pthread_mutex_unlock(&shared.lock);
    if (WITH(run_keeps_flag))
        while (atomic_flag_test_and_set(&shared.busy))
            _mm_pause();
    return status;
}

static const char *const cases[] = {"| x=f32[3,5]", "gain=0.5 | x=f32[67]"};
static const tn_operator lend = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Lend",
                                 TN_FIELDS(lend_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer_same,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel lend_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Lend",
                                   .device = "cpu",
                                   .name = "ranges",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .prepare = prepare,
                                   .open = open_context,
                                   .run = run};
static const tn_operator *const operators[] = {&lend};
static const tn_kernel *const kernels[] = {&lend_cpu};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "bad_lend",
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
