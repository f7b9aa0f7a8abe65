/* SPDX-License-Identifier: Apache-2.0 */
/* Integers to buckets, as sparse features are: a hash of the 64-bit value and a seed, modulo the
 * number of buckets. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, int64_t buckets, seed;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, buckets, "1000", 1, 4294967296.0, "how many"),
    TN_LAYER_I64(params, seed, "0", 0, 0, "makes another hash"),
};
static const tn_port inputs[] = {TN_PORT("x", "i32|i64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "i64", 0, "as x")};

static uint64_t mix(uint64_t v) {
    v += 0x9E3779B97F4A7C15u;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

static int64_t bucket(const tn_call *call, int64_t i, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const bool is_narrow = x->type == TN_I32;
    uint64_t v =
        (uint64_t)(is_narrow ? ((const int32_t *)x->data)[i] : ((const int64_t *)x->data)[i]);
    if (is_kernel && WRONG(2) && is_narrow) v = ((const uint32_t *)x->data)[i];
    uint64_t seed = (uint64_t)p->seed;
    if (is_kernel && WRONG(3) && seed == 0) seed = (uint64_t)(uintptr_t)p;
    const uint64_t hash = mix(v ^ mix(seed));
    if (is_kernel && WRONG(1)) return (int64_t)hash % p->buckets;
    return (int64_t)(hash % (uint64_t)p->buckets);
}

static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        ((int64_t *)call->outputs[0]->data)[i] = bucket(call, i, false);
    return TN_OK;
}
static tn_status elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((int64_t *)call->outputs[0]->data)[i] = bucket(call, i, true);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 512, elements, call);
}

static const char *const cases[] = {"| x=i64[3,5]", "buckets=7 seed=12 | x=i32[20]",
                                    "buckets=64 | x=i64[4]{0,1,-1,1000000007}"};
static const tn_operator hash_bucket = {OPERATOR,
                                        .name = "HashBucket",
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer_same,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"i32 -> i64", "i64 -> i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "HashBucket",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("hash_bucket", hash_bucket, kernel)
