/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/cuda.h: the handles of NVIDIA's libraries that CUDA kernels share, as resources
 * (tenon/plugin/resource.h), so that a third party's kernel does not open its own. It includes
 * nothing of CUDA.
 *
 * A key names the library's major version, as its file does (libcublasLt.so.12): who is linked with
 * another one has another key, and so a handle that fits. Whoever comes first creates the handle,
 * whoever is last destroys it, by the functions that are named here and with the call's GPU the
 * current one. Tenon's own kernels keep a handle that they destroy for the next one who asks.
 */
#ifndef TENON_PLUGIN_CUDA_H
#define TENON_PLUGIN_CUDA_H

#include <tenon/plugin/resource.h>

/* TN_SCOPE_DEVICE: a cublasLtHandle_t, by cublasLtCreate and cublasLtDestroy. Threads may share it;
 * a stream is an argument of its functions. `major` is a string: TN_CUDA_CUBLASLT("12"). */
#define TN_CUDA_CUBLASLT(major) "tn.cuda.cublaslt." major "/1"

/* TN_SCOPE_CONTEXT: a cudnnHandle_t, by cudnnCreate and cudnnDestroy. Its stream is that of whoever
 * used it last: each use begins by cudnnSetStream with call->stream (or finds by cudnnGetStream
 * that it is set), and leaves the handle's other settings as they were. */
#define TN_CUDA_CUDNN(major) "tn.cuda.cudnn." major "/1"

#endif
