/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine configurations of a graph and plans made of them; see cudnn_graph.h. Attributes and their
 * types are those of NVIDIA's documentation of the backend interface, cuDNN 9.
 */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_graph.h"

#include <mutex>

/* ----------------------------------------------------------------------------------------------
 * configurations */

/* The notes of one kind on an engine; a failure counts as none. */
static int64_t get_notes(const tn_cudnn *cudnn, cudnnBackendDescriptor_t engine,
                         cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int64_t limit, int32_t *notes) {
    int64_t count = 0;
    if (cudnn->cudnnBackendGetAttribute(engine, name, type, limit, &count, notes) !=
        CUDNN_STATUS_SUCCESS)
        return 0;
    return count < limit ? count : limit;
}

/* 32-bit floats are strict where no engine on tensor cores is asked: those round their inputs. */
static bool is_note_wanted(int32_t note, bool is_strict) {
    switch (note) {
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return false;
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return !is_strict;
    default:
        return true;
    }
}

static bool is_engine_wanted(const tn_cudnn *cudnn, cudnnBackendDescriptor_t engine,
                             bool is_strict) {
    int32_t notes[16];
    int64_t count = get_notes(cudnn, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                              CUDNN_TYPE_NUMERICAL_NOTE, 16, notes);
    for (int64_t i = 0; i < count; i++)
        if (!is_note_wanted(notes[i], is_strict)) return false;
    count = get_notes(cudnn, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 16,
                      notes);
    for (int64_t i = 0; i < count; i++)
        if (notes[i] == CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER ||
            notes[i] == CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER)
            return false;
    return true;
}

static bool is_config_wanted(const tn_cudnn *cudnn, cudnnBackendDescriptor_t config,
                             bool is_strict) {
    cudnnBackendDescriptor_t engine = NULL;
    int64_t count = 0;
    if (cudnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) !=
        CUDNN_STATUS_SUCCESS)
        return false;
    const bool answer = cudnn->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                                        &engine) == CUDNN_STATUS_SUCCESS &&
                        is_engine_wanted(cudnn, engine, is_strict);
    cudnn->cudnnBackendDestroyDescriptor(engine);
    return answer;
}

/* What the heuristics propose in one mode, at most TN_CUDNN_MAX_CONFIGS, all owned by the caller.
 */
static uint32_t ask(const tn_cudnn_graph *graph, cudnnBackendDescriptor_t heuristics,
                    cudnnBackendHeurMode_t mode, cudnnBackendDescriptor_t *configs) {
    const tn_cudnn *cudnn = graph->cudnn;
    int64_t count = 0;
    uint32_t made = 0;
    if (cudnn->cudnnBackendSetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                        &graph->graph) != CUDNN_STATUS_SUCCESS ||
        cudnn->cudnnBackendSetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE,
                                        CUDNN_TYPE_HEUR_MODE, 1, &mode) != CUDNN_STATUS_SUCCESS ||
        cudnn->cudnnBackendFinalize(heuristics) != CUDNN_STATUS_SUCCESS)
        return 0;
    while (made < TN_CUDNN_MAX_CONFIGS &&
           cudnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                               &configs[made]) == CUDNN_STATUS_SUCCESS)
        made++;
    if (cudnn->cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, made, &count,
                                        configs) != CUDNN_STATUS_SUCCESS)
        count = 0;
    while (made > count)
        cudnn->cudnnBackendDestroyDescriptor(configs[--made]);
    return made;
}

static uint32_t propose(tn_cudnn_graph *graph, cudnnBackendHeurMode_t mode, bool is_strict,
                        uint32_t limit, cudnnBackendDescriptor_t *out_configs) {
    const tn_cudnn *cudnn = graph->cudnn;
    cudnnBackendDescriptor_t heuristics = NULL, configs[TN_CUDNN_MAX_CONFIGS];
    uint32_t kept = 0;
    if (cudnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics) !=
        CUDNN_STATUS_SUCCESS)
        return 0;
    const uint32_t count = ask(graph, heuristics, mode, configs);
    for (uint32_t i = 0; i < count; i++) {
        if (kept < limit && graph->count < TN_CUDNN_MAX_DESCRIPTORS &&
            is_config_wanted(cudnn, configs[i], is_strict)) {
            graph->descriptors[graph->count++] = configs[i];
            out_configs[kept++] = configs[i];
        } else {
            cudnn->cudnnBackendDestroyDescriptor(configs[i]);
        }
    }
    cudnn->cudnnBackendDestroyDescriptor(heuristics);
    return kept;
}

uint32_t tn_cudnn_graph_configs(tn_cudnn_graph *graph, bool is_strict, uint32_t limit,
                                cudnnBackendDescriptor_t *out_configs) {
    if (graph->status != CUDNN_STATUS_SUCCESS || !graph->graph) return 0;
    const uint32_t count = propose(graph, CUDNN_HEUR_MODE_A, is_strict, limit, out_configs);
    if (count > 0) return count;
    return propose(graph, CUDNN_HEUR_MODE_FALLBACK, is_strict, limit, out_configs);
}

/* ----------------------------------------------------------------------------------------------
 * what is known of a GPU */

enum { MOST_DEVICES = 64, TEXT_BYTES = 4096 };

static bool describe_device(const tn_cudnn *cudnn, uint32_t device, char *text) {
    const int32_t index = (int32_t)device;
    cudnnBackendDescriptor_t made = NULL;
    int64_t count = 0;
    if (cudnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &made) !=
        CUDNN_STATUS_SUCCESS)
        return false;
    const bool is_known =
        cudnn->cudnnBackendSetAttribute(made, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1,
                                        &index) == CUDNN_STATUS_SUCCESS &&
        cudnn->cudnnBackendFinalize(made) == CUDNN_STATUS_SUCCESS &&
        cudnn->cudnnBackendGetAttribute(made, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                        CUDNN_TYPE_CHAR, TEXT_BYTES - 1, &count,
                                        text) == CUDNN_STATUS_SUCCESS;
    cudnn->cudnnBackendDestroyDescriptor(made);
    return is_known;
}

const char *tn_cudnn_properties(const tn_cudnn *cudnn, uint32_t device) {
    static std::mutex mutex;
    static char texts[MOST_DEVICES][TEXT_BYTES];
    static bool are_tried[MOST_DEVICES];
    if (device >= MOST_DEVICES) return "";
    const std::lock_guard<std::mutex> guard(mutex);
    char *text = texts[device];
    if (!are_tried[device] && !describe_device(cudnn, device, text)) text[0] = 0;
    are_tried[device] = true;
    return text;
}

/* ----------------------------------------------------------------------------------------------
 * plans */

void tn_cudnn_destroy(const tn_cudnn *cudnn, cudnnBackendDescriptor_t descriptor) {
    if (descriptor) cudnn->cudnnBackendDestroyDescriptor(descriptor);
}

/* A plan with one attribute more, which says what is planned. */
static cudnnStatus_t make_plan(const tn_cudnn *cudnn, cudnnHandle_t handle,
                               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                               int64_t count, const void *value,
                               cudnnBackendDescriptor_t *out_plan) {
    cudnnBackendDescriptor_t plan = NULL;
    cudnnStatus_t status =
        cudnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn->cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                                 CUDNN_TYPE_HANDLE, 1, &handle);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn->cudnnBackendSetAttribute(plan, name, type, count, value);
    if (status == CUDNN_STATUS_SUCCESS) status = cudnn->cudnnBackendFinalize(plan);
    if (status == CUDNN_STATUS_SUCCESS)
        *out_plan = plan;
    else
        tn_cudnn_destroy(cudnn, plan);
    return status;
}

cudnnStatus_t tn_cudnn_plan_create(const tn_cudnn *cudnn, cudnnHandle_t handle,
                                   cudnnBackendDescriptor_t config,
                                   cudnnBackendDescriptor_t *out_plan) {
    return make_plan(cudnn, handle, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config, out_plan);
}

cudnnStatus_t tn_cudnn_plan_write(const tn_cudnn *cudnn, cudnnBackendDescriptor_t plan,
                                  uint64_t capacity, char *text, uint64_t *out_bytes) {
    int64_t count = 0;
    const cudnnStatus_t status = cudnn->cudnnBackendGetAttribute(
        plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
        text ? (int64_t)capacity : 0, &count, text);
    if (status == CUDNN_STATUS_SUCCESS) *out_bytes = count > 0 ? (uint64_t)count : 0;
    return status;
}

cudnnStatus_t tn_cudnn_plan_read(const tn_cudnn *cudnn, cudnnHandle_t handle, const char *text,
                                 uint64_t bytes, cudnnBackendDescriptor_t *out_plan) {
    return make_plan(cudnn, handle, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                     (int64_t)bytes, text, out_plan);
}

cudnnStatus_t tn_cudnn_plan_workspace(const tn_cudnn *cudnn, cudnnBackendDescriptor_t plan,
                                      uint64_t *out_bytes) {
    int64_t bytes = 0, count = 0;
    const cudnnStatus_t status = cudnn->cudnnBackendGetAttribute(
        plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes);
    if (status == CUDNN_STATUS_SUCCESS) *out_bytes = bytes > 0 ? (uint64_t)bytes : 0;
    return status;
}

cudnnStatus_t tn_cudnn_pack_create(const tn_cudnn *cudnn, uint32_t count, const int64_t *ids,
                                   void *const *data, void *workspace,
                                   cudnnBackendDescriptor_t *out_pack) {
    cudnnBackendDescriptor_t pack = NULL;
    cudnnStatus_t status =
        cudnn->cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                                 CUDNN_TYPE_INT64, count, ids);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                                 CUDNN_TYPE_VOID_PTR, count, data);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnn->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                                 CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (status == CUDNN_STATUS_SUCCESS) status = cudnn->cudnnBackendFinalize(pack);
    if (status != CUDNN_STATUS_SUCCESS) {
        tn_cudnn_destroy(cudnn, pack);
        return status;
    }
    *out_pack = pack;
    return CUDNN_STATUS_SUCCESS;
}

#endif
