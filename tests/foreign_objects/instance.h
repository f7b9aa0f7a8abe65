/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object of any generation behind one interface: what the adapter needs of it, in the order of
 * its life. For building: outputs, takes, configure (which initialises), save. For running: an
 * instance made from saved bytes, start, reshape, enqueue. The destructor undoes what was done, the
 * object's own destroy or delete last. Dims have the batch.
 */
#ifndef FOREIGN_OBJECTS_INSTANCE_H
#define FOREIGN_OBJECTS_INSTANCE_H

#include "foreign.h"

#include <memory>
#include <vector>

class Instance {
  public:
    virtual ~Instance() = default;
    virtual int32_t outputCount() noexcept = 0;
    virtual bool outputDims(int32_t index, const foreign::Dims *inputs, int32_t count,
                            foreign::Dims &out) noexcept = 0;
    virtual bool outputType(int32_t index, const foreign::Type *inputs, int32_t count,
                            foreign::Type &out) noexcept = 0;
    /* Whether shapes may differ in another dimension than the batch. */
    virtual bool takesOtherShapes() const noexcept = 0;
    /* Tensors after the position are not valid. */
    virtual bool takes(int32_t position, const foreign::DynamicDesc *tensors, int32_t inputCount,
                       int32_t outputCount) noexcept = 0;
    virtual bool configure(const std::vector<foreign::DynamicDesc> &inputs,
                           const std::vector<foreign::DynamicDesc> &outputs) noexcept = 0;
    virtual void save(std::vector<char> &out) noexcept = 0;
    virtual int32_t tacticCount() noexcept { return 1; }
    virtual const char *timingId() noexcept { return nullptr; }

    virtual bool start(foreign::Resources *resources, uint32_t tactic) noexcept = 0;
    virtual bool reshape(const std::vector<foreign::Desc> &inputs,
                         const std::vector<foreign::Desc> &outputs,
                         size_t &out_workspace_bytes) noexcept = 0;
    virtual bool enqueue(const std::vector<foreign::Desc> &inputDescs,
                         const std::vector<foreign::Desc> &outputDescs, const void *const *inputs,
                         void *const *outputs, void *workspace, void *stream) noexcept = 0;
};

/* Null: the creator gives none. `bytes` are what save wrote or, for a creator without fields, what
 * its object was first made from. */
std::unique_ptr<Instance> makeInstance(const foreign::Registered &creator,
                                       const foreign::Fields &fields);
std::unique_ptr<Instance> loadInstance(const foreign::Registered &creator, const void *bytes,
                                       size_t count);

#endif
