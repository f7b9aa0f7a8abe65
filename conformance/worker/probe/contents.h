/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an output's memory holds beside the right values: elements that nobody wrote, padded
 * elements of blocked formats, bytes that are no booleans.
 */
#ifndef TN_CONFORMANCE_WORKER_PROBE_CONTENTS_H
#define TN_CONFORMANCE_WORKER_PROBE_CONTENTS_H

#include "worker/probe/probe_state.h"

/* What elements of a type are full of where outputs are full of `poison`: no boolean is so, and
 * no integer is -1, which ends and fills rows. */
uint8_t tn_contents_poison(tn_type type, uint8_t poison);

/* After a run that found the outputs full of `poison`: padded elements are zero, booleans 0 or 1.
 * Sets probe->rule. */
tn_status tn_contents_check(tn_probe *probe, const tn_probe_memory *memory, uint8_t poison);

/* Two runs that found other poisons: whether the first element that is not as expected holds the
 * poison both times. Says which. */
bool tn_contents_unwritten(const tn_outcome *expected, const tn_outcome *first,
                           uint8_t first_poison, const tn_outcome *second, uint8_t second_poison,
                           char *why, size_t bytes);

#endif
