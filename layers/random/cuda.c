/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers on CUDA, the same as on the processor, by kit/cuda/any/position/position.cu. */
#include "kit/cuda/any/position/position_job.h"
#include "kit/operator/layer.h"
#include "random/random.h"

/* The kernels' own. */
typedef struct random_params {
    uint64_t present;
    float seed, low, high, mean, scale;
} random_params;

#define FIELD(member, fallback, words)                                                             \
    TN_FIELD(random_params, member, TN_FIELD_F32, TN_OPTIONAL, fallback, words)
#define FIELD_SEED FIELD(seed, "0", "what the numbers follow from")
static const tn_field seed_fields[] = {FIELD_SEED};
static const tn_field uniform_fields[] = {FIELD_SEED, FIELD(low, "0", "the smallest number"),
                                          FIELD(high, "1", "the end")};
static const tn_field normal_fields[] = {FIELD_SEED, FIELD(mean, "0", "the mean"),
                                         FIELD(scale, "1", "the standard deviation")};

static tn_status run(tn_call *call, tn_cuda_random_job *job) {
    const random_params *params = call->kernel_params;
    const tn_tensor *y = call->outputs[0];
    job->y = y->data;
    job->y_type = y->type;
    job->count = (uint32_t)tn_element_count(y);
    job->key = tn_random_key(params->seed);
    return tn_cuda_any_run(call, tn_cuda_random_launch, job);
}

static tn_status uniform_run(tn_call *call) {
    const random_params *params = call->kernel_params;
    tn_cuda_random_job job = {.kind = TN_CUDA_RANDOM_UNIFORM,
                              .first = (double)params->low,
                              .second = (double)params->high};
    return run(call, &job);
}

static tn_status normal_run(tn_call *call) {
    const random_params *params = call->kernel_params;
    tn_cuda_random_job job = {.kind = TN_CUDA_RANDOM_NORMAL,
                              .first = (double)params->mean,
                              .second = (double)params->scale};
    return run(call, &job);
}

static tn_status bernoulli_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_cuda_random_job job = {.x = x->data, .x_type = x->type, .kind = TN_CUDA_RANDOM_BERNOULLI};
    return run(call, &job);
}

static tn_status multinomial_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_cuda_random_job job = {.x = x->data,
                              .x_type = x->type,
                              .kind = TN_CUDA_RANDOM_MULTINOMIAL,
                              .classes = x->shape[1],
                              .samples = call->outputs[0]->shape[1]};
    return run(call, &job);
}

#define ELEMENTS(symbol, name, prefix, fields)                                                     \
    TN_CUDA_ANY_KERNEL(symbol, "", name, "elements", "An element a thread, in double precision.",  \
                       .accepts = tn_cuda_any_accepts, .run = prefix##_run,                        \
                       TN_FIELDS(random_params, fields))
ELEMENTS(uniform_elements, "RandomUniform", uniform, uniform_fields);
ELEMENTS(normal_elements, "RandomNormal", normal, normal_fields);
ELEMENTS(uniform_like_elements, "RandomUniformLike", uniform, uniform_fields);
ELEMENTS(normal_like_elements, "RandomNormalLike", normal, normal_fields);
ELEMENTS(bernoulli_elements, "Bernoulli", bernoulli, seed_fields);
ELEMENTS(multinomial_elements, "Multinomial", multinomial, seed_fields);
TN_CUDA_LAYER(random, &uniform_elements, &normal_elements, &uniform_like_elements,
              &normal_like_elements, &bernoulli_elements, &multinomial_elements);
