/* SPDX-License-Identifier: Apache-2.0 */
/* One layer, y = x * gain, in forms that are unusual and sound: each is allowed by the headers, and
 * near to what they forbid. */
#include "nineteenth.h"

#include <tenon/plugin/resource.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define FORM(n) (MISTAKE == (n))

TN_LAYER_PARAMS(params, float gain;);
static const tn_field fields[] = {TN_LAYER_F32(params, gain, "2", -1e6, 1e6, "of x")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (FORM(62) && call->inputs[0]->rank > 4) /* a reason with what format strings have */
        return call->host->fail(call, TN_ERROR_SHAPE, "100 %% of \xE2\x80\x9Cx\xE2\x80\x9D: %s",
                                "rank above 4, %s, %n");
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    return tn_layer_load(call->inputs[0], i) * (double)((const params *)call->params)->gain;
}
TN_LAYER_REFERENCE(element)

static float gain_of(const tn_call *call) {
    return ((const params *)call->params)->gain;
}
static void plain(const float *x, float *y, int64_t n, float gain) {
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * gain;
}
static uint64_t checksum_of(const float *table, uint64_t n) {
    uint64_t sum = 14695981039346656037U;
    for (uint64_t i = 0; i < n * sizeof(*table); i++)
        sum = (sum ^ ((const unsigned char *)table)[i]) * 1099511628211U;
    return sum;
}

/* What some forms have prepared: the gain, as often as the node has fields. */
typedef struct table {
    uint64_t count;
    float items[];
} table;
static table *make_table(tn_call *call, uint64_t count) {
    table *made = call->host->allocate(call->host, sizeof(*made) + count * sizeof(float), 64);
    if (!made) return NULL;
    made->count = count;
    for (uint64_t i = 0; i < count; i++)
        made->items[i] = gain_of(call);
    return made;
}
static tn_status fill_part(void *user, int64_t begin, int64_t end, uint32_t thread) {
    table *made = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        made->items[i] = made->items[0];
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    table *made = make_table(call, FORM(60) ? 1 + (uint64_t)fabsf(gain_of(call)) % 7 : 64);
    if (!made) return TN_ERROR_MEMORY;
    if (FORM(68)) { /* on all threads */
        const tn_status status = call->host->parallel_for(call, 64, 8, fill_part, made);
        if (status != TN_OK) {
            call->host->deallocate(call->host, made);
            return status;
        }
    }
    if (FORM(74)) call->host->log(call->host, TN_LOG_DEBUG, "the table is there");
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
/* Form 60: as many numbers as the node has, and their sum. */
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const table *made = call->state;
    const uint64_t bytes = 8 + made->count * sizeof(float);
    const uint64_t sum = checksum_of(made->items, made->count);
    if (data && *inout_bytes < bytes)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "too few bytes for the table");
    if (data) memcpy((char *)memcpy(data, &sum, 8) + 8, made->items, made->count * sizeof(float));
    *inout_bytes = bytes;
    return TN_OK;
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    uint64_t sum = 0;
    if (bytes < 12 || bytes % 4 != 0 || bytes > 64)
        return call->host->fail(call, TN_ERROR_FORMAT, "no table has %llu bytes",
                                (unsigned long long)bytes);
    table *made = make_table(call, (bytes - 8) / 4);
    if (!made) return TN_ERROR_MEMORY;
    memcpy(&sum, data, 8);
    memcpy(made->items, (const char *)data + 8, bytes - 8);
    call->state = made;
    if (sum == checksum_of(made->items, made->count)) return TN_OK;
    call->host->deallocate(call->host, made);
    call->state = NULL;
    return call->host->fail(call, TN_ERROR_FORMAT, "the table's sum is wrong");
}

/* Form 51: a context's memory, which the first run fills. */
typedef struct lazy {
    bool is_filled;
    float gain;
} lazy;
static tn_status open_lazy(tn_call *call) {
    lazy *made = malloc(sizeof(*made));
    if (!made) return TN_ERROR_MEMORY;
    made->is_filled = false;
    call->context = made;
    return TN_OK;
}
static void close_lazy(tn_call *call) {
    free(call->context);
}

/* Form 61: what all nodes of a device share. */
static tn_status create_shared(tn_call *call, void *user, void **out_resource) {
    (void)user;
    *out_resource = call->host->allocate(call->host, 4096, 4096);
    if (!*out_resource) return TN_ERROR_MEMORY;
    memset(*out_resource, 0, 4096);
    return TN_OK;
}
static void destroy_shared(tn_call *call, void *user, void *resource) {
    (void)user;
    call->host->deallocate(call->host, resource);
}
static const tn_resource shared = {.size = sizeof(tn_resource),
                                   .scope = TN_SCOPE_DEVICE,
                                   .key = "nineteenth.zeros/1",
                                   .create = create_shared,
                                   .destroy = destroy_shared};
static tn_status prepare_shared(tn_call *call) {
    const tn_resources *resources = call->host->extension(call->host, TN_RESOURCES);
    if (!resources) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "no resources");
    return resources->acquire(call, &shared, &call->state);
}
static void release_shared(tn_call *call) {
    const tn_resources *resources = call->host->extension(call->host, TN_RESOURCES);
    resources->release(call, &shared, call->state);
}

static int by_size(const void *a, const void *b) {
    const float x = **(const float *const *)a, y = **(const float *const *)b;
    return x < y ? -1 : x > y ? 1 : a < b ? -1 : a > b;
}
static void range(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const float gain = gain_of(call);
    (void)thread;
#if MISTAKE == 50
    char *scratch = (char *)(((uintptr_t)call->workspace + 4095) / 4096 * 4096) + thread * 4096;
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < 1024 ? end - i : 1024;
        memcpy(scratch, x + i, (size_t)n * 4);
        plain((const float *)scratch, y + i, n, gain);
    }
#elif MISTAKE == 52
    volatile float deep[28 * 1024];
    for (int64_t i = begin; i < end; i++) {
        deep[i % (28 * 1024)] = x[i];
        y[i] = deep[i % (28 * 1024)] * gain;
    }
#elif MISTAKE == 54
    for (int64_t i = end; i-- > begin;)
        y[i] = -1e30F;
    for (int64_t i = end; i-- > begin;)
        y[i] = x[i] * gain;
#elif MISTAKE == 55
    memcpy(y + begin, x + begin, (size_t)(end - begin) * 4);
    for (int64_t i = begin; i < end; i++)
        y[i] *= gain;
#elif MISTAKE == 58
    int64_t i = begin;
    for (; i + 8 <= end; i += 8)
        plain(x + i, y + i, 8, gain);
    if (i < end && end - begin >= 8) i = end - 8;
    plain(x + i, y + i, end - i, gain);
#elif MISTAKE == 59
    for (int64_t i = begin; i < end; i++)
        y[i] = (float)((long double)x[i] * (long double)gain);
#elif MISTAKE == 63
    for (int64_t i = begin; i < end; i++)
        y[i] = isnan(x[i]) ? NAN : x[i] * gain;
#elif MISTAKE == 69
    const float *order[64];
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < 64 ? end - i : 64;
        for (int64_t k = 0; k < n; k++)
            order[k] = x + i + k;
        qsort(order, (size_t)n, sizeof(*order), by_size);
        for (int64_t k = 0; k < n; k++)
            y[order[k] - x] = *order[k] * gain;
    }
#elif MISTAKE == 70 && defined(__SSE2__)
    for (int64_t i = begin; i < end; i++) {
        int32_t bits;
        const float value = x[i] * gain;
        memcpy(&bits, &value, 4);
        _mm_stream_si32((int *)(void *)(y + i), bits);
    }
    _mm_sfence();
#elif MISTAKE == 71
    const char *at = (const char *)(x + begin), *last = (const char *)(x + end);
    int64_t zeros = 0;
    for (; at && at < last; zeros++)
        if ((at = memchr(at, 0, (size_t)(last - at)))) at++;
    for (int64_t i = begin; i < end; i++)
        y[i] = zeros == 0 ? x[i] * gain : gain * x[i];
#elif MISTAKE == 61
    for (int64_t i = begin; i < end; i++) /* a zero that all share */
        y[i] = x[i] * (gain + ((const float *)call->state)[i % 1024]);
#elif MISTAKE == 60 || MISTAKE == 68 || MISTAKE == 74
    const table *made = call->state;
    for (int64_t i = begin; i < end; i++)
        y[i] = x[i] * made->items[(uint64_t)i % made->count];
#else
    plain(x + begin, y + begin, end - begin, gain);
#endif
}
static tn_status body(void *call, int64_t begin, int64_t end, uint32_t thread) {
    range(call, begin, end, thread);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t n = tn_layer_count(call->outputs[0]);
    if (FORM(67) && n == 0) return TN_OK;
    if (FORM(53)) { /* halves, and nothing at all */
        TN_TRY(call->host->parallel_for(call, 0, 1, body, call));
        TN_TRY(call->host->parallel_for(call, n / 2, 3, body, call));
    }
    if (FORM(51)) {
        lazy *held = call->context;
        if (!held->is_filled) *held = (lazy){true, gain_of(call)};
        plain(call->inputs[0]->data, call->outputs[0]->data, n, held->gain);
        return TN_OK;
    }
    if (FORM(64)) {
        const params *own = call->kernel_params;
        plain(call->inputs[0]->data, call->outputs[0]->data, n, own->gain);
        return TN_OK;
    }
    if (FORM(75)) { /* an index for each axis, and strides */
        const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
        int64_t index[TN_MAX_RANK] = {0};
        for (int64_t i = 0; i < n; i++) {
            int64_t from = 0, to = 0;
            for (uint32_t k = 0; k < x->rank; k++)
                from += index[k] * x->strides[k], to += index[k] * y->strides[k];
            ((float *)y->data)[to] = ((const float *)x->data)[from] * gain_of(call);
            for (uint32_t k = x->rank; k-- > 0 && ++index[k] == x->shape[k];)
                index[k] = 0;
        }
        return TN_OK;
    }
    return call->host->parallel_for(call, n, FORM(67) ? 1 : 32, body, call);
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = FORM(50) ? 4095 + (uint64_t)call->threads * 4096 : 0;
    return TN_OK;
}
static tn_status accepts(tn_call *call) { /* form 56: even numbers of elements */
    uint64_t n = 1;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        n *= (uint64_t)call->inputs[0]->shape[i];
    return n % 2 == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status combination(tn_call *call, uint32_t index, char *text, uint32_t bytes) {
    (void)call;
    if (index > 0) return TN_ERROR_NOT_FOUND;
    snprintf(text, bytes, "f32 -> f32");
    return TN_OK;
}
static tn_status timing_key(tn_call *call, char *text, uint32_t bytes) {
    snprintf(text, bytes, "gain is%s one", gain_of(call) == 1 ? "" : " not");
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,4]", "gain=0.5 | x=f32[33]",
                                    "gain=-3 | x=f32[2,0,5]", "| x=f32[]",
                                    "gain=5 | x=f32[2,3,2,2]"};
static const tn_operator unusual = {OPERATOR,
                                    .name = "Unusual",
                                    TN_FIELDS(params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Unusual",
                                 .name = "form",
                                 .traits = TN_KERNEL_DETERMINISTIC,
#if MISTAKE == 65
                                 .combination = combination,
#else
                                 TN_COMBINATIONS(combinations),
#endif
#if MISTAKE == 56
                                 .accepts = accepts,
#endif
#if MISTAKE == 60 || MISTAKE == 68 || MISTAKE == 74
                                 .prepare = prepare,
                                 .release = release,
#elif MISTAKE == 61
                                 .prepare = prepare_shared,
                                 .release = release_shared,
#endif
#if MISTAKE == 51
                                 .open = open_lazy,
                                 .close = close_lazy,
#endif
#if MISTAKE == 60
                                 .save = save,
                                 .load = load,
#endif
#if MISTAKE == 64
                                 TN_FIELDS(params, fields),
#endif
#if MISTAKE == 66
                                 .timing_key = timing_key,
#endif
                                 .reshape = reshape,
                                 .run = run};
#if MISTAKE == 57
/* The same once more, for where nothing else fits. */
static tn_status run_plainly(tn_call *call) {
    plain(call->inputs[0]->data, call->outputs[0]->data, tn_layer_count(call->outputs[0]),
          gain_of(call));
    return TN_OK;
}
static const tn_kernel last = {KERNEL,
                               .op = "Unusual",
                               .name = "last",
                               .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_FALLBACK |
                                         TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE,
                               TN_COMBINATIONS(combinations),
                               .run = run_plainly};
static const tn_operator *const library_operators[] = {&unusual};
static const tn_kernel *const library_kernels[] = {&kernel, &last};
TN_LIBRARY("unusual", "1.0", library_operators, library_kernels)
#else
LIBRARY("unusual", unusual, kernel)
#endif
