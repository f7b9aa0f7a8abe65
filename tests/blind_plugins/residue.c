/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Smooth: the mean of each element and its neighbours to `reach` on both sides of the last
 * axis, what is outside left out. Here the mistakes are what callbacks leave behind.
 */
#include "blind.h"
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

TN_LAYER_PARAMS(smooth, int64_t reach;);
static const tn_field fields[] = {TN_LAYER_I64(smooth, reach, "1", 0, 64, "to each side")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    return same_shape(call, 0, 0);
}

static double one(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], reach = ((const smooth *)call->params)->reach;
    const int64_t at = i % n, low = at < reach ? 0 : at - reach;
    const int64_t high = at + reach < n ? at + reach : n - 1;
    double sum = 0;
    for (int64_t j = low; j <= high; j++)
        sum += get(x, i - at + j);
    return sum / (double)(high - low + 1);
}

static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, one(call, i));
    return TN_OK;
}

typedef struct shared { /* the node's state */
    int64_t width;
    float *table;
} shared;
typedef struct own { /* the context */
    float *rows[2];
    int64_t capacity;
    int flip;
} own;

static void *sleeper(void *nothing) {
    for (;;)
        pause();
    return nothing;
}
static void start_thread(void) {
    pthread_t thread;
    if (!pthread_create(&thread, NULL, sleeper, NULL)) pthread_detach(thread);
}
static void ignore_signal(int number) {
    (void)number;
}

static tn_status accepts(tn_call *call) {
    if (IS(1)) { /* a key for a table that nobody keeps */
        char *key = malloc(64);
        if (key) snprintf(key, 64, "%u", call->inputs[0]->rank), ((volatile char *)key)[63] = 0;
    }
    return TN_OK;
}
static tn_status tactics(tn_call *call) {
    if (IS(2)) {
        volatile char *list = malloc(128);
        if (list) list[0] = 1;
    }
    call->tactic_count = 1;
    return TN_OK;
}

static tn_status prepare(tn_call *call) {
    shared *s = call->host->allocate(call->host, sizeof(*s), 64);
    if (!s) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a state");
    *s = (shared){0};
    call->state = s;
    if (IS(3)) start_thread();
    if (IS(4)) umask(0);
    if (IS(5)) signal(SIGPIPE, ignore_signal);
    if (IS(6)) setlocale(LC_NUMERIC, setlocale(LC_NUMERIC, "C.UTF-8") ? "C.UTF-8" : "en_US.UTF-8");
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status open_context(tn_call *call) {
    own *context = call->host->allocate(call->host, sizeof(*context), 64);
    if (!context) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context");
    *context = (own){0};
    call->context = context;
    if (IS(7)) context->rows[1] = malloc(4096); /* close forgets it */
    return TN_OK;
}
static void close_context(tn_call *call) {
    own *context = call->context;
    call->host->deallocate(call->host, context->rows[0]);
    if (!IS(7)) call->host->deallocate(call->host, context->rows[1]);
    call->host->deallocate(call->host, context);
    if (IS(8)) { /* a log of what was closed, which is leaked: close is thought to be the end */
        volatile char *line = malloc(96);
        if (line) line[0] = 1;
    }
}

static tn_status reshape(tn_call *call) {
    own *context = call->context;
    const tn_tensor *x = call->inputs[0];
    if (IS(9)) ((shared *)call->state)->width = x->shape[x->rank - 1];
    if (IS(10) && !context->rows[0]) { /* two buffers in turn, the second one is never filled */
        context->rows[0] = call->host->allocate(call->host, 4096, 64);
        if (!context->rows[0]) return call->host->fail(call, TN_ERROR_MEMORY, "no memory");
        context->rows[1] = call->host->allocate(call->host, 4096, 64);
        if (!context->rows[1]) return call->host->fail(call, TN_ERROR_MEMORY, "no memory");
        for (int i = 0; i < 1024; i++)
            context->rows[0][i] = 1, context->rows[1][i] = 0;
    }
    return TN_OK;
}

static void leave_behind(tn_call *call) {
    if (IS(11) && open("/dev/null", O_RDONLY) < 0) return;
    if (IS(12)) {
        volatile char *page =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED) page[0] = 1;
    }
    if (IS(13)) {
        static int is_started;
        if (!is_started++) start_thread();
    }
    if (IS(15) && chdir("/") != 0) return;
    (void)call;
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    own *context = call->context;
    leave_behind(call);
    tn_tensor view = *x;
    int64_t shape[TN_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    view.shape = shape;
    if (IS(9) && x->shape[x->rank - 1] > 0 && ((shared *)call->state)->width > 0)
        shape[x->rank - 1] = ((shared *)call->state)->width; /* of the context that was last */
    const tn_tensor *only = &view;
    tn_call inner = *call;
    inner.inputs = &only;
    const int64_t count = count_of(y) < count_of(&view) ? count_of(y) : count_of(&view);
    for (int64_t i = 0; i < count; i++)
        set(y, i, one(&inner, i));
    if (IS(10) && count) {
        set(y, 0, get(y, 0) * (double)context->rows[context->flip][0]);
        context->flip ^= 1;
    }
    return TN_OK;
}

static char *table_of_names;
static tn_status load(const tn_host *host, tn_library *library) {
    (void)host;
    (void)library;
    if (IS(17)) printf("Smooth 1.0, with %d kernel\n", 1), fflush(stdout);
    if (IS(18)) setlocale(LC_ALL, "C.UTF-8");
    if (IS(19) && chdir("/tmp") != 0) return TN_ERROR_IO;
    if (IS(20)) { /* memory is believed in */
        table_of_names = malloc(8192);
        memset((void *)(volatile char *)table_of_names, 1, 8192);
        ((volatile char *)table_of_names)[8191] = 0;
    }
    if (IS(21) && open("/dev/zero", O_RDONLY) < 0)
        return TN_ERROR_IO;     /* unload does not close it */
    if (IS(22)) start_thread(); /* nor end this one */
    if (IS(50)) {
        table_of_names = calloc(1, 8192);
        if (!table_of_names) return TN_ERROR_MEMORY;
    }
    return TN_OK;
}
static void unload(const tn_host *host, tn_library *library) {
    (void)host;
    (void)library;
    free(table_of_names);
    table_of_names = NULL;
}

static const char *const cases[] = {"| x=f32[3,17]", "reach=3 | x=f32[2,5,3]",
                                    "reach=0 | x=f64[9]"};
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Smooth", "A moving mean.", smooth, )
BLIND_KERNEL("Smooth", .traits = TN_KERNEL_DETERMINISTIC, .accepts = accepts, .tactics = tactics,
             .prepare = prepare, .release = release, .open = open_context, .close = close_context,
             .reshape = reshape)
static const tn_operator *const operators[] = {&blind_operator};
static const tn_kernel *const kernels[] = {&blind_kernel};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "blind_residue",
                               .version = "1.0",
                               .operator_count = 1,
                               .operators = operators,
                               .kernel_count = 1,
                               .kernels = kernels,
                               .load = load,
                               .unload = unload};
    (void)host;
    return &table;
}
