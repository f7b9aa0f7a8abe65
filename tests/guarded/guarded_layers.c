/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers with one mistake each, for tests of guarded and isolated runs
 * (tests/cli/check_guarded.py): Faulty computes y = 2 x + w through a workspace, and makes the
 * mistake that its fields name, in the stage that they name; Positive, whose output is sized by its
 * run, the same. Their operators are sound; the mistakes are the kernels'.
 */
#include <tenon/plugin.h>
#include <tenon/plugin/output.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MISTAKE_NONE,
    OVERRUN,
    FAR_OVERRUN,
    UNDERRUN,
    READ_PAST,
    WRITES_INPUT,
    WRITES_CONSTANT,
    UNWRITTEN,
    NAN_MADE,
    INFINITY_MADE,
    WORKSPACE,
    SEGFAULT,
    BODY_SEGFAULT,
    THREAD_OVERRUN,
    STACK_OVERFLOW,
    DIVISION,
    ABORT,
    LOOP,
    EXIT,
    DESCRIPTOR,
    FAILS
};
#define MISTAKES                                                                                   \
    "none|overrun|far_overrun|underrun|read_past|writes_input|writes_constant|unwritten|nan|"      \
    "infinity|workspace|segfault|body_segfault|thread_overrun|stack_overflow|division|abort|loop|" \
    "exit|descriptor|fails"
enum { STAGE_RUN, STAGE_PREPARE, STAGE_OPEN, STAGE_RESHAPE, STAGE_CLOSE, STAGE_RELEASE };

typedef struct faulty_params {
    uint64_t present;
    uint32_t mistake, stage;
} faulty_params;

static const tn_field faulty_fields[] = {
    TN_FIELD_CHOICE(faulty_params, mistake, TN_FIELD_ENUM, TN_OPTIONAL, "none", MISTAKES,
                    "what the kernel does wrong"),
    TN_FIELD_CHOICE(faulty_params, stage, TN_FIELD_ENUM, TN_OPTIONAL, "run",
                    "run|prepare|open|reshape|close|release", "when"),
};

/* ----------------------------------------------------------------------------------------------
 * mistakes that need no tensor */

static volatile int zero = 0, one = 1;
static int *volatile nowhere = NULL;

static int sink_deep(int depth) {
    volatile char buffer[4096];
    buffer[depth % 4096] = (char)depth;
    return one ? sink_deep(depth + 1) + buffer[0] : 0;
}

static tn_status crash(tn_call *call, uint32_t mistake) {
    switch (mistake) {
    case SEGFAULT:
        *nowhere = 1;
        break;
    case STACK_OVERFLOW:
        return sink_deep(0);
    case DIVISION:
        return one / zero;
    case ABORT:
        abort();
    case LOOP:
        while (one)
            usleep(1000);
        break;
    case EXIT:
        exit(0);
    case FAILS:
        return call->host->fail(call, TN_ERROR_DEVICE, "it is meant to fail");
    default:
        break;
    }
    return TN_OK;
}

static tn_status at_stage(tn_call *call, uint32_t stage) {
    const faulty_params *params = call->params;
    return params->stage == stage ? crash(call, params->mistake) : TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * Faulty */

static int64_t count_of(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static tn_status same_shape(tn_call *call) TN_NOEXCEPT {
    call->outputs[0]->rank = call->inputs[0]->rank;
    memcpy(call->outputs[0]->shape, call->inputs[0]->shape,
           call->inputs[0]->rank * sizeof(int64_t));
    return TN_OK;
}

static tn_status faulty_reference(tn_call *call) TN_NOEXCEPT {
    const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        y[i] = 2 * x[i] + w[0];
    return TN_OK;
}

typedef struct body_work {
    const tn_call *call;
    uint32_t mistake;
} body_work;

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) TN_NOEXCEPT {
    const body_work *work = user;
    const float *x = work->call->inputs[0]->data, *w = work->call->inputs[1]->data;
    float *doubled = work->call->workspace, *y = work->call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        doubled[i] = 2 * x[i];
        y[i] = doubled[i] + w[0];
    }
    if (work->mistake == BODY_SEGFAULT && begin > 0) *nowhere = 1;
    return TN_OK;
}

static void *write_past(void *user) {
    const tn_tensor *y = user;
    ((volatile char *)y->data)[y->bytes + 4096] = 1;
    return NULL;
}

static void write_past_elsewhere(tn_tensor *y) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_past, y) == 0) pthread_join(thread, NULL);
}

static tn_status make_mistake(tn_call *call, uint32_t mistake) {
    const tn_tensor *input = call->inputs[0], *constant = call->inputs[1];
    tn_tensor *output = call->outputs[0];
    const int64_t count = count_of(input);
    volatile float *x = input->data, *w = constant->data, *y = output->data,
                   *scratch = call->workspace;
    switch (mistake) {
    case OVERRUN:
        y[count] = 1;
        break;
    case FAR_OVERRUN:
        y[count + 5000] = 1;
        break;
    case UNDERRUN:
        y[-1] = 1;
        break;
    case READ_PAST:
        y[0] = x[count + 2000];
        break;
    case WRITES_INPUT:
        x[1] = 1;
        break;
    case WRITES_CONSTANT:
        w[0] = 1;
        break;
    case NAN_MADE:
        y[count - 1] = NAN;
        break;
    case INFINITY_MADE:
        y[count - 2] = INFINITY;
        break;
    case WORKSPACE:
        scratch[count + 2000] = 1;
        break;
    case THREAD_OVERRUN:
        write_past_elsewhere(output);
        break;
    case DESCRIPTOR:
        output->data = (char *)output->data + 64;
        break;
    default:
        break;
    }
    return crash(call, mistake);
}

static tn_status faulty_run(tn_call *call) TN_NOEXCEPT {
    const faulty_params *params = call->params;
    const int64_t count = count_of(call->inputs[0]);
    const uint32_t mistake = params->stage == STAGE_RUN ? params->mistake : MISTAKE_NONE;
    body_work work = {call, mistake};
    const tn_status status =
        call->host->parallel_for(call, mistake == UNWRITTEN ? count - 1 : count, 1, body, &work);
    return status != TN_OK ? status : make_mistake(call, mistake);
}

static tn_status faulty_prepare(tn_call *call) TN_NOEXCEPT {
    return at_stage(call, STAGE_PREPARE);
}
static tn_status faulty_open(tn_call *call) TN_NOEXCEPT {
    return at_stage(call, STAGE_OPEN);
}
static tn_status faulty_reshape(tn_call *call) TN_NOEXCEPT {
    call->workspace_bytes = call->inputs[0]->bytes;
    return at_stage(call, STAGE_RESHAPE);
}
static void faulty_close(tn_call *call) TN_NOEXCEPT {
    (void)at_stage(call, STAGE_CLOSE);
}
static void faulty_release(tn_call *call) TN_NOEXCEPT {
    (void)at_stage(call, STAGE_RELEASE);
}

static const tn_port faulty_inputs[] = {TN_PORT("x", "f32", 0, "numbers"),
                                        TN_PORT("w", "f32", 0, "one number")};
static const tn_port faulty_outputs[] = {TN_PORT("y", "f32", 0, "2 x + w")};
static const tn_operator faulty = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "tests.guarded",
                                   .name = "Faulty",
                                   .doc = "2 x + w, by a kernel with a mistake",
                                   TN_FIELDS(faulty_params, faulty_fields),
                                   TN_INPUTS(faulty_inputs),
                                   TN_OUTPUTS(faulty_outputs),
                                   .infer = same_shape,
                                   .reference = faulty_reference};
static const tn_kernel faulty_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "tests.guarded",
                                        .op = "Faulty",
                                        .device = "cpu",
                                        .name = "mistaken",
                                        .prepare = faulty_prepare,
                                        .release = faulty_release,
                                        .open = faulty_open,
                                        .close = faulty_close,
                                        .reshape = faulty_reshape,
                                        .run = faulty_run};

/* ----------------------------------------------------------------------------------------------
 * Positive: the elements above 0, as many as there are */

static tn_status positive_infer(tn_call *call) TN_NOEXCEPT {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = count_of(call->inputs[0]);
    return TN_OK;
}

static tn_status positive_reference(tn_call *call) TN_NOEXCEPT {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    int64_t count = 0;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        if (x[i] > 0) y[count++] = x[i];
    call->outputs[0]->shape[0] = count;
    return TN_OK;
}

static tn_status positive_run(tn_call *call) TN_NOEXCEPT {
    const faulty_params *params = call->params;
    const tn_status status = positive_reference(call);
    volatile float *y = call->outputs[0]->data;
    if (params->mistake == OVERRUN) y[count_of(call->inputs[0])] = 1;
    return status == TN_OK ? crash(call, params->mistake) : status;
}

static const tn_port positive_inputs[] = {TN_PORT("x", "f32", 0, "numbers")};
static const tn_port positive_outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "those above 0")};
static const tn_operator positive = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "tests.guarded",
                                     .name = "Positive",
                                     .doc = "the elements above 0",
                                     TN_FIELDS(faulty_params, faulty_fields),
                                     TN_INPUTS(positive_inputs),
                                     TN_OUTPUTS(positive_outputs),
                                     .infer = positive_infer,
                                     .reference = positive_reference};
static const tn_kernel positive_kernel = {.size = sizeof(tn_kernel),
                                          .revision = 1,
                                          .domain = "tests.guarded",
                                          .op = "Positive",
                                          .device = "cpu",
                                          .name = "mistaken",
                                          .run = positive_run};

/* ----------------------------------------------------------------------------------------------
 * Twice: the elements above 0, each twice, in memory that is asked for once their count is known */

static tn_status twice_infer(tn_call *call) TN_NOEXCEPT {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = TN_UNBOUNDED;
    return TN_OK;
}

static tn_status twice_reference(tn_call *call) TN_NOEXCEPT {
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    const float *x = call->inputs[0]->data;
    int64_t count = 0;
    void *data = NULL;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        count += x[i] > 0 ? 2 : 0;
    const tn_status status = memory->allocate(call, 0, 1, &count, &data);
    float *y = data;
    for (int64_t i = 0; status == TN_OK && i < count_of(call->inputs[0]); i++) {
        if (!(x[i] > 0)) continue;
        *y++ = x[i];
        *y++ = x[i];
    }
    return status;
}

static tn_status twice_run(tn_call *call) TN_NOEXCEPT {
    const faulty_params *params = call->params;
    const tn_status status = twice_reference(call);
    if (status != TN_OK) return status;
    volatile float *y = call->outputs[0]->data;
    if (params->mistake == OVERRUN) y[count_of(call->outputs[0])] = 1;
    return crash(call, params->mistake);
}

static const tn_operator twice = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "tests.guarded",
                                  .name = "Twice",
                                  .doc = "the elements above 0, each twice",
                                  TN_FIELDS(faulty_params, faulty_fields),
                                  TN_INPUTS(positive_inputs),
                                  TN_OUTPUTS(positive_outputs),
                                  .infer = twice_infer,
                                  .reference = twice_reference};
static const tn_kernel twice_kernel = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "tests.guarded",
                                       .op = "Twice",
                                       .device = "cpu",
                                       .name = "mistaken",
                                       .run = twice_run};

static const tn_operator *const operators[] = {&faulty, &positive, &twice};
static const tn_kernel *const kernels[] = {&faulty_kernel, &positive_kernel, &twice_kernel};
TN_LIBRARY("guarded_layers", "1.0", operators, kernels)
