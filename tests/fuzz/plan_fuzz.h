/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz target of plans and its seeds share: the content of an embedded library. It is no
 * library, and the one content that the target trusts: nothing that a fuzzer wrote is executed. */
#ifndef TN_TESTS_PLAN_FUZZ_H
#define TN_TESTS_PLAN_FUZZ_H

#define PLAN_FUZZ_LIBRARY        "no library"
#define PLAN_FUZZ_LIBRARY_BYTES  (sizeof(PLAN_FUZZ_LIBRARY) - 1)
#define PLAN_FUZZ_LIBRARY_SHA256 "a3bba07ee4d772d46d0f99f83549f754e8d42a91d4e258970547e29b0eb35101"

#endif
