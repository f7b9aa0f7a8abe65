/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader sees of cuDNN: a version and two functions, or fewer (test_loader.c). */
#include <stddef.h>

#ifndef FAKE_silent
size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void) {
    return VERSION;
}
#endif

int first_function(void);
int first_function(void) {
    return 1;
}

#ifndef FAKE_lacking
int second_function(void);
int second_function(void) {
    return 2;
}
#endif
