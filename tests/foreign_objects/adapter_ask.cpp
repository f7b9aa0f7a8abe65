/* SPDX-License-Identifier: Apache-2.0 */
/* What an object is asked before it is configured, each time a new one; see adapter.h. */
#include "adapter.h"

#include <cstdio>
#include <cstring>

static std::vector<foreign::Dims> allDims(const tn_call *call) {
    std::vector<foreign::Dims> out;
    for (uint32_t i = 0; i < call->input_count; i++)
        out.push_back(dimsOf(call->inputs[i]));
    return out;
}

tn_status inferOutputs(tn_call *call) TN_NOEXCEPT {
    const std::unique_ptr<Instance> instance = create(entryOf(call), call->params);
    if (!instance) return refuse(call, "makes no object of these fields");
    if (call->output_count > static_cast<uint32_t>(instance->outputCount()))
        return refuse(call, "has fewer outputs than the node");
    const std::vector<foreign::Dims> inputs = allDims(call);
    std::vector<foreign::Type> inputTypes;
    for (uint32_t i = 0; i < call->input_count; i++)
        inputTypes.push_back(foreignType(call->inputs[i]->type));
    for (uint32_t i = 0; i < call->output_count; i++) {
        foreign::Dims dims;
        foreign::Type type;
        const int32_t index = static_cast<int32_t>(i), count = static_cast<int32_t>(inputs.size());
        if (!call->outputs[i]) continue;
        if (!instance->outputDims(index, inputs.data(), count, dims) ||
            !instance->outputType(index, inputTypes.data(), count, type))
            return refuse(call, "has no output of these shapes");
        call->outputs[i]->type = ownType(type);
        call->outputs[i]->rank = static_cast<uint32_t>(dims.count);
        for (int32_t k = 0; k < dims.count; k++)
            call->outputs[i]->shape[k] = dims.d[k];
    }
    return TN_OK;
}

/* Objects of fixed shapes are told one; the batch may differ. */
tn_status acceptNode(tn_call *call) TN_NOEXCEPT {
    const std::unique_ptr<Instance> instance = create(entryOf(call), call->kernel_params);
    if (!instance) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < call->input_count && !instance->takesOtherShapes(); i++) {
        const tn_tensor *min = call->minimum_inputs[i], *max = call->maximum_inputs[i];
        if (min->rank < 2 || min->rank != max->rank ||
            std::memcmp(min->shape + 1, max->shape + 1, (min->rank - 1) * sizeof(int64_t)) != 0)
            return TN_ERROR_UNSUPPORTED;
    }
    return TN_OK;
}

tn_status countTactics(tn_call *call) TN_NOEXCEPT {
    const std::unique_ptr<Instance> instance = create(entryOf(call), call->kernel_params);
    call->tactic_count = instance ? static_cast<uint32_t>(instance->tacticCount()) : 1;
    return TN_OK;
}

tn_status tellTimingKey(tn_call *call, char *text, uint32_t bytes) TN_NOEXCEPT {
    const std::unique_ptr<Instance> instance = create(entryOf(call), call->kernel_params);
    const char *id = instance ? instance->timingId() : nullptr;
    if (!id) return TN_ERROR_UNSUPPORTED;
    std::snprintf(text, bytes, "%s", id);
    return TN_OK;
}

/* What the object takes, found position by position, as it expects to be asked. */
namespace {
class Search {
  public:
    Search(Instance &instance, const tn_call *call, uint32_t wanted)
        : instance(instance), inputCount(static_cast<int32_t>(call->input_count)),
          outputCount(static_cast<int32_t>(call->output_count)), wanted(wanted) {
        describe(instance, call, tensors, outputs);
        tensors.insert(tensors.end(), outputs.begin(), outputs.end());
    }
    /* True: tensors are those of the combination that is wanted. */
    bool find(size_t position = 0) {
        if (position == tensors.size()) return wanted-- == 0;
        for (int i = 0; i < layoutCount; i++) {
            const bool fits = i == 0 || tensors[position].desc.dims.count >= 3;
            tensors[position].desc.layout = layouts[i].foreign;
            if (fits &&
                instance.takes(static_cast<int32_t>(position), tensors.data(), inputCount,
                               outputCount) &&
                find(position + 1))
                return true;
        }
        return false;
    }
    std::string text() const {
        std::string out;
        for (size_t i = 0; i < tensors.size(); i++) {
            const bool isOutput = i == static_cast<size_t>(inputCount);
            out += i == 0 ? "" : isOutput ? " -> " : ", ";
            out += nameOf(tensors[i].desc.type);
            for (const LayoutPair &pair : layouts)
                if (pair.foreign == tensors[i].desc.layout) out += pair.name;
        }
        return out;
    }

  private:
    Instance &instance;
    int32_t inputCount, outputCount;
    uint32_t wanted;
    std::vector<foreign::DynamicDesc> tensors, outputs;
};
} // namespace

tn_status tellCombination(tn_call *call, uint32_t index, char *text, uint32_t bytes) TN_NOEXCEPT {
    const std::unique_ptr<Instance> instance = create(entryOf(call), call->kernel_params);
    if (!instance) return TN_ERROR_UNSUPPORTED;
    Search search(*instance, call, index);
    if (!search.find()) return TN_ERROR_RANGE;
    const std::string found = search.text();
    if (found.size() >= bytes) return TN_ERROR_RANGE;
    std::memcpy(text, found.c_str(), found.size() + 1);
    return TN_OK;
}
