/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the texts of an input of strings lie in a run: in a heap of the input's own, which ends at
 * a page that cannot be touched. Offsets then say nothing of a text: each element of the one layout
 * has bytes of its own, at the same distance in all inputs; of the other, texts lie within others.
 */
#ifndef TN_CONFORMANCE_WORKER_PROBE_TEXTS_H
#define TN_CONFORMANCE_WORKER_PROBE_TEXTS_H

#include "worker/probe/probe_state.h"

/* The bytes of the longest text of all inputs of strings that lie in such heaps. */
size_t tn_texts_longest(const tn_probe *values);
/* Whether the input's texts lie in a heap of its own: not where it is constant, or has gaps. */
bool tn_texts_are_own(const tn_probe_port *port);
/* Copies the texts of `count` elements of the cases' heap to the input's own one, which is made or,
 * where it is large enough, used again at its address, and gives the elements their offsets there.
 * `longest`: as above, the distance of the elements; 0: texts lie within others. */
tn_status tn_texts_put(tn_guarded *heap, uint32_t input, tn_string *elements, size_t count,
                       size_t longest);

#endif
