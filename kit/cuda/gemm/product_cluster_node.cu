/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of products whose depth the blocks of a cluster share (product_cluster.h): a MatMul
 * by a constant matrix, with what comes before its input, another such product with its bias and
 * activation, and behind it a bias, a residual and the normalisation of rows.
 */
#include "kit/cuda/gemm/product.h"
#include "kit/cuda/gemm/product_cluster.h"
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/upload.h>

extern "C" {
#include "kit/math/element.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/epilogue.h>
#include <tenon/plugin/before.h>
#include <tenon/plugin/normalize.h>
}

#include <string.h>

namespace {

enum {
    A = 0,
    B = 1,
    MOST_BIASES = 4,
    MOST_ROWS = 1024 /* at the optimum: with more of them other kernels fill the GPU */
};

struct chain {
    const tn_tensor *first; /* [depth][middle]; null: there is no first product */
    const tn_tensor *first_bias[MOST_BIASES];
    uint32_t first_bias_count;
    tn_cuda_activation between;
    tn_float_epilogue epilogue;
    const tn_tensor *scale, *shift; /* of the normalisation; shift null: none */
    float epsilon;
};

struct cluster_state {
    tn_cuda_cluster_config config;
    char *constants;
    int64_t at_second, at_vectors; /* bytes; the first product's are at 0 */
};

struct cluster_context {
    tn_cuda_cluster_product job;
    uint32_t residual; /* index of an operand; UINT32_MAX: none */
    bool is_empty;
};

/* ----------------------------------------------------------------------------------------------
 * the nodes */

/* Input `index` of a step, a constant; null: it has none. */
const tn_tensor *constant_of(const tn_call *call, const tn_step *step, uint32_t index) {
    if (index >= step->input_count || step->inputs[index] == TN_STEP_ABSENT ||
        !(step->inputs[index] & TN_STEP_OPERAND))
        return NULL;
    const tn_tensor *operand = call->operands[step->inputs[index] & ~TN_STEP_OPERAND];
    return operand && operand->data ? operand : NULL;
}

/* Before the input: a product, then biases, then an activation. */
bool read_first(const tn_call *call, uint32_t count, chain *out) {
    for (uint32_t i = 0; i < count; i++) {
        const tn_step *step = call->steps[i];
        const bool is_product = strcmp(step->facet, TN_FACET_MATRIX_PRODUCT) == 0;
        if (step->port != A + 1 || is_product != (i == 0) || out->between.kind) return false;
        if (is_product) {
            out->first = constant_of(call, step, 1);
            if (!out->first) return false;
        } else if (strcmp(step->facet, TN_FACET_BIAS) == 0) {
            const tn_facet_axis *what = (const tn_facet_axis *)step->what;
            const tn_tensor *bias = constant_of(call, step, 1);
            const bool is_last = what->axis == -1 || what->axis + 1 == (int32_t)step->output->rank;
            if (!bias || !is_last || out->first_bias_count == MOST_BIASES) return false;
            out->first_bias[out->first_bias_count++] = bias;
        } else {
            const tn_facet_activation *what = (const tn_facet_activation *)step->what;
            out->between = {what->function, what->alpha, what->beta};
        }
    }
    return true;
}

/* At the end. */
bool read_norm(const tn_call *call, const tn_step *step, chain *out) {
    const tn_facet_normalize *what = (const tn_facet_normalize *)step->what;
    out->scale = constant_of(call, step, 1);
    out->shift = constant_of(call, step, 2);
    out->epsilon = what->epsilon;
    return out->scale && (step->input_count < 3 || out->shift) &&
           (what->axis == -1 || what->axis + 1 == (int32_t)step->output->rank);
}

bool read_chain(const tn_call *call, chain *out) {
    tn_call rest = *call;
    uint32_t before = 0;
    *out = {};
    while (before < call->step_count && call->steps[before]->port != 0)
        before++;
    if (!read_first(call, before, out)) return false;
    if (call->step_count > before) {
        const tn_step *last = call->steps[call->step_count - 1];
        if (strcmp(last->facet, TN_FACET_NORMALIZE) == 0) {
            if (!read_norm(call, last, out)) return false;
            rest.step_count--;
        }
    }
    return tn_float_epilogue_read(&rest, -1, &out->epilogue) && !out->epilogue.activation;
}

int64_t rows_of(const tn_tensor *tensor) {
    return tn_infer_product(tensor->shape, 0, tensor->rank - 1);
}

/* Everything but addresses; false for what the kernel does not do. */
bool read_node(const tn_call *call, const chain *links, tn_cuda_cluster_product *p) {
    const tn_tensor *x = call->inputs[A], *b = call->inputs[B], *y = call->outputs[0];
    if (!x || !b || !y || x->rank < 2 || b->rank != 2 || y->rank != x->rank ||
        x->format != TN_LINEAR || y->format != TN_LINEAR || b->format != TN_LINEAR ||
        x->type != y->type || (x->type != TN_F16 && x->type != TN_BF16))
        return false;
    const int64_t rows = rows_of(x), depth = x->shape[x->rank - 1], middle = b->shape[0];
    const tn_tensor *first = links->first;
    if (first && (first->rank != 2 || first->shape[0] != depth || first->shape[1] != middle))
        return false;
    if (rows <= 0 || rows > INT32_MAX / 2 || rows != rows_of(y) || middle > 65536 ||
        depth % 8 != 0 || b->shape[1] % 4 != 0 || b->shape[1] != y->shape[y->rank - 1] ||
        b->shape[1] <= 0 || b->shape[1] > TN_CLUSTER_COLUMNS || depth <= 0 ||
        (first ? depth > TN_CLUSTER_COLUMNS : depth != middle))
        return false;
    memset((void *)p, 0, sizeof(*p));
    p->rows = (int32_t)rows, p->depth = (int32_t)depth, p->middle = (int32_t)middle;
    p->columns = (int32_t)b->shape[1];
    p->between = links->between;
    p->epsilon = links->epsilon;
    p->type = x->type;
    p->has_first = first != NULL;
    p->has_norm = links->scale != NULL;
    return true;
}

bool are_constant(const tn_call *call, const chain *links) {
    if (!call->inputs[B]->data) return false;
    for (uint32_t i = 0; i < links->epilogue.bias_count; i++)
        if (!call->operands[links->epilogue.bias[i]]->data) return false;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * constants */

/* Columns column .. column + 15 at depths depth .. depth + 15 of w [deep][columns] as
 * product_cluster.h has them; what is past the given ends stays zero. */
void pack_tile(const tn_tensor *w, int64_t depth, int64_t depth_end, int64_t column,
               int64_t column_end, tn_type type, char *to) {
    for (int64_t k = 0; k < 16 && depth + k < depth_end; k++)
        for (int64_t n = 0; n < 16 && column + n < column_end; n++) {
            const int64_t lane = n % 8 * 4 + k % 8 / 2;
            const int64_t word = n / 8 * 2 + k / 8;
            tn_element_store_f64(
                to, type, (lane * 4 + word) * 2 + k % 2,
                tn_element_load_f64(w->data, w->type, (depth + k) * w->shape[1] + column + n));
        }
}

void pack_first(const tn_cuda_cluster_product *p, const tn_cuda_cluster_config *c,
                const tn_tensor *w, char *to) {
    const int parts = TN_CLUSTER_MIDDLE / 32, deep = TN_CLUSTER_WARPS / parts;
    const int steps = TN_CLUSTER_COLUMNS / deep / 16;
    for (int64_t split = 0; split < c->splits; split++)
        for (int64_t warp = 0; warp < TN_CLUSTER_WARPS; warp++)
            for (int64_t tile = 0; tile < steps * 2; tile++, to += TN_CLUSTER_TILE) {
                const int64_t column = split * c->slice + warp % parts * 32 + tile % 2 * 16;
                const int64_t end = (split + 1) * c->slice;
                pack_tile(w, (warp / parts * steps + tile / 2) * 16, p->depth, column,
                          end < p->middle ? end : p->middle, p->type, to);
            }
}

void pack_second(const tn_cuda_cluster_product *p, const tn_cuda_cluster_config *c,
                 const tn_tensor *w, char *to) {
    for (int64_t depth = 0; depth < c->splits * c->slice; depth += 16)
        for (int64_t column = 0; column < TN_CLUSTER_COLUMNS; column += 16, to += TN_CLUSTER_TILE)
            pack_tile(w, depth, p->middle, column, p->columns, p->type, to);
}

void add_vector(const tn_tensor *from, int64_t first, int64_t count, float *to) {
    for (int64_t i = 0; from && i < count; i++)
        to[i] += (float)tn_element_load_f64(from->data, from->type, first + i);
}

void pack_vectors(const tn_call *call, const tn_cuda_cluster_product *p,
                  const tn_cuda_cluster_config *c, const chain *links, float *to) {
    const int64_t own = p->has_first ? TN_CLUSTER_MIDDLE : 0;
    for (int64_t split = 0; split < c->splits; split++, to += own) {
        const int64_t first = split * c->slice, rest = p->middle - first;
        for (uint32_t i = 0; i < links->first_bias_count; i++)
            add_vector(links->first_bias[i], first, rest < c->slice ? rest : c->slice, to);
    }
    for (uint32_t i = 0; i < links->epilogue.bias_count; i++)
        add_vector(call->operands[links->epilogue.bias[i]], 0, p->columns, to);
    add_vector(links->scale, 0, p->columns, to + TN_CLUSTER_COLUMNS);
    add_vector(links->shift, 0, p->columns, to + 2 * TN_CLUSTER_COLUMNS);
}

tn_status prepare_constants(tn_call *call, const tn_cuda_cluster_product *p, const chain *links,
                            cluster_state *state) {
    const tn_cuda_cluster_config *c = &state->config;
    const int64_t across = TN_CLUSTER_COLUMNS / 16;
    const int64_t tiles = p->has_first ? c->splits * (TN_CLUSTER_MIDDLE / 16) * across : 0;
    const int64_t more = c->splits * (c->slice / 16) * across;
    const int64_t vectors = (p->has_first ? c->splits * TN_CLUSTER_MIDDLE : 0) +
                            TN_CLUSTER_VECTORS * TN_CLUSTER_COLUMNS;
    state->at_second = tiles * TN_CLUSTER_TILE;
    state->at_vectors = state->at_second + more * TN_CLUSTER_TILE;
    const uint64_t bytes = (uint64_t)(state->at_vectors + vectors * (int64_t)sizeof(float));
    char *packed = (char *)call->host->allocate(call->host, bytes, 64);
    if (!packed)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to pack %llu bytes of weights",
                                (unsigned long long)bytes);
    memset(packed, 0, bytes);
    if (p->has_first) pack_first(p, c, links->first, packed);
    pack_second(p, c, call->inputs[B], packed + state->at_second);
    pack_vectors(call, p, c, links, (float *)(packed + state->at_vectors));
    const tn_status status = tn_cuda_upload(call, packed, bytes, (void **)&state->constants);
    call->host->deallocate(call->host, packed);
    return status;
}

} // namespace

/* ----------------------------------------------------------------------------------------------
 * callbacks */

tn_status tn_cuda_product_cluster_accepts(tn_call *call) TN_NOEXCEPT {
    tn_cuda_cluster_product p;
    tn_cuda_cluster_config config;
    chain links;
    return read_chain(call, &links) && read_node(call, &links, &p) && p.rows <= MOST_ROWS &&
                   are_constant(call, &links) && tn_cuda_cluster_choose(&p, 0, &config)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status tn_cuda_product_cluster_tactics(tn_call *call) TN_NOEXCEPT {
    tn_cuda_cluster_product p;
    tn_cuda_cluster_config config;
    chain links;
    uint32_t count = 0;
    if (read_chain(call, &links) && read_node(call, &links, &p))
        while (tn_cuda_cluster_choose(&p, count, &config))
            count++;
    call->tactic_count = count ? count : 1;
    return TN_OK;
}

void tn_cuda_product_cluster_release(tn_call *call) TN_NOEXCEPT {
    const cluster_state *state = (const cluster_state *)call->state;
    if (state->constants) call->device->deallocate(call->device, state->constants, call->stream);
    tn_kernel_state_destroy(call);
}

tn_status tn_cuda_product_cluster_prepare(tn_call *call) TN_NOEXCEPT {
    tn_cuda_cluster_product p;
    chain links;
    TN_TRY(tn_kernel_state_create(call, sizeof(cluster_state)));
    cluster_state *state = (cluster_state *)call->state;
    tn_status status;
    if (!read_chain(call, &links) || !read_node(call, &links, &p) ||
        !tn_cuda_cluster_choose(&p, call->tactic, &state->config))
        status =
            call->host->fail(call, TN_ERROR_UNSUPPORTED, "the kernel does not do this product");
    else
        status = prepare_constants(call, &p, &links, state);
    if (status != TN_OK) tn_cuda_product_cluster_release(call);
    return status;
}

tn_status tn_cuda_product_cluster_open(tn_call *call) TN_NOEXCEPT {
    return tn_kernel_context_create(call, sizeof(cluster_context));
}

void tn_cuda_product_cluster_close(tn_call *call) TN_NOEXCEPT {
    call->host->deallocate(call->host, call->context);
}

tn_status tn_cuda_product_cluster_reshape(tn_call *call) TN_NOEXCEPT {
    const cluster_state *state = (const cluster_state *)call->state;
    cluster_context *context = (cluster_context *)call->context;
    tn_cuda_cluster_product *p = &context->job;
    chain links;
    call->workspace_bytes = 0;
    context->is_empty = call->outputs[0]->bytes == 0;
    if (context->is_empty) return TN_OK;
    if (!read_chain(call, &links) || !read_node(call, &links, p))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the kernel does not do a product of these shapes");
    p->first = state->constants;
    p->second = state->constants + state->at_second;
    p->vectors = (const float *)(state->constants + state->at_vectors);
    context->residual = links.epilogue.residual;
    return TN_OK;
}

tn_status tn_cuda_product_cluster_run(tn_call *call) TN_NOEXCEPT {
    const cluster_state *state = (const cluster_state *)call->state;
    cluster_context *context = (cluster_context *)call->context;
    tn_cuda_cluster_product *p = &context->job;
    const uint32_t residual = context->residual;
    if (context->is_empty) return TN_OK;
    p->x = call->inputs[A]->data;
    p->y = call->outputs[0]->data;
    p->residual = residual == UINT32_MAX ? NULL : call->operands[residual]->data;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_cluster_launch(p, &state->config, (cudaStream_t)call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching products of a cluster");
}
