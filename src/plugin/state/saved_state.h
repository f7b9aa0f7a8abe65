/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State as bytes: the calls of a save and of a load, which operators and kernels have alike.
 */
#ifndef TN_PLUGIN_SAVED_STATE_H
#define TN_PLUGIN_SAVED_STATE_H

#include "plugin/call.h"

typedef tn_status (*tn_save_callback)(tn_call *call, void *data, uint64_t *inout_bytes) TN_NOEXCEPT;
typedef tn_status (*tn_load_callback)(tn_call *call, const void *data, uint64_t bytes) TN_NOEXCEPT;

/* Asks for the length, then for the bytes, which lie in `arena`. Errors name node and operator. */
tn_status tn_saved_state_save(tn_call *call, tn_save_callback save, tn_arena *arena,
                              const void **out_data, size_t *out_bytes);
/* Loads a copy of the bytes, aligned to 64, which lies in `arena`: what the library does to it
 * harms nobody. */
tn_status tn_saved_state_load(tn_call *call, tn_load_callback load, tn_arena *arena,
                              const void *data, size_t bytes);

#endif
