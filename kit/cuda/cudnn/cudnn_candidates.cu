/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of one problem; see cudnn_candidates.h. Who shares them is cudnn_conv_plan.cu. */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_candidates.h"

#include <tenon/plugin/device.h>

#include <stdlib.h>
#include <string.h>

/* Engines for 32-bit floats were compiled before and cost little to plan. Where there are enough
 * fused candidates, a convolution alone and a launch after it are only worth a try where so few
 * pixels are computed that sums had better be shared out. */
enum {
    MOST_FUSED = 5,
    MOST_FUSED_TF32 = 8,
    MOST_STRICT = 4,
    MOST_PLAIN = 5,
    MOST_FUSED_BYTES = 3, /* our own kernels are there too */
    MOST_PLAIN_BYTES = 2,
    ENOUGH_FUSED = 3,
    MOST_PLAIN_BESIDE_FUSED = 2,
    FEW_PIXELS = 256
};

/* ----------------------------------------------------------------------------------------------
 * keys */

static int64_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return (int64_t)bits;
}

void tn_cudnn_candidates_key(const tn_call *call, const tn_cudnn_problem *problem, int64_t *key) {
    const tn_cudnn_convolution *convolution = &problem->convolution;
    const tn_float_epilogue *epilogue = &problem->epilogue;
    const tn_cudnn_tensor *tensors[] = {&problem->x, &problem->w, &problem->y};
    const int64_t numbers[] = {(int64_t)call->device->index,
                               (int64_t)problem->rank,
                               problem->is_last,
                               (int64_t)problem->storage,
                               (int64_t)problem->y_type,
                               problem->kind->may_round,
                               convolution->is_transposed,
                               (int64_t)epilogue->activation,
                               bits_of(epilogue->alpha),
                               bits_of(epilogue->beta),
                               epilogue->residual != UINT32_MAX,
                               problem->has_bias,
                               problem->has_epilogue,
                               problem->is_folded};
    uint32_t count = 0;
    memset(key, 0, TN_CUDNN_KEY_NUMBERS * sizeof(*key));
    for (int64_t number : numbers)
        key[count++] = number;
    for (const tn_cudnn_tensor *tensor : tensors)
        for (uint32_t i = 0; i < 5; i++)
            key[count++] = i < tensor->rank ? tensor->shape[i] : 0;
    for (uint32_t i = 0; i < 3; i++) {
        key[count++] = convolution->strides[i];
        key[count++] = convolution->dilations[i];
        key[count++] = convolution->pads[i];
    }
}

tn_cudnn_store_key tn_cudnn_candidates_store_key(const tn_cudnn_planner *planner,
                                                 const int64_t *key, uint32_t index) {
    tn_cudnn_store_key stored = {};
    stored.numbers = key;
    stored.number_bytes = TN_CUDNN_KEY_NUMBERS * sizeof(*key);
    stored.location = tn_cudnn_properties(planner->cudnn, planner->device);
    stored.index = index;
    return stored;
}

/* ----------------------------------------------------------------------------------------------
 * proposals */

static uint32_t propose(cudnnHandle_t handle, tn_cudnn_candidates *candidates, bool is_fused,
                        uint32_t limit) {
    const tn_cudnn_problem *problem = &candidates->problem;
    const bool is_strict = problem->storage == TN_F32 && !problem->kind->may_round;
    cudnnBackendDescriptor_t configs[TN_CUDNN_MAX_CONFIGS];
    tn_cudnn_graph *graph = &candidates->graphs[is_fused];
    if (!tn_cudnn_conv_graph(problem, handle, is_fused, graph)) return 0;
    const uint32_t count = tn_cudnn_graph_configs(graph, is_strict, limit, configs);
    for (uint32_t i = 0; i < count; i++) {
        tn_cudnn_candidate *candidate = &candidates->candidates[candidates->count++];
        candidate->is_fused = is_fused;
        candidate->config = configs[i];
    }
    return count;
}

void tn_cudnn_candidates_ask(const tn_cudnn_planner *planner, const tn_cudnn_problem *problem,
                             const int64_t *key, tn_cudnn_candidates *candidates) {
    const bool is_tf32 = problem->storage == TN_F32 && problem->kind->may_round;
    memcpy(candidates->key, key, sizeof(candidates->key));
    candidates->problem = *problem;
    candidates->graphs[0].cudnn = candidates->graphs[1].cudnn = planner->cudnn;
    const bool is_bytes = problem->storage == TN_I8;
    const uint32_t most = is_tf32                      ? MOST_FUSED_TF32
                          : is_bytes                   ? MOST_FUSED_BYTES
                          : problem->storage == TN_F32 ? MOST_STRICT
                                                       : MOST_FUSED;
    const uint32_t fused = propose(planner->handle, candidates, true, most);
    if (fused < ENOUGH_FUSED)
        (void)propose(planner->handle, candidates, false, is_bytes ? MOST_PLAIN_BYTES : MOST_PLAIN);
    else if (problem->y.shape[0] * problem->y.shape[2] * problem->y.shape[3] <= FEW_PIXELS)
        (void)propose(planner->handle, candidates, false, MOST_PLAIN_BESIDE_FUSED);
}

void tn_cudnn_candidates_clear(tn_cudnn_candidates *candidates) {
    for (uint32_t i = 0; i < candidates->count; i++)
        free(candidates->candidates[i].text);
    for (tn_cudnn_graph &graph : candidates->graphs)
        if (graph.cudnn) tn_cudnn_graph_clear(&graph);
    *candidates = {};
}

/* ----------------------------------------------------------------------------------------------
 * plans */

static void refuse(const tn_cudnn *cudnn, cudnnStatus_t status, tn_cudnn_candidate *candidate) {
    candidate->state = TN_CUDNN_CANDIDATE_REFUSED;
    candidate->status = status;
    cudnn->cudnnGetLastErrorString(candidate->reason, sizeof(candidate->reason));
}

/* The text of a plan, in the candidate and in the store. */
static void keep(const tn_cudnn *cudnn, const tn_cudnn_store_key *key,
                 cudnnBackendDescriptor_t plan, tn_cudnn_candidate *candidate) {
    uint64_t bytes = 0;
    candidate->state = TN_CUDNN_CANDIDATE_UNKEPT;
    if (tn_cudnn_plan_write(cudnn, plan, 0, NULL, &bytes) != CUDNN_STATUS_SUCCESS || bytes == 0)
        return;
    char *text = (char *)malloc((size_t)bytes);
    if (!text) return;
    if (tn_cudnn_plan_write(cudnn, plan, bytes, text, &bytes) != CUDNN_STATUS_SUCCESS) {
        free(text);
        return;
    }
    candidate->state = TN_CUDNN_CANDIDATE_KEPT;
    candidate->text = text;
    candidate->bytes = bytes;
    candidate->is_stored = tn_cudnn_store_write(key, candidate->is_fused, text, bytes);
}

void tn_cudnn_candidate_settle(const tn_cudnn_planner *planner, tn_cudnn_candidates *candidates,
                               uint32_t index) {
    const tn_cudnn *cudnn = planner->cudnn;
    tn_cudnn_candidate *candidate = &candidates->candidates[index];
    const tn_cudnn_store_key key = tn_cudnn_candidates_store_key(planner, candidates->key, index);
    cudnnBackendDescriptor_t plan = NULL;
    bool is_fused = false;
    if (tn_cudnn_store_read(&key, &is_fused, &candidate->text, &candidate->bytes)) {
        if (is_fused == candidate->is_fused) {
            candidate->state = TN_CUDNN_CANDIDATE_KEPT;
            candidate->is_stored = true;
            return;
        }
        free(candidate->text);
        candidate->text = NULL;
    }
    const cudnnStatus_t status =
        tn_cudnn_plan_create(cudnn, planner->handle, candidate->config, &plan);
    if (status != CUDNN_STATUS_SUCCESS) {
        refuse(cudnn, status, candidate);
        return;
    }
    keep(cudnn, &key, plan, candidate);
    tn_cudnn_destroy(cudnn, plan);
}

/* By asking again: a configuration makes one plan. */
static cudnnStatus_t plan_anew(const tn_cudnn_planner *planner,
                               const tn_cudnn_candidates *candidates, uint32_t index,
                               cudnnBackendDescriptor_t *out_plan) {
    cudnnStatus_t status = CUDNN_STATUS_ALLOC_FAILED;
    tn_cudnn_candidates *again = (tn_cudnn_candidates *)calloc(1, sizeof(*again));
    if (!again) return status;
    tn_cudnn_candidates_ask(planner, &candidates->problem, candidates->key, again);
    status = CUDNN_STATUS_NOT_SUPPORTED;
    if (index < again->count)
        status = tn_cudnn_plan_create(planner->cudnn, planner->handle,
                                      again->candidates[index].config, out_plan);
    tn_cudnn_candidates_clear(again);
    free(again);
    return status;
}

static cudnnStatus_t plan_kept(const tn_cudnn_planner *planner, tn_cudnn_candidates *candidates,
                               uint32_t index, cudnnBackendDescriptor_t *out_plan) {
    tn_cudnn_candidate *candidate = &candidates->candidates[index];
    const tn_cudnn_store_key key = tn_cudnn_candidates_store_key(planner, candidates->key, index);
    bool is_fused = false;
    if (!candidate->text &&
        !tn_cudnn_store_read(&key, &is_fused, &candidate->text, &candidate->bytes))
        return CUDNN_STATUS_BAD_PARAM;
    const cudnnStatus_t status = tn_cudnn_plan_read(planner->cudnn, planner->handle,
                                                    candidate->text, candidate->bytes, out_plan);
    if (candidate->is_stored) { /* a build has hundreds */
        free(candidate->text);
        candidate->text = NULL;
    }
    return status;
}

cudnnStatus_t tn_cudnn_candidate_plan(const tn_cudnn_planner *planner,
                                      tn_cudnn_candidates *candidates, uint32_t index,
                                      cudnnBackendDescriptor_t *out_plan) {
    const tn_cudnn_candidate *candidate = &candidates->candidates[index];
    if (candidate->state == TN_CUDNN_CANDIDATE_REFUSED) return candidate->status;
    if (candidate->state == TN_CUDNN_CANDIDATE_KEPT &&
        plan_kept(planner, candidates, index, out_plan) == CUDNN_STATUS_SUCCESS)
        return CUDNN_STATUS_SUCCESS;
    return plan_anew(planner, candidates, index, out_plan);
}

#endif
