/* SPDX-License-Identifier: Apache-2.0 */
/* One layer, each element times two, in forms that are unusual and sound: what they change they
 * give back, what they lock they unlock, what they wait for comes. */
#define _GNU_SOURCE
#include "eighteenth.h"
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static double element(const tn_call *call, int64_t i) {
    return 2 * tn_layer_load(call->inputs[0], i);
}
TN_LAYER_REFERENCE(element)

__attribute__((unused)) static void part(const tn_call *call, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
}
static int64_t count_of(const tn_call *call) {
    return tn_layer_count(call->inputs[0]);
}

#define BY_RANGES                                                                                  \
    static tn_status run(tn_call *call) {                                                          \
        return call->host->parallel_for(call, count_of(call), 4, range, call);                     \
    }
#define LOAD_NOTHING                                                                               \
    static tn_status load(const tn_host *host, tn_library *library) {                              \
        (void)host, (void)library;                                                                 \
        return TN_OK;                                                                              \
    }
#define UNLOAD_NOTHING                                                                             \
    static void unload(const tn_host *host, tn_library *library) {                                 \
        (void)host, (void)library;                                                                 \
    }

#if MISTAKE == 50
/* Subnormal numbers are flushed within each range alone. */
static tn_status range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const unsigned mode = _mm_getcsr();
    volatile float tiny = 1e-30f;
    (void)thread;
    _mm_setcsr(mode | 0x8040);
    tiny *= 1e-10f;
    _mm_setcsr(mode);
    part(user, begin, end);
    return TN_OK;
}
BY_RANGES LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 51
/* A thread keeps the factor of its last range. */
static _Thread_local struct {
    bool is_known;
    double factor;
} cached;
static tn_status range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    if (!cached.is_known) cached.factor = 2;
    cached.is_known = true;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, cached.factor * tn_layer_load(call->inputs[0], i));
    return TN_OK;
}
BY_RANGES LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 52
/* A count under a mutex that may be taken again by its owner. */
static pthread_mutex_t lock;
static long ranges;
static void note(int depth) {
    pthread_mutex_lock(&lock);
    ranges++;
    if (depth > 0) note(depth - 1);
    pthread_mutex_unlock(&lock);
}
static tn_status range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    note(2);
    part(user, begin, end);
    return TN_OK;
}
static tn_status load(const tn_host *host, tn_library *library) {
    pthread_mutexattr_t attributes;
    (void)host, (void)library;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return TN_OK;
}
static void unload(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    pthread_mutex_destroy(&lock);
}
BY_RANGES
#elif MISTAKE == 53
/* A file that is read when the library is loaded. */
static double factor = 2;
static tn_status load(const tn_host *host, tn_library *library) {
    char line[256];
    (void)host, (void)library;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "tenon factor", 12) == 0) factor = 3;
    if (file) fclose(file);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    for (int64_t i = 0; i < count_of(call); i++)
        tn_layer_store(call->outputs[0], i, factor * tn_layer_load(call->inputs[0], i));
    return TN_OK;
}
UNLOAD_NOTHING
#elif MISTAKE == 54
/* C11's locks, and what is done once. */
static once_flag once = ONCE_FLAG_INIT;
static mtx_t lock;
static long runs;
static void begin_once(void) {
    mtx_init(&lock, mtx_plain);
}
static tn_status run(tn_call *call) {
    call_once(&once, begin_once);
    if (mtx_trylock(&lock) == thrd_success) {
        runs++;
        mtx_unlock(&lock);
    }
    part(call, 0, count_of(call));
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 55
/* A table that many read and who finds it empty fills. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static double table[4];
static double factor_of(int64_t i) {
    pthread_rwlock_rdlock(&lock);
    double found = table[i & 3];
    pthread_rwlock_unlock(&lock);
    if (found != 0) return found;
    pthread_rwlock_wrlock(&lock);
    table[i & 3] = found = 2;
    pthread_rwlock_unlock(&lock);
    return found;
}
static tn_status range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, factor_of(i) * tn_layer_load(call->inputs[0], i));
    return TN_OK;
}
BY_RANGES LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 56
/* Random numbers of its own choose the order of the work. */
static tn_status run(tn_call *call) {
    unsigned seed = 17;
    unsigned short bits[3] = {1, 2, 3};
    const int64_t half = count_of(call) > 0 ? (rand_r(&seed) + nrand48(bits)) % count_of(call) : 0;
    part(call, half, count_of(call));
    part(call, 0, half);
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 57
/* A text that is split and a day that is written, by functions with a state of the caller's. */
static tn_status run(tn_call *call) {
    char text[] = "2,4", *rest = NULL, day[40];
    const time_t now = time(NULL);
    struct tm parts;
    const double factor = atof(strtok_r(text, ",", &rest));
    if (localtime_r(&now, &parts)) strftime(day, sizeof(day), "%F", &parts);
    for (int64_t i = 0; i < count_of(call); i++)
        tn_layer_store(call->outputs[0], i, factor * tn_layer_load(call->inputs[0], i));
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 58
/* What does not fit goes through a temporary file, and one without a name. */
static tn_status run(tn_call *call) {
    char path[64];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%.40s/eighteenth.XXXXXX", folder ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file >= 0) {
        unlink(path);
        if (write(file, "spilled", 7) < 0) errno = 0;
        close(file);
    }
    FILE *other = tmpfile();
    if (other) fclose(other);
    part(call, 0, count_of(call));
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 59
/* A thread of the library's own does the work; both wait for one another. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wanted, done;
    pthread_t thread;
    tn_call *call;
    bool is_over, is_there;
} helper = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static void *serve(void *user) {
    pthread_mutex_lock(&helper.lock);
    while (!helper.is_over) {
        if (helper.call) {
            part(helper.call, 0, count_of(helper.call));
            helper.call = NULL;
            pthread_cond_broadcast(&helper.done);
        }
        if (!helper.is_over && !helper.call) pthread_cond_wait(&helper.wanted, &helper.lock);
    }
    pthread_mutex_unlock(&helper.lock);
    return user;
}
static tn_status load(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    helper.is_over = false;
    helper.is_there = pthread_create(&helper.thread, NULL, serve, NULL) == 0;
    return TN_OK;
}
static void unload(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    pthread_mutex_lock(&helper.lock);
    helper.is_over = true;
    pthread_cond_broadcast(&helper.wanted);
    pthread_mutex_unlock(&helper.lock);
    if (helper.is_there) pthread_join(helper.thread, NULL);
}
static tn_status run(tn_call *call) {
    if (!helper.is_there) {
        part(call, 0, count_of(call));
        return TN_OK;
    }
    pthread_mutex_lock(&helper.lock);
    while (helper.call) /* another context's */
        pthread_cond_wait(&helper.done, &helper.lock);
    helper.call = call;
    pthread_cond_signal(&helper.wanted);
    while (helper.call == call)
        pthread_cond_wait(&helper.done, &helper.lock);
    pthread_mutex_unlock(&helper.lock);
    return TN_OK;
}
#elif MISTAKE == 60
/* Memory that has no name. */
static tn_status run(tn_call *call) {
    const int file = memfd_create("eighteenth", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, 4096) == 0) {
        char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) {
            map[0] = 1;
            munmap(map, 4096);
        }
    }
    if (file >= 0) close(file);
    part(call, 0, count_of(call));
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 61
/* The whole of a thread's arithmetic is put aside and back. */
static tn_status range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    fenv_t before;
    volatile long double none = 0, one = 1;
    (void)thread;
    feholdexcept(&before);
    fesetround(FE_TOWARDZERO);
    none = one / none;
    feclearexcept(FE_ALL_EXCEPT);
    fesetenv(&before);
    part(user, begin, end);
    return TN_OK;
}
BY_RANGES LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 62
/* Signals wait while a range is at work, and a thread has another name meanwhile. */
static tn_status range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    sigset_t all, before;
    char name[16];
    (void)thread;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    prctl(PR_GET_NAME, name);
    prctl(PR_SET_NAME, "eighteenth");
    part(user, begin, end);
    prctl(PR_SET_NAME, name);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return TN_OK;
}
BY_RANGES LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 63
/* Prepared slowly: another thread computes, and the first one waits. */
static void *work(void *user) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec - begin.tv_sec < 2);
    return user;
}
static tn_status load(const tn_host *host, tn_library *library) {
    pthread_t thread;
    (void)host, (void)library;
    if (pthread_create(&thread, NULL, work, NULL) == 0) pthread_join(thread, NULL);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    part(call, 0, count_of(call));
    return TN_OK;
}
UNLOAD_NOTHING
#elif MISTAKE == 64
/* Prepared slowly: it sleeps until the day has gone on. */
static tn_status load(const tn_host *host, tn_library *library) {
    struct timespec now, until;
    (void)host, (void)library;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    do {
        nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
        clock_gettime(CLOCK_REALTIME, &now);
    } while (now.tv_sec < until.tv_sec);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    part(call, 0, count_of(call));
    return TN_OK;
}
UNLOAD_NOTHING
#elif MISTAKE == 65
/* A flag that is cleared again, and a turn that is waited for with a deadline. */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static sem_t slots;
static tn_status load(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    sem_init(&slots, 0, 2);
    return TN_OK;
}
static void unload(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    sem_destroy(&slots);
}
static tn_status run(tn_call *call) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    const bool has_slot = sem_timedwait(&slots, &until) == 0;
    while (atomic_flag_test_and_set(&busy))
        sched_yield();
    part(call, 0, count_of(call));
    atomic_flag_clear(&busy);
    if (has_slot) sem_post(&slots);
    return TN_OK;
}
#elif MISTAKE == 66
/* One lock for all contexts, by a condition with a deadline in the time of day. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static bool is_taken;
static tn_status run(tn_call *call) {
    struct timespec until;
    pthread_mutex_lock(&lock);
    while (is_taken) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 5;
        pthread_cond_timedwait(&freed, &lock, &until);
    }
    is_taken = true;
    pthread_mutex_unlock(&lock);
    part(call, 0, count_of(call));
    pthread_mutex_lock(&lock);
    is_taken = false;
    pthread_cond_signal(&freed);
    pthread_mutex_unlock(&lock);
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 67
/* Two loops one after the other, in a locale of its own for a while, on one processor for a while.
 */
static tn_status range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    cpu_set_t before, one;
    (void)thread;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    const bool is_known = sched_getaffinity(0, sizeof(before), &before) == 0;
    if (is_known) sched_setaffinity(0, sizeof(one), &one);
    part(user, begin, end);
    if (is_known) sched_setaffinity(0, sizeof(before), &before);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const locale_t own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(own);
    tn_status status = call->host->parallel_for(call, count_of(call), 2, range, call);
    if (status == TN_OK) status = call->host->parallel_for(call, count_of(call), 8, range, call);
    uselocale(before);
    if (own) freelocale(own);
    return status;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 68
/* It jumps back where something is wrong, and steps over nothing that is to be given back. */
static tn_status run(tn_call *call) {
    jmp_buf again;
    volatile int tries = 0;
    setjmp(again);
    if (tries++ < 3) longjmp(again, 1);
    part(call, 0, count_of(call));
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#elif MISTAKE == 69
/* What it writes goes to a file that is nothing, and how long it takes to the host's log. */
static tn_status run(tn_call *call) {
    struct timespec begin, end;
    char line[80];
    clock_gettime(CLOCK_MONOTONIC, &begin);
    FILE *file = fopen("/dev/null", "w");
    if (file) {
        fprintf(file, "%lld elements\n", (long long)count_of(call));
        fclose(file);
    }
    part(call, 0, count_of(call));
    clock_gettime(CLOCK_MONOTONIC, &end);
    snprintf(line, sizeof(line), "eighteenth: %ld s", (long)(end.tv_sec - begin.tv_sec));
    call->host->log(call->host, TN_LOG_DEBUG, line);
    return TN_OK;
}
LOAD_NOTHING UNLOAD_NOTHING
#endif

    static const char *const cases[] = {"| x=f32[3,4]", "| x=f64[21]"};
static const tn_operator unusual = {OPERATOR,
                                    .name = "Unusual",
                                    TN_NO_FIELDS,
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer_same,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32|f64 -> f32|f64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Unusual",
                                 .name = "unusual",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const operators[] = {&unusual};
static const tn_kernel *const kernels[] = {&kernel};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "unusual",
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
