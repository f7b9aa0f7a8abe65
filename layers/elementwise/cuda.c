/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operator.c on CUDA, by the kernels of kit/cuda/pointwise/pointwise.h. */
#include "kit/cuda/any/cells_job.h"
#include "kit/cuda/pointwise/pointwise.h"

#define IS_ACTIVATION(map) ((uint32_t)(map) < (uint32_t)TN_MAP_EXP)
/* What describes itself as an activation is asked for its function; others have it here. */
#define MAP_KERNEL(prefix, domain, name, map, first, second)                                       \
    static const tn_cuda_map_user prefix##_user = {IS_ACTIVATION(map) ? 0 : (map),                 \
                                                   IS_ACTIVATION(map) ? NULL : (first),            \
                                                   IS_ACTIVATION(map) ? NULL : (second)};          \
    TN_CUDA_MAP_KERNEL_ENTRY(prefix, domain, name, tn_cuda_map_combinations)
#define MAP(prefix, domain, name, version, map, ...)                                               \
    MAP_KERNEL(prefix, domain, name, map, NULL, NULL)
#define CURVE(prefix, domain, name, version, map, text, type, in, out, result, words, count,       \
              first, first_default, first_doc, second, ...)                                        \
    MAP_KERNEL(prefix, domain, name, map, first, second)
#define CHOICE MAP
#define CLIP(prefix, domain, name, ...)                                                            \
    static const tn_cuda_map_user prefix##_user = {0, NULL, NULL};                                 \
    TN_CUDA_MAP_KERNEL_ENTRY(prefix, domain, name, tn_cuda_clip_combinations)
#define COMBINE(prefix, name, version, combine, first, ...)                                        \
    TN_CUDA_COMBINE_KERNEL_ENTRY(prefix, name, combine, first, tn_cuda_combine_combinations)
/* Of one tensor or two. */
#define ANY(prefix, name, combine, mean, ...)                                                      \
    static const tn_cuda_variadic_user prefix##_any_user = {combine, mean};                        \
    TN_CUDA_ANY_KERNEL(prefix##_any, "", name, "elements",                                         \
                       "An element a thread, of any number of tensors of any type.",               \
                       .accepts = tn_cuda_variadic_accepts, .run = tn_cuda_variadic_run,           \
                       .user = (void *)(uintptr_t)&prefix##_any_user);
#define VARIADIC(prefix, name, combine, mean, ...)                                                 \
    ANY(prefix, name, combine, mean)                                                               \
    TN_CUDA_COMBINE_KERNEL_ENTRY(prefix, name, combine, 0, tn_cuda_sum_combinations)
#define MEAN ANY
#define PAIR(...)
#define LEGACY(...)
#include "elementwise/maps.h"
#include "elementwise/pairs.h"
#include "elementwise/variadic.h"
#undef MAP
#undef CURVE
#undef CHOICE
#undef CLIP
#undef COMBINE
#undef VARIADIC

#define MAP(prefix, ...)     &prefix##_pointwise,
#define CURVE(prefix, ...)   &prefix##_pointwise,
#define CHOICE(prefix, ...)  &prefix##_pointwise,
#define CLIP(prefix, ...)    &prefix##_pointwise,
#define COMBINE(prefix, ...) &prefix##_pointwise,
#undef MEAN
#define VARIADIC(prefix, ...) &prefix##_pointwise, &prefix##_any,
#define MEAN(prefix, ...)     &prefix##_any,
extern const tn_kernel *const tn_elementwise_cuda_kernels[];
const tn_kernel *const tn_elementwise_cuda_kernels[] = {
#include "elementwise/maps.h"
#include "elementwise/pairs.h"
#include "elementwise/variadic.h"
    NULL};
