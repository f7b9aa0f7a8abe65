/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the adapter share: one creator as Tenon has it, a call's tensors and fields in
 * the objects' terms.
 *
 *   adapter.cpp        the library: an operator and a kernel for each creator
 *   adapter_ask.cpp    shapes, combinations, tactics, timing keys
 *   adapter_live.cpp   state, contexts, runs
 *   adapter_terms.cpp  the terms
 */
#ifndef FOREIGN_OBJECTS_ADAPTER_H
#define FOREIGN_OBJECTS_ADAPTER_H

#include "instance.h"

#include <string>
#include <tenon/plugin.h>

struct Entry {
    foreign::Registered creator;
    std::string name, space;
    std::vector<tn_field> fields;
    uint64_t paramsBytes = sizeof(uint64_t);
    tn_operator op = {};
    tn_kernel kernel = {};
};

inline const Entry &entryOf(const tn_call *call) {
    return *static_cast<const Entry *>(call->user);
}

struct LayoutPair {
    tn_format own;
    foreign::Layout foreign;
    const char *name;
};
constexpr LayoutPair layouts[] = {{TN_LINEAR, foreign::Layout::Linear, ""},
                                  {TN_NHWC, foreign::Layout::ChannelsLast, ":nhwc"},
                                  {TN_C4, foreign::Layout::Blocks4, ":c4"}};
constexpr int layoutCount = 3;

foreign::Type foreignType(tn_type own);
tn_type ownType(foreign::Type other);
const char *nameOf(foreign::Type type);
foreign::Dims dimsOf(const tn_tensor *tensor);
foreign::Desc descOf(const tn_tensor *tensor);
/* Inputs between the profile's ends, and outputs between what follows from those. */
bool describe(Instance &instance, const tn_call *call, std::vector<foreign::DynamicDesc> &inputs,
              std::vector<foreign::DynamicDesc> &outputs);
/* A new object of a node's fields; of a creator without fields, of its bytes. Null: it makes none.
 */
std::unique_ptr<Instance> create(const Entry &entry, const void *params);
tn_status refuse(tn_call *call, const char *what);

/* adapter_ask.cpp */
tn_status inferOutputs(tn_call *call) TN_NOEXCEPT;
tn_status acceptNode(tn_call *call) TN_NOEXCEPT;
tn_status countTactics(tn_call *call) TN_NOEXCEPT;
tn_status tellTimingKey(tn_call *call, char *text, uint32_t bytes) TN_NOEXCEPT;
tn_status tellCombination(tn_call *call, uint32_t index, char *text, uint32_t bytes) TN_NOEXCEPT;
/* adapter_live.cpp */
tn_status prepareNode(tn_call *call) TN_NOEXCEPT;
void releaseNode(tn_call *call) TN_NOEXCEPT;
tn_status saveState(tn_call *call, void *data, uint64_t *inout_bytes) TN_NOEXCEPT;
tn_status loadState(tn_call *call, const void *data, uint64_t bytes) TN_NOEXCEPT;
tn_status openContext(tn_call *call) TN_NOEXCEPT;
void closeContext(tn_call *call) TN_NOEXCEPT;
tn_status reshapeContext(tn_call *call) TN_NOEXCEPT;
tn_status runContext(tn_call *call) TN_NOEXCEPT;

#endif
