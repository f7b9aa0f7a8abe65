/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels by oneDNN share, and the only files that know which oneDNN this is: one engine,
 * layouts of tensors, descriptors of primitives, errors with the primitive's name, a primitive at
 * work (its memories, its scratch memory, its execution on the call's threads), and a node that one
 * primitive does.
 *
 * oneDNN 2 has layouts as structs and describes an operation before it makes a primitive's
 * descriptor; oneDNN 3 has layouts as handles and makes the descriptor in one call. Kernels see
 * neither: they use tn_dnnl_layout, tn_dnnl_view and the functions below.
 */
#ifndef TN_LAYERS_ONEDNN_DNNL_H
#define TN_LAYERS_ONEDNN_DNNL_H

#include "kit/operator/layer.h"
#include "kit/window/window.h"

#include <oneapi/dnnl/dnnl.h>

/* A layout that is owned: zeroed first, cleared in the end. A view is lent: of a layout, or of a
 * primitive's descriptor. */
#if DNNL_VERSION_MAJOR >= 3
typedef struct tn_dnnl_layout {
    dnnl_memory_desc_t desc;
} tn_dnnl_layout;
typedef const_dnnl_memory_desc_t tn_dnnl_view;
#else
typedef struct tn_dnnl_layout {
    dnnl_memory_desc_t desc;
    bool is_set;
} tn_dnnl_layout;
typedef const dnnl_memory_desc_t *tn_dnnl_view;
#endif

/* The CPU engine, made once and kept; null after a failure. [thread: any] */
dnnl_engine_t tn_dnnl_engine(void);

/* TN_OK, or host->fail with what failed. */
tn_status tn_dnnl_check(tn_call *call, dnnl_status_t status, const char *what);

/* Elements of a type, of the given extents; false when there is no such layout. What *layout held
 * is cleared. */
bool tn_dnnl_layout_make(tn_dnnl_layout *layout, dnnl_data_type_t type, int rank,
                         const int64_t *shape, dnnl_format_tag_t tag);
/* A tensor of rank 4, of 32-bit floats or 8-bit integers, in one of the formats linear, nhwc, c8,
 * c16, or one of `parts` equal parts of it along axis 0; false for others. */
bool tn_dnnl_layout_of(tn_dnnl_layout *layout, const tn_tensor *tensor, int64_t parts);
bool tn_dnnl_layout_copy(tn_dnnl_layout *layout, tn_dnnl_view view);
void tn_dnnl_layout_clear(tn_dnnl_layout *layout);
tn_dnnl_view tn_dnnl_layout_view(const tn_dnnl_layout *layout); /* null when it is not set */
/* Text that two layouts share only when they lay the same elements out alike, `key` having room for
 * TN_DNNL_KEY_BYTES; false where that cannot be told. */
#define TN_DNNL_KEY_BYTES  24
#define TN_DNNL_NAME_BYTES 64 /* of an implementation */
bool tn_dnnl_layout_key(const tn_dnnl_layout *layout, char *key);

/* Lays out the plain weights of a convolution of 3 x 3 as Winograd's algorithm reads them, on the
 * call's threads (winograd.c). *out_is_done false: `to` is no such layout, and nothing is written.
 * [called: prepare] */
tn_status tn_dnnl_pack_winograd(tn_call *call, tn_dnnl_view to, const float *weights, float *data,
                                bool *out_is_done);

/* The bytes added to a hash, which begins as TN_DNNL_HASH_BASIS. */
#define TN_DNNL_HASH_BASIS 1469598103934665603u
uint64_t tn_dnnl_hash(uint64_t hash, const void *data, size_t bytes);

/* A window over two spatial axes, as oneDNN counts it: a dilation of 0 leaves no gaps. */
typedef struct tn_dnnl_window {
    dnnl_dims_t kernel, strides, dilations, begin, end;
} tn_dnnl_window;
/* The end is what the last window sees, ceil_mode's part included. */
void tn_dnnl_window_of(const tn_window *window, bool is_transposed, tn_dnnl_window *out_window);

#define TN_DNNL_ABSORBS                                                                            \
    TN_FACET_RESIDUAL                                                                              \
    ", " TN_FACET_ACTIVATION                                                                       \
    "(relu|leaky_relu|clip|sigmoid|tanh|hard_swish|gelu_erf|gelu_tanh|swish|elu)"

/* What becomes of the exact sums of a product of integers: y = round(sum * factor of its channel),
 * plus the zero point, saturated; `factors` has as many as there are channels. Where a tensor is
 * added, y is bounded by low and high before its zero point would be added, and the result is
 * round((y * own_factor + added - added_zero) * added_factor), saturated. */
typedef struct tn_dnnl_requantisation {
    const float *factors;
    int64_t count;
    int32_t source_zero, target_zero;
    const tn_tensor *added; /* null: nothing is */
    float low, high, own_factor, added_factor;
    int32_t added_zero;
    bool is_signed; /* the sum, which has no zero point */
} tn_dnnl_requantisation;
/* The number of the addition among the primitive's further operations. */
enum { TN_DNNL_SUM_AT = 3 };

/* One forward primitive for the call's threads and steps. */
typedef struct tn_dnnl_operation {
    enum { TN_DNNL_CONVOLUTION, TN_DNNL_DECONVOLUTION, TN_DNNL_POOLING } kind;
    dnnl_alg_kind_t algorithm;
    int64_t parts;              /* of the call, of which it does one: see node.c */
    uint32_t skipped;           /* how many of oneDNN's implementations are passed over */
    const char *implementation; /* the first of this name, or the first at all; null: any */
    tn_dnnl_view source, target;
    tn_dnnl_view weights, bias; /* not of a pooling; bias: null, none */
    tn_dnnl_window window;
    const tn_dnnl_requantisation *requantisation; /* null: of floats, or a selection */
} tn_dnnl_operation;
/* Its descriptor, which the caller destroys. */
tn_status tn_dnnl_describe(tn_call *call, const tn_dnnl_operation *operation,
                           dnnl_primitive_desc_t *out_desc);

/* Whether oneDNN does what a call describes with a tactic: TN_OK, or why not. */
typedef tn_status (*tn_dnnl_question)(tn_call *call, uint32_t tactic);
/* The answer of `question`, remembered for calls with the same threads, tensors (types, formats and
 * shapes), steps, tactic and window, and for fewer steps where it is yes (answers.c).
 * [thread: any] */
bool tn_dnnl_ask(tn_call *call, tn_dnnl_question question, uint32_t tactic,
                 const tn_window *window);

/* Sets OpenMP's number of threads for this thread, 0: one, and answers the one before, to be set
 * back. */
int tn_dnnl_set_threads(uint32_t threads);

/* A primitive at work: its arguments in the order of `ids`; the handles are set before each run. */
#define TN_DNNL_ARGUMENTS 6
typedef struct tn_dnnl_primitive {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    uint32_t count;
    int ids[TN_DNNL_ARGUMENTS];
    dnnl_memory_t memories[TN_DNNL_ARGUMENTS];
    uint64_t scratch_bytes;
    int64_t parts; /* how often it is run */
} tn_dnnl_primitive;

/* Makes a primitive of a descriptor, which it does not take over. What was made before in
 * *primitive is destroyed. */
tn_status tn_dnnl_primitive_make(tn_call *call, const_dnnl_primitive_desc_t desc,
                                 tn_dnnl_primitive *primitive);
/* Adds an argument with the layout that the primitive's descriptor has for it. */
tn_status tn_dnnl_primitive_add(tn_call *call, tn_dnnl_primitive *primitive, int id,
                                tn_dnnl_view view);
void tn_dnnl_primitive_destroy(tn_dnnl_primitive *primitive); /* a zeroed one is fine */
/* An address for each argument, and how many bytes lie between its parts. */
typedef struct tn_dnnl_address {
    void *data;
    uint64_t step_bytes;
} tn_dnnl_address;
/* Scratch memory is call->workspace. */
tn_status tn_dnnl_primitive_run(tn_call *call, const tn_dnnl_primitive *primitive,
                                const tn_dnnl_address *addresses);

/* Kernels of one primitive, which is made anew for other shapes: the callbacks `open` and `close`,
 * and what `reshape` and `run` do (node.c). An addition is operand 0. */
tn_status tn_dnnl_node_open(tn_call *call);
void tn_dnnl_node_close(tn_call *call);
/* The members with which the table of such a kernel begins. */
#define TN_DNNL_KERNEL_BEGIN(domain_name, operator_name, number, words)                            \
    TN_KERNEL_BEGIN("cpu", domain_name, operator_name, "onednn", number, words),                   \
        .traits = TN_KERNEL_OPENMP, .open = tn_dnnl_node_open, .close = tn_dnnl_node_close
/* `describe` as tn_dnnl_describe, for one of `parts` parts of the call; `bias` null: none; `added`:
 * that of a requantisation, or null. */
tn_status tn_dnnl_node_reshape(tn_call *call, bool has_weights, const tn_tensor *bias,
                               const tn_tensor *added,
                               tn_status (*describe)(tn_call *call, int64_t parts,
                                                     dnnl_primitive_desc_t *out_desc));
/* `weights` as they were packed; null: none. */
tn_status tn_dnnl_node_run(tn_call *call, const void *weights, const tn_tensor *bias,
                           const tn_tensor *added);

/* Tell the builder what a tactic takes (conv_cost.c): Winograd's algorithm, and a stem's weights.
 */
void tn_dnnl_tell_winograd(tn_call *call, const tn_tensor *weights, const tn_window *window,
                           uint32_t tactic);
void tn_dnnl_tell_stem(tn_call *call, const tn_tensor *weights, uint32_t tactic);

/* Whether the implementation is one of oneDNN's plain ones, which our own kernels beat. */
bool tn_dnnl_is_plain(const_dnnl_primitive_desc_t desc);
/* Whether it is done as a product of matrices ("x64:gemm:jit"), by AMX's tiles, by AVX-512
 * at all. */
bool tn_dnnl_is_product(const_dnnl_primitive_desc_t desc);
bool tn_dnnl_is_amx(const_dnnl_primitive_desc_t desc);
/* Whether any implementation here may be by AMX's tiles; describes nothing. */
bool tn_dnnl_has_amx(void);
/* Whether any may be by AVX-512 VNNI. */
bool tn_dnnl_has_vnni(void);
bool tn_dnnl_is_avx512(const_dnnl_primitive_desc_t desc);
/* Copies its name, cut to the bytes there are. */
void tn_dnnl_implementation(const_dnnl_primitive_desc_t desc, char *text, size_t bytes);

extern const tn_kernel tn_dnnl_conv_kernel, tn_dnnl_conv_transpose_kernel,
    tn_dnnl_integer_conv_kernel, tn_dnnl_integer_conv_add_kernel, tn_dnnl_max_pool_kernel,
    tn_dnnl_average_pool_kernel, tn_dnnl_global_average_pool_kernel;

#endif
