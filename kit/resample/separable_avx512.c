/* SPDX-License-Identifier: Apache-2.0 */
/* Separable resampling for one processor level; see separable_body.h. */
#define TN_RESAMPLE_LEVEL tn_resample_avx512
#include "kit/resample/separable_body.h"
