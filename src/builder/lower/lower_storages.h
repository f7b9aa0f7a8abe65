/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types that tensors may be stored in, the numbers of the storages that kernels ask for
 * (lower_storages.c), and the storages of a node's ports (lower_ports.c).
 */
#ifndef TN_BUILDER_LOWER_LOWER_STORAGES_H
#define TN_BUILDER_LOWER_LOWER_STORAGES_H

#include "builder/lower/lower_private.h"

/* What the build's precision allows. */
typedef struct tn_lower_precision {
    tn_type lower_type;             /* TN_NONE: none is allowed */
    tn_type second_type;            /* of 16-bit floats, beside 8 bits; TN_NONE: none */
    bool *may_second;               /* by tensor: whether it may be stored in second_type */
    bool *may_lower;                /* by tensor: whether it may be stored in lower_type */
    bool *lacks_scale;              /* by tensor: whether it might, if it had a scale */
    tn_quantization *quantizations; /* by tensor, of those that may */
} tn_lower_precision;

/* Sets lowering->precision and lowering->storages. */
tn_status tn_lower_storages_find(tn_lowering *lowering);
/* By its number, below the count; 0: own type, linear. */
tn_storage tn_lower_storage_at(const tn_lowering *lowering, uint32_t number);
uint32_t tn_lower_storage_count(const tn_lowering *lowering);
/* The number of a storage, which is added; false when there are too many. */
bool tn_lower_note_storage(tn_lowering *lowering, tn_storage storage);
uint32_t tn_lower_storage_number(const tn_lowering *lowering, tn_storage storage);
/* What a tensor is in a storage. */
tn_type tn_lower_type(const tn_lowering *lowering, tn_tensor_id tensor, tn_storage storage);
const tn_quantization *tn_lower_quantization(const tn_lowering *lowering, tn_tensor_id tensor,
                                             tn_storage storage);
/* Whether a node, and what a candidate (null: none yet) absorbs, may use the lower type. */
bool tn_lower_is_allowed(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);

/* --- lower_ports.c --- */
/* The storages of a candidate's ports with a combination, as many as the node has with its chain. A
 * port that the combination leaves open takes the type that is wanted: TN_NONE (the tensor's own),
 * the lower or the second one. *out_fits: whether the node can have them. TN_ERROR_MEMORY. */
tn_status tn_lower_ports(tn_lowering *lowering, uint32_t node, const tn_candidate *candidate,
                         const tn_combination *combination, tn_type wanted, tn_storage *storages,
                         bool *out_fits);
/* Whether a tensor may be stored in a type that is not its own. */
bool tn_lower_may_be(const tn_lowering *lowering, tn_tensor_id tensor, tn_type type);
/* Whether it reads or writes something in the lower type. */
bool tn_lower_is_lowered(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);

#endif
