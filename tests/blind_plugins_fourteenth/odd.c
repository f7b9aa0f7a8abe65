/* SPDX-License-Identifier: Apache-2.0 */
/* Unusual and right: one layer for each number from 50 on. */
#include "fourteenth.h"

#include <fenv.h>
#include <pthread.h>

static tn_status load(const tn_host *host, tn_library *library);
static void unload(const tn_host *host, tn_library *library);
static tn_status load_nothing(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    return TN_OK;
}
#define ONE_PORT(of_types)                                                                         \
    static const tn_port inputs[] = {TN_PORT("x", of_types, 0, "any shape")};                      \
    static const tn_port outputs[] = {TN_PORT("y", of_types, 0, "as x")};
#define TRAITS    0
#define CALLBACKS .run = run

#if MISTAKE == 50 /* scalars alone */
static const tn_port inputs[] = {TN_PORT("x", "f64", 0, "a scalar")};
static const tn_port outputs[] = {TN_PORT("y", "f64", 0, "a scalar")};
static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is no scalar");
    call->outputs[0]->rank = 0;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    *(double *)call->outputs[0]->data = *(const double *)call->inputs[0]->data * 2;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    *(double *)call->outputs[0]->data =
        *(const double *)call->inputs[0]->data + *(const double *)call->inputs[0]->data;
    return TN_OK;
}
static const char *const cases[] = {"| x=f64[]{3}", "| x=f64[]"};
static const char *const combinations[] = {"f64 -> f64"};

#elif MISTAKE == 51 /* a table that the library makes when it is loaded, and frees */
ONE_PORT("u8")
#define HAS_LOAD
static uint8_t *table;
static tn_status load(const tn_host *host, tn_library *library) {
    (void)library;
    table = host->allocate(host, 256, 64);
    if (!table) return TN_ERROR_MEMORY;
    for (int i = 0; i < 256; i++) {
        uint8_t r = 0;
        for (int b = 0; b < 8; b++)
            r |= (uint8_t)((i >> b & 1) << (7 - b));
        table[i] = r;
    }
    return TN_OK;
}
static void unload(const tn_host *host, tn_library *library) {
    (void)library;
    host->deallocate(host, table);
    table = NULL;
}
#define INFER infer_same
static tn_status reference(tn_call *call) {
    const uint8_t *x = call->inputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        uint8_t r = 0;
        for (int b = 0; b < 8; b++)
            r |= (uint8_t)((x[i] >> b & 1) << (7 - b));
        ((uint8_t *)call->outputs[0]->data)[i] = r;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const uint8_t *x = call->inputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        ((uint8_t *)call->outputs[0]->data)[i] = table[x[i]];
    return TN_OK;
}
static const char *const cases[] = {"| x=u8[3,5]", "| x=u8[300]"};
static const char *const combinations[] = {"u8 -> u8"};

#elif MISTAKE == 52 /* the rounding is another one while it runs, and is put back */
ONE_PORT("f32")
#define INFER infer_same
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, floor(tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    static float (*volatile const to_whole)(float) =
        rintf; /* the compiler's own is none of the mode */
    const int before = fegetround();
    const float *x = call->inputs[0]->data;
    fesetround(FE_DOWNWARD);
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        volatile float v = x[i];
        ((float *)call->outputs[0]->data)[i] = to_whole(v);
    }
    fesetround(before);
    return TN_OK;
}
static const char *const cases[] = {
    "| x=f32[3,5]", "| x=f32[17]{-0.5,0.5,1.5,2.5,-1,0,1,2,3,4,5,6,7,8,9,10,11.25}"};
static const char *const combinations[] = {"f32 -> f32"};

#elif MISTAKE == 53 /* all axes turned round, of any rank up to 8 and any type of 4 bytes */
ONE_PORT("T:f32|i32|u32")
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    call->outputs[0]->type = x->type;
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[x->rank - 1 - i];
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        int64_t rest = i, at = 0;
        for (uint32_t k = x->rank; k-- > 0;) {
            const int64_t index = rest % x->shape[k];
            rest /= x->shape[k];
            at = at * 1 + index * product(y->shape, x->rank - k, y->rank);
        }
        ((uint32_t *)y->data)[at] = ((const uint32_t *)x->data)[i];
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        int64_t rest = i, at = 0;
        for (uint32_t k = y->rank; k-- > 0; rest /= y->shape[k])
            at += rest % y->shape[k] * x->strides[y->rank - 1 - k];
        ((uint32_t *)y->data)[i] = ((const uint32_t *)x->data)[at];
    }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[2,3,4]", "| x=i32[2,1,2,1,2,1,2,3]", "| x=u32[]",
                                    "| x=f32[0,3]"};
#define NO_COMBINATIONS

#elif MISTAKE == 54 /* contents that are compared, so that equal ones are computed once */
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
#define INFER infer_same
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, atan(tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}
typedef struct memo {
    float *x, *y;
    uint64_t bytes;
    bool is_filled;
} memo;
static tn_status open_memo(tn_call *call) {
    call->context = calloc(1, sizeof(memo));
    return call->context ? TN_OK : TN_ERROR_MEMORY;
}
static void close_memo(tn_call *call) {
    memo *m = call->context;
    free(m->x);
    free(m->y);
    free(m);
}
static tn_status reshape(tn_call *call) {
    memo *m = call->context;
    free(m->x);
    free(m->y);
    m->is_filled = false;
    m->bytes = call->inputs[0]->bytes;
    m->x = malloc(m->bytes + 4);
    m->y = malloc(m->bytes + 4);
    return m->x && m->y ? TN_OK : TN_ERROR_MEMORY;
}
static tn_status run(tn_call *call) {
    memo *m = call->context;
    if (!m->is_filled || memcmp(m->x, call->inputs[0]->data, m->bytes) != 0) {
        memcpy(m->x, call->inputs[0]->data, m->bytes);
        for (uint64_t i = 0; i < m->bytes / 4; i++)
            m->y[i] = (float)atan((double)m->x[i]);
        m->is_filled = true;
    }
    memcpy(call->outputs[0]->data, m->y, m->bytes);
    return TN_OK;
}
#undef CALLBACKS
#define CALLBACKS .open = open_memo, .close = close_memo, .reshape = reshape, .run = run
static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[0]"};
static const char *const combinations[] = {"f32 -> f32"};

#elif MISTAKE == 55 /* elements above the mean, as many as there are, or none */
static const tn_port inputs[] = {TN_PORT("x", "i32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "i32", TN_PORT_SIZED_BY_RUN, "those above 10")};
static tn_status infer(tn_call *call) {
    return TN_LAYER_SET_SHAPE(call, 0, tn_layer_count(call->inputs[0]));
}
static tn_status reference(tn_call *call) {
    int64_t n = 0;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const int32_t v = ((const int32_t *)call->inputs[0]->data)[i];
        if (v > 10) ((int32_t *)call->outputs[0]->data)[n++] = v;
    }
    call->outputs[0]->shape[0] = n;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    int32_t *to = call->outputs[0]->data;
    const int32_t *x = call->inputs[0]->data, *end = x + tn_layer_count(call->inputs[0]);
    for (; x < end; x++)
        if (*x > 10) *to++ = *x;
    call->outputs[0]->shape[0] = to - (int32_t *)call->outputs[0]->data;
    return TN_OK;
}
static const char *const cases[] = {"| x=i32[3,5]", "| x=i32[4]{11,2,-3,400}", "| x=i32[2]{1,2}"};
static const char *const combinations[] = {"i32 -> i32"};

#elif MISTAKE == 56 /* numbers from fields alone */
TN_LAYER_PARAMS(odd_params, int64_t count; float first, step;);
static const tn_field fields[] = {TN_LAYER_I64(odd_params, count, "3", 0, 1000, "how many"),
                                  TN_LAYER_F32(odd_params, first, "0", -1000, 1000, "the first"),
                                  TN_LAYER_F32(odd_params, step, "1", -1000, 1000, "between them")};
#define HAS_FIELDS
#undef TRAITS
#define TRAITS TN_OPERATOR_CONSTANT
#define NO_INPUTS
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "count")};
static tn_status infer(tn_call *call) {
    return TN_LAYER_SET_SHAPE(call, 0, ((const odd_params *)call->params)->count);
}
static tn_status reference(tn_call *call) {
    const odd_params *p = call->params;
    for (int64_t i = 0; i < p->count; i++)
        tn_layer_store(call->outputs[0], i, (double)p->first + (double)i * (double)p->step);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return reference(call);
}
static const char *const cases[] = {"|", "count=7 step=-0.5 |", "count=0 |"};
static const char *const combinations[] = {"-> f32"};

#else /* 57: a thread of its own for the second half, joined before run returns */
ONE_PORT("f32")
#define INFER infer_same
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, cbrt(tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}
typedef struct part {
    const float *x;
    float *y;
    int64_t count;
} part;
static void *do_part(void *user) {
    const part *p = user;
    for (int64_t i = 0; i < p->count; i++)
        p->y[i] = (float)cbrt((double)p->x[i]);
    return NULL;
}
static tn_status run(tn_call *call) {
    const int64_t n = tn_layer_count(call->inputs[0]), half = n / 2;
    part first = {call->inputs[0]->data, call->outputs[0]->data, half};
    part second = {first.x + half, first.y + half, n - half};
    pthread_t thread;
    const bool is_started = n > 64 && pthread_create(&thread, NULL, do_part, &second) == 0;
    do_part(&first);
    if (is_started)
        pthread_join(thread, NULL);
    else
        do_part(&second);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[200]"};
static const char *const combinations[] = {"f32 -> f32"};
#endif

#ifndef INFER
#define INFER infer
#endif
static const tn_operator odd = {OPERATOR,
                                .name = "Odd",
                                .doc = "Unusual.",
                                .traits = TRAITS,
#ifdef HAS_FIELDS
                                TN_FIELDS(odd_params, fields),
#else
                                TN_NO_FIELDS,
#endif
#ifdef NO_INPUTS
                                TN_NO_INPUTS,
#else
                                TN_INPUTS(inputs),
#endif
                                TN_OUTPUTS(outputs),
                                .infer = INFER,
                                .reference = reference,
                                TN_CASES(cases)};
static const tn_kernel odd_cpu = {KERNEL, .op = "Odd", .traits = TN_KERNEL_DETERMINISTIC,
#ifndef NO_COMBINATIONS
                                  TN_COMBINATIONS(combinations),
#endif
                                  CALLBACKS};
static const tn_operator *const operators[] = {&odd};
static const tn_kernel *const kernels[] = {&odd_cpu};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "odd",
                                 .version = "1.0",
                                 .operator_count = 1,
                                 .operators = operators,
                                 .kernel_count = 1,
                                 .kernels = kernels,
#ifdef HAS_LOAD
                                 .load = load,
                                 .unload = unload
#else
                                 .load = load_nothing
#endif
    };
    (void)host;
    return &library;
}
