/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of steps on a kernel that absorbs them: what the reference's values and the steps give,
 * against what the kernel stores.
 */
#ifndef TN_CONFORMANCE_EPILOGUE_CHAIN_H
#define TN_CONFORMANCE_EPILOGUE_CHAIN_H

#include "rules/rules.h"

/* A kernel under test, and the chain that is put on it. */
typedef struct tn_epilogue_chain {
    const tn_test *test;
    tn_subject *subject;
    bool is_large; /* operands within 96 instead of 2 */
    uint32_t count;
    tn_chain_step steps[TN_PROBE_STEPS]; /* with `operand` as the chain has it */
} tn_epilogue_chain;

/* Nothing where something failed before. A failure is told of the shortest chain that fails. */
void tn_epilogue_chain_check(const tn_epilogue_chain *c, tn_verdict *verdict);

#endif
