/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/before.h: what a kernel computes before it uses an input, so that a conversion, a
 * factor or padding writes no tensor of its own.
 *
 * An entry "@k facet" in tn_kernel.absorbs lists a facet that the kernel computes on its input
 * k - 1: "@1 tn.convert/1, @1 tn.scale/1, tn.bias/1". What stands without "@" follows the kernel.
 *
 * Which nodes: a chain of them leads to that input, each with one output that the next one alone
 * reads, the last one that the kernel's node alone reads. Of a node with several inputs the chained
 * one is the first that is no constant. A kernel gets such a chain before one of its inputs at
 * most, and not before an input of which only the shape is read or whose value decides shapes
 * (TN_PORT_SHAPE_ONLY, TN_PORT_VALUE_NEEDED).
 *
 * What the call has: `steps` begin with those before the input, in order, their `port` being k;
 * those after the kernel follow with port 0. call->inputs[k - 1], and the same of minimum_inputs
 * and maximum_inputs, is the tensor that is stored: type, format, shape, quantisation and data of
 * the chain's beginning. It is what TN_STEP_VALUE means to a step before an input; the first step
 * after the kernel names the kernel's own result so, as ever. The `output` of the last step before
 * the input is what the operator has there, with its shape at the profile's optimum. Kernels that
 * list "@" look at the steps before they read the type or the shape of that input; other kernels
 * never see such steps.
 *
 * What is stored: the kernel's combination speaks at that port of the stored tensor, so that one
 * that converts bytes lists them ("u8, f32 -> f32"), beside what it reads without the step. Where
 * it names no type ('*', or no combinations), the operator's port must have the stored type. A
 * lower type of the build's precision is one of the stored tensor, with its quantisation. Operands
 * of steps before an input, VECTOR, WHOLE and BROADCAST, are linear and in their own types. In the
 * memory of such an input no output is written.
 *
 * A run of another shape for which a step is not what it was at the build is computed without that
 * fusion, as for steps after a kernel.
 */
#ifndef TENON_PLUGIN_BEFORE_H
#define TENON_PLUGIN_BEFORE_H

#include <tenon/plugin.h>

/* y = x in the type of the step's output, as Cast of ONNX converts it. The struct is its size
 * alone, a uint32_t. */
#define TN_FACET_CONVERT "tn.convert/1"

/* y = the convolution of x [batch, channels, spatial...] with operand 0, the weights [filters,
 * channels / groups, kernel...] (CONSTANT), and operand 1, where there is one, added along the
 * filters (VECTOR). Extents of the 1 to 3 spatial axes; what is past them is 0. */
#define TN_FACET_CONVOLUTION "tn.convolution/1"
typedef struct tn_facet_convolution {
    uint32_t size;
    uint32_t rank; /* of the window: spatial axes */
    int32_t groups, filters;
    int32_t kernel[3], stride[3], dilation[3];
    int32_t pad_begin[3], pad_end[3];
} tn_facet_convolution;

/* y [..., columns] = the matrix product of x [..., depth] with operand 0 [depth, columns]
 * (CONSTANT). The struct is its size alone, a uint32_t. */
#define TN_FACET_MATRIX_PRODUCT "tn.matrix_product/1"

#endif
