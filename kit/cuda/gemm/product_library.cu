/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products through cuBLASLt; see product.h. It counts matrices by columns: our rows are its
 * columns, so that its first factor is our b. Bias and ReLU become part of its operation, other
 * activations one launch after it. Tactics are its heuristics' proposals, in their order.
 */
#if __has_include(<cublasLt.h>)
#include "kit/cuda/cublaslt.h"
#include "kit/cuda/finish.h"
#include "kit/cuda/gemm/product.h"
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/upload.h>

extern "C" {
#include "kit/math/element.h"
}

#include <string.h>

enum { A = 0, B = 1, MOST_PROPOSALS = 8 };
static const size_t most_workspace_bytes = 32u << 20;

typedef struct lt_plan {
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t a, b, c, y;
    cublasLtMatmulAlgo_t algorithm;
    uint64_t workspace_bytes;
    bool is_finished_apart; /* an activation that cuBLASLt lacks */
} lt_plan;

typedef struct lt_state {
    tn_cuda_product_node node; /* at the optimum */
    lt_plan plan;
    void *b;    /* in a's type; null: the node's own */
    void *bias; /* in y's type; null: none */
    cublasLtHandle_t handle;
} lt_state;

typedef struct lt_context {
    tn_cuda_product_node node;
    lt_plan plan; /* for other shapes than the state's */
    const lt_plan *current;
} lt_context;

/* ----------------------------------------------------------------------------------------------
 * plans */

static cudaDataType_t type_of(tn_type type) {
    return type == TN_F32 ? CUDA_R_32F : type == TN_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

static void clear_plan(const tn_cublaslt *lt, lt_plan *plan) {
    if (plan->description) lt->cublasLtMatmulDescDestroy(plan->description);
    cublasLtMatrixLayout_t layouts[] = {plan->a, plan->b, plan->c, plan->y};
    for (cublasLtMatrixLayout_t layout : layouts)
        if (layout) lt->cublasLtMatrixLayoutDestroy(layout);
    *plan = {};
}

/* A matrix in memory order: `lines` of `length` elements each. */
static cublasStatus_t make_layout(const tn_cublaslt *lt, tn_type type, int64_t lines,
                                  int64_t length, int64_t batch, int64_t stride,
                                  cublasLtMatrixLayout_t *out_layout) {
    const int32_t count = (int32_t)batch;
    cublasStatus_t status = lt->cublasLtMatrixLayoutCreate(
        out_layout, type_of(type), (uint64_t)length, (uint64_t)lines, length);
    if (status == CUBLAS_STATUS_SUCCESS && batch > 1)
        status = lt->cublasLtMatrixLayoutSetAttribute(
            *out_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    if (status == CUBLAS_STATUS_SUCCESS && batch > 1)
        status = lt->cublasLtMatrixLayoutSetAttribute(
            *out_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride));
    return status;
}

static cublasStatus_t make_layouts(const tn_cublaslt *lt, const tn_cuda_product_node *node,
                                   lt_plan *plan) {
    const tn_cuda_product *p = &node->product;
    const int64_t whole = p->rows * p->columns;
    cublasStatus_t status =
        make_layout(lt, node->type, p->a_is_transposed ? p->depth : p->rows,
                    p->a_is_transposed ? p->rows : p->depth, p->batch, p->a_batch_stride, &plan->a);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = make_layout(lt, node->type, p->b_is_transposed ? p->columns : p->depth,
                             p->b_is_transposed ? p->depth : p->columns, p->batch,
                             p->b_batch_stride, &plan->b);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = make_layout(lt, node->type, p->rows, p->columns, p->batch, whole, &plan->c);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = make_layout(lt, node->type, p->rows, p->columns, p->batch, whole, &plan->y);
    return status;
}

static cublasStatus_t set(const tn_cublaslt *lt, lt_plan *plan, cublasLtMatmulDescAttributes_t name,
                          const void *value, size_t bytes) {
    return lt->cublasLtMatmulDescSetAttribute(plan->description, name, value, bytes);
}

static cublasStatus_t make_description(const tn_cublaslt *lt, const tn_cuda_product_node *node,
                                       bool may_round, const void *bias, lt_plan *plan) {
    const cublasComputeType_t compute =
        node->type == TN_F32 && may_round ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cublasOperation_t none = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
    const bool is_relu = node->epilogue.activation == TN_ACTIVATION_RELU;
    const cublasLtEpilogue_t epilogue =
        node->has_bias ? is_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
        : is_relu      ? CUBLASLT_EPILOGUE_RELU
                       : CUBLASLT_EPILOGUE_DEFAULT;
    plan->is_finished_apart = node->epilogue.activation && !is_relu;
    cublasStatus_t status = lt->cublasLtMatmulDescCreate(&plan->description, compute, CUDA_R_32F);
    /* Its first factor is our b. */
    if (status == CUBLAS_STATUS_SUCCESS)
        status = set(lt, plan, CUBLASLT_MATMUL_DESC_TRANSA,
                     node->product.b_is_transposed ? &transposed : &none, sizeof(none));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = set(lt, plan, CUBLASLT_MATMUL_DESC_TRANSB,
                     node->product.a_is_transposed ? &transposed : &none, sizeof(none));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = set(lt, plan, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    if (status == CUBLAS_STATUS_SUCCESS && node->has_bias)
        status = set(lt, plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
    return status;
}

/* Sums that several blocks share are added up in an order that does not change. */
static cublasStatus_t ask(const tn_cublaslt *lt, cublasLtHandle_t handle, const lt_plan *plan,
                          cublasLtMatmulHeuristicResult_t *results, int *out_count) {
    const uint32_t reductions =
        CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    cublasLtMatmulPreference_t preference = NULL;
    cublasStatus_t status = lt->cublasLtMatmulPreferenceCreate(&preference);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    status = lt->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most_workspace_bytes,
        sizeof(most_workspace_bytes));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
            sizeof(reductions));
    *out_count = 0;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->cublasLtMatmulAlgoGetHeuristic(handle, plan->description, plan->b, plan->a,
                                                    plan->c, plan->y, preference, MOST_PROPOSALS,
                                                    results, out_count);
    lt->cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

/* The plan of proposal `index`, of the last one when there are fewer and not `is_exact`. How many
 * there are through out_count. *plan is zero before. */
static tn_status make_plan(tn_call *call, cublasLtHandle_t handle, const tn_cuda_product_node *node,
                           const void *bias, uint32_t index, bool is_exact, lt_plan *plan,
                           uint32_t *out_count) {
    const tn_cuda_product_user *user = (const tn_cuda_product_user *)call->user;
    const tn_cublaslt *lt = tn_cublaslt_open(call->host);
    cublasLtMatmulHeuristicResult_t results[MOST_PROPOSALS];
    int count = 0;
    const int before = tn_cuda_enter(call);
    cublasStatus_t made = make_description(lt, node, user->may_round, bias, plan);
    if (made == CUBLAS_STATUS_SUCCESS) made = make_layouts(lt, node, plan);
    if (made == CUBLAS_STATUS_SUCCESS) made = ask(lt, handle, plan, results, &count);
    tn_cuda_leave(call, before);
    tn_status status = tn_cublaslt_check(call, made, "planning a product");
    if (status == TN_OK && (count == 0 || (is_exact && index >= (uint32_t)count)))
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                  "cuBLASLt has %d tactics for this product, number %u is asked",
                                  count, index);
    if (status != TN_OK) {
        clear_plan(lt, plan);
        return status;
    }
    if (index >= (uint32_t)count) index = (uint32_t)count - 1;
    plan->algorithm = results[index].algo;
    plan->workspace_bytes = results[index].workspaceSize;
    if (out_count) *out_count = (uint32_t)count;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * accepts to release */

tn_status tn_cuda_product_library_accepts(tn_call *call) TN_NOEXCEPT {
    tn_cuda_product_node node;
    return tn_cuda_product_read(call, &node) && tn_cuda_product_is_constant(call, &node) &&
                   tn_cublaslt_open(call->host)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status tn_cuda_product_library_tactics(tn_call *call) TN_NOEXCEPT {
    tn_cuda_product_node node;
    lt_plan plan = {};
    cublasLtHandle_t handle = NULL;
    uint32_t count = 1;
    if (tn_cuda_product_read(call, &node) && tn_cublaslt_acquire(call, &handle) == TN_OK &&
        make_plan(call, handle, &node, NULL, 0, false, &plan, &count) == TN_OK)
        clear_plan(tn_cublaslt_open(call->host), &plan);
    tn_cublaslt_release(call, handle);
    call->tactic_count = count;
    return TN_OK;
}

/* A constant in another type, on the device. */
static tn_status convert(tn_call *call, const void *from, tn_type from_type, int64_t count,
                         tn_type type, void **out_memory) {
    const uint64_t bytes = (uint64_t)count * tn_element_bytes(type);
    void *converted = call->host->allocate(call->host, bytes, 64);
    if (!converted)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to convert %llu bytes of weights",
                                (unsigned long long)bytes);
    for (int64_t i = 0; i < count; i++)
        tn_element_store_f64(converted, type, i, tn_element_load_f64(from, from_type, i));
    const tn_status status = tn_cuda_upload(call, converted, bytes, out_memory);
    call->host->deallocate(call->host, converted);
    return status;
}

static tn_status prepare_bias(tn_call *call, lt_state *state) {
    const int64_t columns = state->node.product.columns;
    if (!state->node.has_bias) return TN_OK;
    float *bias = (float *)call->host->allocate(call->host, (uint64_t)columns * sizeof(float), 64);
    if (!bias) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for biases");
    tn_cuda_product_bias(call, &state->node, bias);
    const tn_status status = convert(call, bias, TN_F32, columns, state->node.type, &state->bias);
    call->host->deallocate(call->host, bias);
    return status;
}

static void free_state(tn_call *call, lt_state *state) {
    const tn_device *device = call->device;
    const tn_cublaslt *lt = tn_cublaslt_open(call->host);
    if (lt) clear_plan(lt, &state->plan);
    tn_cublaslt_release(call, state->handle);
    if (state->b) device->deallocate(device, state->b, call->stream);
    if (state->bias) device->deallocate(device, state->bias, call->stream);
    call->host->deallocate(call->host, state);
}

tn_status tn_cuda_product_library_prepare(tn_call *call) TN_NOEXCEPT {
    const tn_tensor *b = call->inputs[B];
    lt_state *state = (lt_state *)call->host->allocate(call->host, sizeof(*state), 64);
    if (!state) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a product's state");
    memset(state, 0, sizeof(*state));
    tn_status status = TN_OK;
    if (!tn_cuda_product_read(call, &state->node))
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "this node reads as no product");
    if (status == TN_OK) status = tn_cublaslt_acquire(call, &state->handle);
    if (status == TN_OK) status = prepare_bias(call, state);
    if (status == TN_OK)
        status = make_plan(call, state->handle, &state->node, state->bias, call->tactic, true,
                           &state->plan, NULL);
    if (status == TN_OK && b->type != state->node.type)
        status = convert(call, b->data, b->type, tn_element_count(b), state->node.type, &state->b);
    if (status != TN_OK) {
        free_state(call, state);
        return status;
    }
    call->state = state;
    return TN_OK;
}

void tn_cuda_product_library_release(tn_call *call) TN_NOEXCEPT {
    free_state(call, (lt_state *)call->state);
}

/* ----------------------------------------------------------------------------------------------
 * open to run */

tn_status tn_cuda_product_library_open(tn_call *call) TN_NOEXCEPT {
    lt_context *context = (lt_context *)call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a product's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

void tn_cuda_product_library_close(tn_call *call) TN_NOEXCEPT {
    lt_context *context = (lt_context *)call->context;
    clear_plan(tn_cublaslt_open(call->host), &context->plan);
    call->host->deallocate(call->host, context);
}

static bool is_same(const tn_cuda_product *a, const tn_cuda_product *b) {
    return a->batch == b->batch && a->rows == b->rows && a->columns == b->columns &&
           a->depth == b->depth && a->a_batch_stride == b->a_batch_stride &&
           a->b_batch_stride == b->b_batch_stride;
}

tn_status tn_cuda_product_library_reshape(tn_call *call) TN_NOEXCEPT {
    const lt_state *state = (const lt_state *)call->state;
    lt_context *context = (lt_context *)call->context;
    tn_cuda_product_node node;
    call->workspace_bytes = 0;
    context->current = NULL;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (!tn_cuda_product_read(call, &node))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "these shapes read as no product");
    if (is_same(&node.product, &state->node.product)) {
        context->current = &state->plan;
    } else {
        if (!context->plan.description || !is_same(&node.product, &context->node.product)) {
            clear_plan(tn_cublaslt_open(call->host), &context->plan);
            const tn_status status = make_plan(call, state->handle, &node, state->bias,
                                               call->tactic, false, &context->plan, NULL);
            if (status != TN_OK) return status;
        }
        context->current = &context->plan;
    }
    context->node = node;
    call->workspace_bytes = context->current->workspace_bytes;
    return TN_OK;
}

static tn_status finish(tn_call *call, const tn_cuda_product_node *node) {
    tn_cuda_finish f = {};
    f.sums = f.y = call->outputs[0]->data;
    f.sum_type = f.y_type = node->type;
    f.activation = {node->epilogue.activation, node->epilogue.alpha, node->epilogue.beta};
    f.outer = node->product.batch * node->product.rows;
    f.channels = node->product.columns;
    f.inner = 1;
    return tn_cuda_status(call, tn_cuda_finish_launch(&f, (cudaStream_t)call->stream),
                          "an activation after a product");
}

tn_status tn_cuda_product_library_run(tn_call *call) TN_NOEXCEPT {
    const lt_state *state = (const lt_state *)call->state;
    const lt_context *context = (const lt_context *)call->context;
    const lt_plan *plan = context->current;
    const tn_cuda_product_node *node = &context->node;
    if (call->outputs[0]->bytes == 0 || !plan) return TN_OK;
    const void *addend = tn_cuda_product_addend(call, node);
    const float factor = !addend ? 0.0f : node->has_matrix ? node->product.c_factor : 1.0f;
    void *y = call->outputs[0]->data;
    const int before = tn_cuda_enter(call);
    tn_status status = tn_cublaslt_check(
        call,
        tn_cublaslt_open(call->host)
            ->cublasLtMatmul(state->handle, plan->description, &node->product.alpha,
                             state->b ? state->b : call->inputs[B]->data, plan->b,
                             call->inputs[A]->data, plan->a, &factor, addend ? addend : y, plan->c,
                             y, plan->y, &plan->algorithm, call->workspace, plan->workspace_bytes,
                             (cudaStream_t)call->stream),
        "a product");
    if (status == TN_OK && plan->is_finished_apart) status = finish(call, node);
    tn_cuda_leave(call, before);
    return status;
}

#endif
