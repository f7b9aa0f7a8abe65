/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Sweep: the sum of each row of x (..., n) times weights (n), less the mean weight where
 * `centred`. What a kernel does with its host: state, context, workspace, scratch for each thread.
 */
#include "third.h"

TN_LAYER_PARAMS(sweep, bool centred;);
static const tn_field fields[] = {TN_LAYER_BOOL(sweep, centred, "false", "less the mean weight")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., n"), TN_PORT("w", "f32", 0, "n")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "...")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
#if MISTAKE == 11
    /* The reason is given, but the status says that all is well. */
    if (call->inputs[1]->rank != 1 || call->inputs[1]->shape[0] != x->shape[x->rank - 1])
        call->host->fail(call, TN_ERROR_SHAPE, "w does not fit x");
#else
    if (!TN_LAYER_FITS(call, 1, x->shape[x->rank - 1])) return TN_ERROR_SHAPE;
#endif
    return tn_layer_set_shape(call, 0, x->rank - 1, x->shape);
}
static double mean_of(const tn_call *call) {
    const tn_tensor *w = call->inputs[1];
    const int64_t n = w->shape[0];
    double sum = 0;
    if (!((const sweep *)call->params)->centred || n == 0) return 0;
    for (int64_t i = 0; i < n; i++)
        sum += tn_layer_load(w, i);
    return sum / (double)n;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const int64_t n = x->shape[x->rank - 1], rows = tn_layer_rows(x);
    const double mean = mean_of(call);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += tn_layer_load(x, r * n + i) * (tn_layer_load(w, i) - mean);
        tn_layer_store(call->outputs[0], r, sum);
    }
    return TN_OK;
}

/* Weights as doubles: in the state where they are constant, else made by each run in workspace. */
typedef struct state {
    double *weights; /* null: not constant */
    int64_t count;
} state;
typedef struct context {
    uint64_t runs;
    tn_call *call;
    const float *x;
} context;
static void fill_weights(const tn_call *call, double *to) {
    const double mean = mean_of(call);
    for (int64_t i = 0; i < call->inputs[1]->shape[0]; i++)
        to[i] = tn_layer_load(call->inputs[1], i) - mean;
}
static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[1];
#if MISTAKE == 3
    state *s = call->host->allocate(call->host, sizeof(state), 48); /* no power of two */
#else
    state *s = call->host->allocate(call->host, sizeof(state), 64);
#endif
    if (!s) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a state");
    *s = (state){NULL, w->shape[0]};
    if (w->data) {
        s->weights = call->host->allocate(call->host, (uint64_t)s->count * sizeof(double) + 8, 64);
        if (!s->weights) {
#if MISTAKE != 9 /* else: the state is lost, for release is not called for what failed */
            call->host->deallocate(call->host, s);
#endif
            return call->host->fail(call, TN_ERROR_MEMORY, "no memory for weights");
        }
        fill_weights(call, s->weights);
    }
    call->state = s;
    return TN_OK;
}
static void release(tn_call *call) {
    state *s = call->state;
#if MISTAKE == 4
    free(s->weights); /* the host's memory, by C's library */
#else
    call->host->deallocate(call->host, s->weights);
#endif
    call->host->deallocate(call->host, s);
}
static tn_status open(tn_call *call) {
    context *c = call->host->allocate(call->host, sizeof(context), 64);
#if MISTAKE != 7 /* else: there is always memory */
    if (!c) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context");
#endif
    *c = (context){0, call, NULL};
    call->context = c;
    return TN_OK;
}
static void close(tn_call *call) {
    call->host->deallocate(call->host, call->context);
#if MISTAKE == 5
    /* The weights are the engine's: another context may go on with them. */
    call->host->deallocate(call->host, ((state *)call->state)->weights);
    ((state *)call->state)->weights = NULL;
#endif
}
#if MISTAKE == 1
static tn_status nothing(void *user, int64_t begin, int64_t end, uint32_t thread) {
    return TN_OK;
}
#endif
static tn_status reshape(tn_call *call) {
    const state *s = call->state;
#if MISTAKE == 1
    /* Wakes the threads ahead of time, in a stage that has none. */
    const tn_status status = call->host->parallel_for(call, 64, 1, nothing, NULL);
    if (status != TN_OK) return status;
#endif
    call->workspace_bytes = s->weights ? 0 : (uint64_t)call->inputs[1]->shape[0] * sizeof(double);
#if MISTAKE == 14
    call->workspace_bytes = 0;
#endif
    return TN_OK;
}

typedef struct job {
    const tn_call *call;
    const double *weights;
    const float *x;
    double sum; /* MISTAKE 12: of whatever thread */
} job;
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const tn_tensor *x = j->call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
#if MISTAKE == 6
    /* Scratch for a range; without it the range is not done, and run does not ask. */
    double *scratch = j->call->host->allocate(j->call->host, 4096, 64);
    if (!scratch) return TN_ERROR_MEMORY;
    j->call->host->deallocate(j->call->host, scratch);
#endif
    for (int64_t r = begin; r < end; r++) {
#if MISTAKE == 12
        /* One sum for all threads. */
        volatile double *sum = &j->sum;
        *sum = 0;
        for (int64_t i = 0; i < n; i++)
            *sum += (double)j->x[r * n + i] * j->weights[i];
        ((float *)j->call->outputs[0]->data)[r] = (float)*sum;
#else
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)j->x[r * n + i] * j->weights[i];
        ((float *)j->call->outputs[0]->data)[r] = (float)sum;
#endif
    }
    return TN_OK;
}
#if MISTAKE == 2
static tn_status fill(void *user, void *data, uint64_t bytes) {
    fill_weights(user, data);
    return TN_OK;
}
#endif
static tn_status run(tn_call *call) {
    const state *s = call->state;
    context *c = call->context;
    job j = {call, s->weights, call->inputs[0]->data, 0};
    double *own = call->workspace;
    c->runs++;
#if MISTAKE == 2
    /* Asks for packed weights in a stage that has none. */
    const void *packed = NULL;
    const tn_status asked = call->host->packed(
        call, 1, "doubles", (uint64_t)call->inputs[1]->shape[0] * sizeof(double) + 8, fill, call,
        &packed);
    if (asked != TN_OK) return asked;
    j.weights = packed;
#elif MISTAKE == 8
    /* The call of open, which ended with it. */
    if (j.weights)
        return c->call->host->parallel_for(c->call, tn_layer_rows(call->inputs[0]), 1, body, &j);
#elif MISTAKE == 10
    /* Where x lay in the first run of the context, for good. */
    if (!c->x) c->x = call->inputs[0]->data;
    j.x = c->x;
#elif MISTAKE == 14
    /* Scratch that reshape could have asked for. */
    own = malloc((size_t)call->inputs[1]->shape[0] * sizeof(double) + 8);
    if (!own) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for weights");
#endif
    if (!j.weights) {
        fill_weights(call, own);
        j.weights = own;
    }
    const tn_status status =
        call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 1, body, &j);
#if MISTAKE == 14
    free(own);
#endif
#if MISTAKE == 6
    return TN_OK;
#else
    return status;
#endif
}

static const char *const cases[] = {"| x=f32[9,6] w=f32[6]",
                                    "centred=true | x=f32[2,40,5] w=f32[5]", "| x=f32[7] w=f32[7]",
                                    "centred=true | x=f32[3,0] w=f32[0]", "| x=f32[0,3] w=f32[3]"};
static const tn_operator op = {THIRD_OPERATOR("Sweep"), .state_version = 1,
                               TN_FIELDS(sweep, fields), .doc = "Weighted sums of rows."};
static const tn_kernel kernel = {THIRD_KERNEL("Sweep", "rows"),
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 .prepare = prepare,
                                 .release = release,
                                 .open = open,
                                 .close = close,
                                 .reshape = reshape,
                                 .run = run};
THIRD_LIBRARY("sweep", op, &kernel)
