/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/view.h: tensors that have the memory of others. Windows, so that what only cuts or
 * joins tensors need not copy; and state that is updated in place.
 */
#ifndef TENON_PLUGIN_VIEW_H
#define TENON_PLUGIN_VIEW_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Windows
 *
 * An operator whose outputs are parts of an input (a slice), or whose inputs are parts of an output
 * (a concatenation), says so by the facet "tn.view/1". tn_operator.facet is then asked for each of
 * its inputs with `what` a tn_view whose `output` is set, when shapes and the values of
 * VALUE_NEEDED inputs are known. It answers TN_OK when, with these, one of the two tensors is a
 * window of the other: element i of the window along each axis is element offsets[axis] + i of the
 * larger tensor, both have the same rank and type, and the elements are the same, bit for bit.
 *
 * Where every output of a node is a window of an input, or all inputs together are the whole of
 * output 0, without overlap, the engine may lend the smaller tensors parts of the larger one's
 * memory, and calls no kernel of the node (a node without a kernel runs by its reference). It
 * decides this for each set of shapes, once the kernels are chosen, and copies (by the node's
 * kernel) where it cannot: the two tensors are stored in different types, formats or memories, an
 * input lies in the caller's memory or is a constant, something else overwrites the memory while it
 * is needed, or the layout does not allow it.
 *
 * Layout: a window whose elements are contiguous in the larger tensor's memory, in its format, is
 * like any other tensor: every kernel may read or write it. Its data is aligned as tn_tensor says,
 * or it is copied.
 *
 * A window that is cut along axis 1 is rows at one distance: in linear and blocked formats, where
 * axis 0 has several indices, a row is what belongs to one of them, and the stride of axis 0 alone
 * is larger than in a packed tensor; channels last, a row is the channels of one pixel, and the
 * strides of all other axes are those of the larger tensor. Such a window is lent to kernels whose
 * combination says `strided` at that port ("f32:strided", "f32:nhwc:strided"); its tensor's strides
 * say which of the two it is, and whether it is packed after all. The first row is aligned as
 * tn_tensor says, in a device's memory to TN_VIEW_ROW_BYTES bytes, and the distance is a multiple
 * of TN_VIEW_ROW_BYTES bytes. `bytes` then counts
 * from the first element to behind the last one. What lies between the rows belongs to other
 * tensors: a kernel neither writes it nor relies on it, and other threads may write there
 * meanwhile. Other windows of rows are copied. */
#define TN_FACET_VIEW "tn.view/1"

enum { TN_VIEW_ROW_BYTES = 16 };

enum {
    TN_VIEW_OF_INPUT = 1, /* the output is a window of the input */
    TN_VIEW_OF_OUTPUT = 2 /* the input is a window of the output */
};
typedef struct tn_view {
    uint32_t size;
    uint32_t output; /* set by the host: which output is asked about */
    uint32_t kind;   /* TN_VIEW_... */
    uint32_t reserved;
    int64_t offsets[TN_MAX_RANK]; /* of the window, by axis of the larger tensor */
} tn_view;

/* State updated in place
 *
 * An output with TN_PORT_ALIAS is a new version of input `alias - 1`: a cache with a row more, a
 * running mean. Both have the same type and shape in such a node, or the memory is not shared.
 *
 * A kernel sees one of two things, and is right with both:
 *  - outputs[o]->data == inputs[i]->data: the input is overwritten, and what the kernel does not
 *    write keeps the input's elements;
 *  - else the two do not overlap, the input is not written, and the kernel writes all of the
 *    output: what stays is copied from the input.
 * They are never shared in part. The reference never sees them shared.
 *
 * The engine shares where nobody reads the input afterwards and it is a tensor of the run's own:
 * neither a constant nor an input of the network. One exception: a caller that binds an input and
 * an output of the network to the same pointer has the update done in place there, where the output
 * descends from this input alone by such ports, nobody else reads the input, and all steps run on
 * one device. See tenon/engine.h, tn_context_bind_output. */

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_view, offsets, 16);

#endif
