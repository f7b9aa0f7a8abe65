/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers: RandomUniform and RandomNormal, of a given shape or of another tensor's (Like),
 * Bernoulli and Multinomial. Number i of a node is SplitMix64's i-th from the node's seed (Steele,
 * Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014), so that the same seed
 * gives the same numbers whatever the threads; normal ones are made of two by Box and Muller's
 * transform. Readers of networks give nodes without a seed one of their own.
 */
#include <tenon/kit/parallel.h>
#include "kit/operator/layer.h"
#include "random/random.h"

#include <math.h>

/* The members that all have, and those of some of them. */
typedef struct random_params {
    uint64_t present;
    tn_type dtype;
    float seed;
    float first, second; /* low and high, or mean and scale */
    int64_t sample_size;
    tn_i64s shape;
} random_params;

#define FIELD_DTYPE(fallback, words)                                                               \
    TN_FIELD(random_params, dtype, TN_FIELD_TYPE, TN_OPTIONAL, fallback, words)
#define FIELD_SEED                                                                                 \
    TN_FIELD(random_params, seed, TN_FIELD_F32, TN_OPTIONAL, "0", "what the numbers follow from")
#define NUMBER(member, name, fallback, words)                                                      \
    {                                                                                              \
        name, words, fallback, NULL, TN_FIELD_F32, TN_OPTIONAL,                                    \
            (uint32_t)offsetof(random_params, member), (uint32_t)sizeof(float), 0, 0, 0, 0         \
    }
#define FIELDS_UNIFORM                                                                             \
    NUMBER(first, "low", "0", "the smallest number"), NUMBER(second, "high", "1", "the end")
#define FIELDS_NORMAL                                                                              \
    NUMBER(first, "mean", "0", "the mean"), NUMBER(second, "scale", "1", "the standard deviation")
#define FIELD_SHAPE                                                                                \
    TN_FIELD(random_params, shape, TN_FIELD_I64S, TN_REQUIRED, NULL, "extents of the output")
#define OWN_TYPE  FIELD_DTYPE("f32", "type of the output"), FIELD_SEED
#define LIKE_TYPE FIELD_DTYPE(NULL, "type of the output; absent: the input's"), FIELD_SEED
static const tn_field uniform_fields[] = {OWN_TYPE, FIELDS_UNIFORM, FIELD_SHAPE};
static const tn_field normal_fields[] = {OWN_TYPE, FIELDS_NORMAL, FIELD_SHAPE};
static const tn_field uniform_like_fields[] = {LIKE_TYPE, FIELDS_UNIFORM};
static const tn_field normal_like_fields[] = {LIKE_TYPE, FIELDS_NORMAL};
static const tn_field bernoulli_fields[] = {LIKE_TYPE};
static const tn_field multinomial_fields[] = {
    FIELD_DTYPE("i32", "type of the output, i32 or i64"), FIELD_SEED,
    TN_FIELD_RANGE(random_params, sample_size, TN_FIELD_I64, TN_OPTIONAL, "1", 0, 2147483647.0,
                   "how many classes are drawn")};

/* ----------------------------------------------------------------------------------------------
 * shapes */

static tn_status set_type(tn_call *call, bool is_float) {
    const random_params *params = call->params;
    const tn_type type = params->dtype == TN_NONE ? call->inputs[0]->type : params->dtype;
    const bool fits = is_float ? tn_element_is_real(type) : tn_element_bytes(type) > 0;
    if (!fits)
        return call->host->fail(call, TN_ERROR_TYPE, "the output cannot have %s type",
                                params->dtype == TN_NONE ? "the input's" : "field 'dtype' as its");
    tn_infer_set_type(call, 0, type);
    return TN_OK;
}

static tn_status shape_infer(tn_call *call) {
    const random_params *params = call->params;
    if (params->shape.count > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "field 'shape' has more than %d extents",
                                TN_MAX_RANK);
    TN_TRY(set_type(call, true));
    return tn_infer_set_shape(call, 0, (uint32_t)params->shape.count, params->shape.items);
}

static tn_status like_infer(tn_call *call) {
    TN_TRY(set_type(call, true));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status bernoulli_infer(tn_call *call) {
    TN_TRY(set_type(call, false));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status multinomial_infer(tn_call *call) {
    const random_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 2, 2));
    const int64_t *shape = call->inputs[0]->shape;
    if (params->dtype != TN_I32 && params->dtype != TN_I64)
        return call->host->fail(call, TN_ERROR_TYPE, "field 'dtype' must be i32 or i64");
    if (shape[1] == 0 && shape[0] > 0 && params->sample_size > 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "there are no classes to draw from");
    tn_infer_set_type(call, 0, params->dtype);
    return tn_infer_set_shape(call, 0, 2, (const int64_t[]){shape[0], params->sample_size});
}

/* ----------------------------------------------------------------------------------------------
 * numbers */

typedef struct random_job random_job;
struct random_job {
    const tn_call *call;
    uint64_t key;
    void (*element)(const random_job *job, int64_t at);
};

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

uint64_t tn_random_key(float seed) {
    uint32_t bits;
    memcpy(&bits, &seed, sizeof(bits));
    return mix(bits + UINT64_C(0x9E3779B97F4A7C15));
}

/* Number `index` of the node, 0 <= number < 1. */
static double number_at(const random_job *job, int64_t index) {
    const uint64_t bits = mix(job->key + ((uint64_t)index + 1) * UINT64_C(0x9E3779B97F4A7C15));
    return (double)(bits >> 11) * 0x1p-53;
}

static void uniform_element(const random_job *job, int64_t at) {
    const random_params *params = job->call->params;
    const double low = (double)params->first, high = (double)params->second;
    tn_element_set_f64(job->call->outputs[0], at, low + number_at(job, at) * (high - low));
}

static void normal_element(const random_job *job, int64_t at) {
    const random_params *params = job->call->params;
    const double radius = sqrt(-2 * log(1 - number_at(job, 2 * at)));
    const double angle = 6.283185307179586 * number_at(job, 2 * at + 1);
    tn_element_set_f64(job->call->outputs[0], at,
                       (double)params->first + (double)params->second * radius * cos(angle));
}

static void bernoulli_element(const random_job *job, int64_t at) {
    const double probability = tn_element_f64(job->call->inputs[0], at);
    tn_element_set_f64(job->call->outputs[0], at, number_at(job, at) < probability);
}

/* The first class up to which the probabilities exceed a number; they are exponentials over their
 * sum. */
static void multinomial_element(const random_job *job, int64_t at) {
    const tn_tensor *x = job->call->inputs[0], *y = job->call->outputs[0];
    const int64_t classes = x->shape[1], first = at / y->shape[1] * classes;
    double largest = -(double)INFINITY, sum = 0, so_far = 0;
    int64_t chosen = 0;
    for (int64_t k = 0; k < classes; k++)
        largest = fmax(largest, tn_element_f64(x, first + k));
    for (int64_t k = 0; k < classes; k++)
        sum += exp(tn_element_f64(x, first + k) - largest);
    const double wanted = number_at(job, at) * sum;
    for (; chosen + 1 < classes; chosen++) {
        so_far += exp(tn_element_f64(x, first + chosen) - largest);
        if (!(so_far <= wanted)) break;
    }
    tn_element_set_i64(y, at, chosen);
}

/* An item is an element of the output. */
static tn_status do_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const random_job *job = user;
    (void)thread;
    for (int64_t at = begin; at < end; at++)
        job->element(job, at);
    return TN_OK;
}

static tn_status draw(tn_call *call, void (*element)(const random_job *job, int64_t at),
                      bool is_parallel) {
    enum { GRAIN = 2048 };
    const random_params *params = call->params;
    random_job job = {call, tn_random_key(params->seed), element};
    const int64_t count = tn_element_count(call->outputs[0]);
    if (count == 0) return TN_OK;
    if (!is_parallel) return do_elements(&job, 0, count, 0);
    return call->host->parallel_for(call, count, GRAIN, do_elements, &job);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port like_inputs[] = {TN_PORT("input", "any", TN_PORT_SHAPE_ONLY, "any tensor")};
static const tn_port bernoulli_inputs[] = {TN_PORT("input", "float", 0, "the probabilities of 1")};
static const tn_port multinomial_inputs[] = {
    TN_PORT("input", "float", 0, "batch, logarithms of the classes' weights")};
static const tn_port random_outputs[] = {TN_PORT("output", "float", 0, "the numbers")};
static const tn_port bernoulli_outputs[] = {TN_PORT("output", "any", 0, "0 or 1")};
static const tn_port multinomial_outputs[] = {TN_PORT("output", "i64|i32", 0, "classes")};

static const char *const uniform_cases[] = {
    "shape=[2,3] seed=1 |",
    "shape=[40,50] seed=2.5 low=-3 high=5 dtype=f64 |",
    "shape=[] seed=0 dtype=f16 |",
    "shape=[0,2] dtype=bf16 seed=1 |",
};
static const char *const normal_cases[] = {
    "shape=[2,3] seed=1 |",
    "shape=[40,50] seed=2.5 mean=-3 scale=0.5 dtype=f64 |",
    "shape=[7] seed=0 dtype=bf16 |",
};
static const char *const uniform_like_cases[] = {
    "seed=1 | input=f32[2,3]",
    "seed=7 dtype=f64 low=2 high=3 | input=i64[64,65]",
    "seed=1 | input=f16[0,2]",
};
static const char *const normal_like_cases[] = {
    "seed=1 | input=f32[2,3]",
    "seed=7 dtype=f64 mean=2 scale=3 | input=bool[64,65]",
    "seed=1 | input=bf16[3]",
};
static const char *const bernoulli_cases[] = {
    "seed=1 | input=f32[4]{0,1,0,1} | output=f32[4]{0,1,0,1}",
    "seed=3 dtype=bool | input=f64[4]{0.5,0.25,1,0}",
    "seed=3 dtype=i32 | input=f16[2,3]",
    "seed=3 | input=f32[64,65]",
};
static const char *const multinomial_cases[] = {
    "seed=1 sample_size=5 | input=f32[2,3]",
    "seed=1 dtype=i64 sample_size=3 | input=f64[1,3]{-inf,0,-inf} | output=i64[1,3]{1,1,1}",
    "seed=2 | input=f16[3,1]",
    "sample_size=4 seed=4 | input=f32[0,3]",
    "sample_size=4000 seed=4 | input=f32[2,3]{0,1,2,2,1,0}",
};

#define RANDOM(prefix, of_name, version, words, fields, of_infer, input_table, output_table,       \
               of_element)                                                                         \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return draw(call, of_element, false);                                                      \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return draw(call, of_element, true);                                                       \
    }                                                                                              \
    static const tn_operator prefix = {TN_OPERATOR_BEGIN("", of_name, version, words),             \
                                       .traits = TN_OPERATOR_NO_FOLD,                              \
                                       TN_FIELDS(random_params, fields),                           \
                                       input_table,                                                \
                                       TN_OUTPUTS(output_table),                                   \
                                       .infer = of_infer,                                          \
                                       .reference = prefix##_reference,                            \
                                       TN_CASES(prefix##_cases)};                                  \
    TN_CPU_KERNEL(prefix##_elements, "", of_name, "elements",                                      \
                  "Elements on all threads, in double precision.", .run = prefix##_run)
RANDOM(uniform, "RandomUniform", 1, "Uniform random numbers.", uniform_fields, shape_infer,
       TN_NO_INPUTS, random_outputs, uniform_element);
RANDOM(normal, "RandomNormal", 1, "Normal random numbers.", normal_fields, shape_infer,
       TN_NO_INPUTS, random_outputs, normal_element);
RANDOM(uniform_like, "RandomUniformLike", 1, "Uniform random numbers in a tensor's shape.",
       uniform_like_fields, like_infer, TN_INPUTS(like_inputs), random_outputs, uniform_element);
RANDOM(normal_like, "RandomNormalLike", 1, "Normal random numbers in a tensor's shape.",
       normal_like_fields, like_infer, TN_INPUTS(like_inputs), random_outputs, normal_element);
RANDOM(bernoulli, "Bernoulli", 15, "Ones at random, by probabilities.", bernoulli_fields,
       bernoulli_infer, TN_INPUTS(bernoulli_inputs), bernoulli_outputs, bernoulli_element);
RANDOM(multinomial, "Multinomial", 7, "Classes drawn at random, by the logarithms of weights.",
       multinomial_fields, multinomial_infer, TN_INPUTS(multinomial_inputs), multinomial_outputs,
       multinomial_element);

TN_LAYER(random,
         TN_OPERATORS(&uniform, &normal, &uniform_like, &normal_like, &bernoulli, &multinomial),
         TN_KERNELS(&uniform_elements, &normal_elements, &uniform_like_elements,
                    &normal_like_elements, &bernoulli_elements, &multinomial_elements));
