/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the caller's for outputs whose size he does not know beforehand: he is asked for it in
 * each run, once the size is known. For outputs that only the data of a run sizes (see
 * docs/dynamic-shapes.md), where tn_context_bind_output would need a bound, and for any other.
 */
#ifndef TENON_OUTPUT_ALLOCATOR_H
#define TENON_OUTPUT_ALLOCATOR_H

#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Answers memory of at least `bytes` for output number `output`, or null: there is none. It stays
 * the caller's, and must live until the run is over and its contents were read; it may be what was
 * answered before, which costs a run less than another pointer does. `bytes` is what the output
 * takes in this run and may be 0, for which null is fine; `alignment` is a power of two. It must
 * not call the context, nor leave by an exception or a jump. [thread: that of tn_context_run,
 * within it] */
typedef void *(*tn_output_allocate)(void *user, uint32_t output, uint64_t bytes,
                                    uint64_t alignment);

/* Has allocate(user, ...) asked for the memory of an output, once in each run that gets so far:
 * before the network begins where the shape is known then, else when the output is computed. After
 * the run tn_context_output has that memory as its data. It is treated as if it were bound
 * (tn_context_bind_output): memory that is not aligned to `alignment`, 64 bytes, is copied into;
 * it may be an input's. An output with an allocator is bound to nothing else; a call that binds it
 * takes the allocator back, and a null `allocate` does, too: the context then keeps memory of its
 * own. Shapes that come in turn allocate nothing beside.
 *
 * At run: TN_ERROR_MEMORY where the answer is null. The run ends there; what was answered for other
 * outputs is the caller's, with undefined contents, and the context works on. TN_ERROR_ARGUMENT:
 * there is no such output. */
TN_EXPORT tn_status tn_context_set_output_allocator(tn_context *context, uint32_t output,
                                                    tn_output_allocate allocate, void *user);
/* The same for memory of the engine's device, in the order of the stream, as
 * tn_context_bind_device_output has it. At run, too: TN_ERROR_ARGUMENT where it is not aligned to
 * `alignment`, which is the device's. TN_ERROR_STATE: the engine runs on the processor. */
TN_EXPORT tn_status tn_context_set_device_output_allocator(tn_context *context, uint32_t output,
                                                           tn_output_allocate allocate, void *user);

#ifdef __cplusplus
}
#endif
#endif
