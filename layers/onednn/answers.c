/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What oneDNN answered to `accepts` and `tactics`. A descriptor takes 20 to 50 us, whether there is
 * an implementation or not, and a network asks the same of all of its equal nodes, formats and
 * lengths of chains: half of a build without measuring were such questions. What does all steps of
 * a chain does the first of them too: oneDNN's implementations look at each by itself.
 */
#include "onednn/dnnl.h"
#include <tenon/kit/known_steps.h>

#include <stdatomic.h>

/* Each question has one slot, which a later one may overwrite: the upper 63 bits are those
 * of its hash, the lowest is the answer. 0: empty. */
enum { SLOT_COUNT = 8192 };
static atomic_uint_least64_t slots[SLOT_COUNT];

static uint64_t add_number(uint64_t hash, uint64_t number) {
    return tn_dnnl_hash(hash, &number, sizeof(number));
}

static uint64_t add_tensor(uint64_t hash, const tn_tensor *tensor) {
    if (!tensor) return add_number(hash, 0);
    hash = add_number(hash, 1 + tensor->rank);
    hash = add_number(hash, tensor->type);
    hash = add_number(hash, tensor->format);
    return tn_dnnl_hash(hash, tensor->shape, tensor->rank * sizeof(*tensor->shape));
}

static uint64_t add_step(uint64_t hash, const tn_known_step *step) {
    hash = add_number(hash, step->kind);
    hash = add_number(hash, step->operand);
    hash = add_number(hash, step->activation);
    hash = tn_dnnl_hash(hash, &step->alpha, sizeof(step->alpha));
    return tn_dnnl_hash(hash, &step->beta, sizeof(step->beta));
}

static uint64_t add_window(uint64_t hash, const tn_window *window) {
    const int64_t *const lists[] = {window->input,  window->output,   window->kernel,
                                    window->stride, window->dilation, window->pad_begin,
                                    window->pad_end};
    hash = add_number(hash, window->rank);
    for (size_t i = 0; i < TN_COUNT(lists); i++)
        hash = tn_dnnl_hash(hash, lists[i], window->rank * sizeof(*lists[i]));
    return hash;
}

/* The hashes of the question with none of the steps, with the first, and so on. */
static void hash_question(const tn_call *call, tn_dnnl_question question, uint32_t tactic,
                          const tn_window *window, const tn_known_steps *steps, uint64_t *hashes) {
    uint64_t hash = add_number(TN_DNNL_HASH_BASIS, (uintptr_t)question);
    hash = add_number(hash, (uintptr_t)call->user);
    hash = add_number(hash, tactic);
    hash = add_number(hash, call->threads);
    hash = add_window(hash, window);
    for (uint32_t i = 0; i < call->input_count; i++)
        hash = add_tensor(hash, call->inputs[i]);
    hashes[0] = add_tensor(hash, call->outputs[0]);
    for (uint32_t i = 0; i < steps->count; i++) {
        const tn_known_step *step = &steps->items[i];
        hashes[i + 1] = add_step(hashes[i], step);
        if (step->operand < call->operand_count)
            hashes[i + 1] = add_tensor(hashes[i + 1], call->operands[step->operand]);
    }
}

static atomic_uint_least64_t *slot_of(uint64_t hash) {
    return &slots[(hash >> 32) % SLOT_COUNT];
}

static void keep(uint64_t hash, bool answer) {
    const uint64_t value = answer ? hash | 1 : hash & ~(uint64_t)1;
    atomic_store_explicit(slot_of(hash), value, memory_order_relaxed);
}

bool tn_dnnl_ask(tn_call *call, tn_dnnl_question question, uint32_t tactic,
                 const tn_window *window) {
    tn_known_steps steps;
    uint64_t hashes[TN_KNOWN_STEPS_LIMIT + 1];
    if (!tn_known_steps_read(call, &steps)) return false;
    hash_question(call, question, tactic, window, &steps, hashes);
    const uint64_t hash = hashes[steps.count];
    const uint64_t kept = atomic_load_explicit(slot_of(hash), memory_order_relaxed);
    if ((kept | 1) == (hash | 1)) return kept & 1;
    const tn_status status = question(call, tactic);
    if (status == TN_OK)
        for (uint32_t i = 0; i <= steps.count; i++)
            keep(hashes[i], true);
    else if (status != TN_ERROR_MEMORY)
        keep(hash, false);
    return status == TN_OK;
}
