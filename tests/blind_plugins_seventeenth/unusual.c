/* SPDX-License-Identifier: Apache-2.0 */
/* One layer, each element less the first one of its row, in forms that are unusual and sound. */
#include "seventeenth.h"
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <tenon/plugin/resource.h>

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
#if MISTAKE == 59
    /* A reason that is longer than what the host keeps of one. */
    if (call->inputs[0]->rank == 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'x' is a scalar%1200s, expected rank 1+", "");
#endif
    TN_TRY(require_rank(call, 0, 1));
    return infer_same(call);
}

static int64_t length_of(const tn_call *call) {
    return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}
static int64_t count_of(const tn_call *call) {
    return tn_layer_count(call->inputs[0]);
}

static double element(const tn_call *call, int64_t i) {
    return tn_layer_load(call->inputs[0], i) -
           tn_layer_load(call->inputs[0], i - i % length_of(call));
}
TN_LAYER_REFERENCE(element)

__attribute__((unused)) static tn_status part(void *user, int64_t begin, int64_t end,
                                              uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}

#if MISTAKE == 51
/* Half of the stack that a callback has. */
enum { BUFFER = 128 * 1024 / sizeof(double) };
static tn_status run(tn_call *call) {
    double buffer[BUFFER];
    const int64_t n = length_of(call);
    for (int64_t begin = 0; begin < count_of(call); begin += BUFFER) {
        const int64_t left = count_of(call) - begin, count = left < BUFFER ? left : BUFFER;
        for (int64_t i = 0; i < count; i++)
            buffer[i] = tn_layer_load(call->inputs[0], begin + i);
        for (int64_t i = 0; i < count; i++)
            tn_layer_store(call->outputs[0], begin + i,
                           buffer[i] - tn_layer_load(call->inputs[0], begin + i - (begin + i) % n));
    }
    return TN_OK;
}
#elif MISTAKE == 52
/* Rounding goes down while rows are counted, and is as it was when it computes. */
static tn_status run(tn_call *call) {
    const int before = fegetround();
    if (fesetround(FE_DOWNWARD) != 0) return part(call, 0, count_of(call), 0);
    const volatile double rows =
        length_of(call) > 0 ? (double)count_of(call) / (double)length_of(call) : 0;
    const int64_t whole = (int64_t)nearbyint(rows);
    fesetround(before);
    return part(call, 0, whole * length_of(call), 0);
}
#elif MISTAKE == 53
/* A thread of its own, which is gone when the callback returns; where there is none it does the
 * work itself. */
static void *second_half(void *user) {
    tn_call *call = user;
    part(call, count_of(call) / 2, count_of(call), 0);
    return NULL;
}
static tn_status run(tn_call *call) {
    pthread_t other;
    const bool has_other = pthread_create(&other, NULL, second_half, call) == 0;
    part(call, 0, count_of(call) / 2, 0);
    if (has_other)
        pthread_join(other, NULL);
    else
        second_half(call);
    return TN_OK;
}
#elif MISTAKE == 54
/* Two kinds of memory for each context: a resource of the host's, and its own. */
typedef struct scratch {
    const tn_resources *resources;
    tn_resource row;
    double *first;
} scratch;
static tn_status create(tn_call *call, void *user, void **out_resource) {
    (void)user;
    *out_resource = call->host->allocate(call->host, sizeof(double), 64);
    return *out_resource ? TN_OK : TN_ERROR_MEMORY;
}
static void destroy(tn_call *call, void *user, void *resource) {
    (void)user;
    call->host->deallocate(call->host, resource);
}
static tn_status open_context(tn_call *call) {
    scratch *made = call->host->allocate(call->host, sizeof(*made), 16);
    if (!made) return TN_ERROR_MEMORY;
    *made = (scratch){
        call->host->extension(call->host, TN_RESOURCES),
        {sizeof(tn_resource), TN_SCOPE_CONTEXT, "seventeenth.first/1", NULL, create, destroy},
        NULL};
    void *first = NULL;
    tn_status status = TN_ERROR_UNSUPPORTED;
    if (made->resources)
        status = made->resources->acquire(call, &made->row, &first);
    else
        call->host->fail(call, status, "the host has no resources");
    if (status != TN_OK) {
        call->host->deallocate(call->host, made);
        return status;
    }
    made->first = first;
    call->context = made;
    return TN_OK;
}
static void close_context(tn_call *call) {
    scratch *made = call->context;
    made->resources->release(call, &made->row, made->first);
    call->host->deallocate(call->host, made);
}
static tn_status run(tn_call *call) {
    double *first = ((scratch *)call->context)->first;
    for (int64_t i = 0; i < count_of(call); i++) {
        const double x = tn_layer_load(call->inputs[0], i);
        if (i % length_of(call) == 0) *first = x;
        tn_layer_store(call->outputs[0], i, x - *first);
    }
    return TN_OK;
}
#elif MISTAKE == 55
/* Elements that a thread has seen are counted beside the result; the first pass is by elements, the
 * second one by rows, and it mends what the first one left out. */
TN_LAYER_WORKSPACE((uint64_t)call->threads * 64)
static tn_status odd(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    int64_t *seen = (int64_t *)((char *)call->workspace + (uint64_t)thread * 64);
    for (int64_t i = begin; i < end; i++, ++*seen)
        if (i % 2) tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}
static tn_status even(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin * length_of(call); i < end * length_of(call); i++)
        if (i % 2 == 0) tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    int64_t seen = 0;
    memset(call->workspace, 0, (uint64_t)call->threads * 64);
    TN_TRY(call->host->parallel_for(call, count_of(call), 3, odd, call));
    for (uint32_t i = 0; i < call->threads; i++)
        seen += ((const int64_t *)call->workspace)[i * 8];
    if (seen != count_of(call))
        return call->host->fail(call, TN_ERROR_INTERNAL, "%lld of %lld elements were seen",
                                (long long)seen, (long long)count_of(call));
    return call->host->parallel_for(call, length_of(call) > 0 ? seen / length_of(call) : 0, 1, even,
                                    call);
}
#elif MISTAKE == 56
/* A locale for this thread while it prints and reads a number, and the former one afterwards. */
static tn_status run(tn_call *call) {
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return TN_ERROR_MEMORY;
    const locale_t before = uselocale(plain);
    char text[32];
    snprintf(text, sizeof(text), "%.1f", 1.0);
    const double factor = strtod(text, NULL);
    uselocale(before);
    freelocale(plain);
    for (int64_t i = 0; i < count_of(call); i++)
        tn_layer_store(call->outputs[0], i, element(call, i) * factor);
    return TN_OK;
}
#elif MISTAKE == 57
/* All of it is written twice, from the end, the first time wrongly. */
static tn_status run(tn_call *call) {
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = count_of(call); i-- > 0;)
            tn_layer_store(call->outputs[0], i, pass ? element(call, i) : (double)NAN);
    return TN_OK;
}
#elif MISTAKE == 58
/* As many tactics as rows have elements, at most three; all are the same but for their grain. */
static tn_status tactics(tn_call *call) {
    const int64_t n = length_of(call);
    call->tactic_count = n < 1 ? 1 : n > 3 ? 3 : (uint32_t)n;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call), 1 + 1000 * (int64_t)call->tactic, part,
                                    call);
}
#else
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call), 64, part, call);
}
#endif

static const char *const cases[] = {"| x=f32[3,4]", "| x=f32[2,3,7]", "| x=f64[10]"};
static const tn_operator from_first = {
    OPERATOR,       .name = "FromFirst",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32|f64 -> f32|f64"};
static const tn_kernel kernel = {
    KERNEL,
    .op = "FromFirst",
    .device = "cpu",
    .name = "unusual",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
#if MISTAKE == 54
    .open = open_context,
    .close = close_context,
#elif MISTAKE == 55
    .reshape = reshape,
#elif MISTAKE == 58
    .tactics = tactics,
#endif
    .run = run,
};

#if MISTAKE == 50
/* The tables are made while the library is loaded, on the stack, and are gone afterwards. */
static tn_status load(const tn_host *host, tn_library *library) {
    char name[16], text[32];
    snprintf(name, sizeof(name), "From%s", "First");
    snprintf(text, sizeof(text), "%s|%s -> %s|%s", "f32", "f64", "f32", "f64");
    const char *const texts[] = {text};
    tn_operator made = from_first;
    made.name = name;
    const tn_status status = host->register_operator(host, library, &made);
    if (status != TN_OK) return status;
    tn_kernel kernel_made = kernel;
    kernel_made.op = name;
    kernel_made.combinations = texts;
    return host->register_kernel(host, library, &kernel_made);
}
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "unusual",
                             .version = "1.0",
                             .load = load};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    (void)host;
    return &library;
}
#else
static const tn_operator *const operators[] = {&from_first};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("unusual", "1.0", operators, kernels)
#endif
