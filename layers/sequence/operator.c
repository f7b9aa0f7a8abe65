/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences and optionals: lists that are made and changed (build.c), read (read.c), cut from a
 * tensor and put together (split.c, concat.c), mapped by a graph (map.c); optionals (optional.c,
 * optional_sequence.c).
 * They move items, so that references are all there is; only SequenceMap has a kernel, by which its
 * body runs its own program.
 */
#include "sequence.h"

TN_LAYER(sequence,
         TN_OPERATORS(&tn_sequence_empty, &tn_sequence_construct, &tn_sequence_insert,
                      &tn_sequence_erase, &tn_sequence_at, &tn_sequence_length, &tn_sequence_split,
                      &tn_sequence_concat, &tn_sequence_map, &tn_sequence_optional,
                      &tn_sequence_has_element_15, &tn_sequence_has_element_18,
                      &tn_sequence_get_element, &tn_sequence_optional_sequence,
                      &tn_sequence_has_sequence, &tn_sequence_get_sequence),
         TN_KERNELS(&tn_sequence_map_kernel));
