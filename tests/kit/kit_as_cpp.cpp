// SPDX-License-Identifier: Apache-2.0
// All headers of the kernel kit in one C++ file, and a function of the library called from it.
#include <tenon/kit/activation.h>
#include <tenon/kit/broadcast.h>
#include <tenon/kit/byte_vector.h>
#include <tenon/kit/dot.h>
#include <tenon/kit/dot_end.h>
#include <tenon/kit/dot_pack.h>
#include <tenon/kit/epilogue.h>
#include <tenon/kit/infer.h>
#include <tenon/kit/int8_matrix.h>
#include <tenon/kit/known_steps.h>
#include <tenon/kit/lanes.h>
#include <tenon/kit/levels.h>
#include <tenon/kit/matrix.h>
#include <tenon/kit/matrix_kernel.h>
#include <tenon/kit/matrix_product.h>
#include <tenon/kit/open.h>
#include <tenon/kit/parallel.h>
#include <tenon/kit/reduce_rows.h>
#include <tenon/kit/region.h>
#include <tenon/kit/resample.h>
#include <tenon/kit/rows.h>
#include <tenon/kit/strided.h>
#include <tenon/kit/vector.h>
#include <tenon/kit/vector_math.h>
#include <tenon/kit/version.h>

static_assert(TN_KIT_IS_AT_LEAST(0, 1) && !TN_KIT_IS_AT_LEAST(TN_KIT_MAJOR, TN_KIT_MINOR + 1),
              "the version");

extern "C" int64_t kit_as_cpp_strides(void);
extern "C" int64_t kit_as_cpp_strides(void) {
    const int64_t shape[3] = {2, 3, 5};
    int64_t strides[3];
    tn_region_strides(3, shape, strides);
    return strides[0] * 100 + strides[1] * 10 + strides[2];
}
