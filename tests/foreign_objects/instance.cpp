/* SPDX-License-Identifier: Apache-2.0 */
/* The generations up to the dynamic one as instances; see instance.h. */
#include "instance_private.h"

#include <cstring>

using namespace foreign;

namespace {

constexpr int32_t mostTensors = 16;

Dims withoutBatch(const Dims &dims) {
    Dims out = {dims.count - 1, {}};
    for (int32_t i = 1; i < dims.count; i++)
        out.d[i - 1] = dims.d[i];
    return out;
}

/* --- V2 and Ext: one type and one layout, which is never a blocked one --- */

class InstanceV2 : public Instance {
  public:
    explicit InstanceV2(ObjectV2 *object) : object(object) {}
    ~InstanceV2() override {
        if (isAttached) ext()->detach();
        if (isInitialized) object->terminate();
        object->destroy();
    }

    int32_t outputCount() noexcept override { return object->outputCount(); }
    bool outputDims(int32_t index, const Dims *inputs, int32_t count, Dims &out) noexcept override {
        Dims images[mostTensors];
        for (int32_t i = 0; i < count; i++)
            images[i] = withoutBatch(inputs[i]);
        const Dims image = object->outputDims(index, images, count);
        out = {image.count + 1, {inputs[0].d[0]}};
        for (int32_t i = 0; i < image.count; i++)
            out.d[i + 1] = image.d[i];
        return image.count >= 0 && image.count < 8;
    }
    bool outputType(int32_t index, const Type *inputs, int32_t count, Type &out) noexcept override {
        out = ext() ? ext()->outputType(index, inputs, count) : inputs[0];
        return true;
    }
    bool takesOtherShapes() const noexcept override { return false; }
    bool takes(int32_t position, const DynamicDesc *tensors, int32_t, int32_t) noexcept override {
        const Desc &desc = tensors[position].desc;
        return desc.layout == tensors[0].desc.layout && desc.type == tensors[0].desc.type &&
               desc.layout != Layout::Blocks4 && object->supportsFormat(desc.type, desc.layout);
    }
    bool configure(const std::vector<DynamicDesc> &inputs,
                   const std::vector<DynamicDesc> &outputs) noexcept override {
        configureObject(inputs, outputs);
        return initialize();
    }
    /* Asked for on the very object that was configured, before it is terminated. */
    void save(std::vector<char> &out) noexcept override {
        out.resize(object->serializedBytes());
        object->serialize(out.data());
    }
    bool start(Resources *resources, uint32_t) noexcept override {
        if (!initialize()) return false;
        if (ext()) ext()->attach(resources);
        isAttached = ext() != nullptr;
        return true;
    }
    bool reshape(const std::vector<Desc> &inputs, const std::vector<Desc> &,
                 size_t &out_workspace_bytes) noexcept override {
        out_workspace_bytes = object->workspaceBytes(static_cast<int32_t>(inputs[0].dims.d[0]));
        return true;
    }
    bool enqueue(const std::vector<Desc> &inputDescs, const std::vector<Desc> &,
                 const void *const *inputs, void *const *outputs, void *workspace,
                 void *stream) noexcept override {
        const int32_t batch = static_cast<int32_t>(inputDescs[0].dims.d[0]);
        return object->enqueue(batch, inputs, outputs, workspace, stream) == 0;
    }

  protected:
    ObjectExt *ext() noexcept {
        return object->generation() == Generation::V2 ? nullptr : static_cast<ObjectExt *>(object);
    }
    virtual void configureObject(const std::vector<DynamicDesc> &inputs,
                                 const std::vector<DynamicDesc> &outputs) noexcept {
        Dims in[mostTensors], out[mostTensors];
        Type inTypes[mostTensors], outTypes[mostTensors];
        const bool broadcasts[mostTensors] = {};
        for (size_t i = 0; i < inputs.size(); i++) {
            in[i] = withoutBatch(inputs[i].max);
            inTypes[i] = inputs[i].desc.type;
        }
        for (size_t i = 0; i < outputs.size(); i++) {
            out[i] = withoutBatch(outputs[i].max);
            outTypes[i] = outputs[i].desc.type;
        }
        const int32_t inCount = static_cast<int32_t>(inputs.size());
        const int32_t outCount = static_cast<int32_t>(outputs.size());
        const int32_t maxBatch = static_cast<int32_t>(inputs[0].max.d[0]);
        const Layout layout = inputs[0].desc.layout;
        if (ext())
            ext()->configureExt(in, inCount, out, outCount, inTypes, outTypes, broadcasts,
                                broadcasts, layout, maxBatch);
        else
            object->configureWithFormat(in, inCount, out, outCount, inTypes[0], layout, maxBatch);
    }
    bool initialize() noexcept {
        if (!isInitialized) isInitialized = object->initialize() == 0;
        return isInitialized;
    }

    ObjectV2 *object;
    bool isInitialized = false, isAttached = false;
};

/* --- IOExt: by position --- */

class InstanceIOExt : public InstanceV2 {
  public:
    using InstanceV2::InstanceV2;
    bool takes(int32_t position, const DynamicDesc *tensors, int32_t inputCount,
               int32_t outputCount) noexcept override {
        Desc descs[2 * mostTensors];
        for (int32_t i = 0; i <= position; i++)
            descs[i] = image(tensors[i].desc);
        return io()->supportsCombination(position, descs, inputCount, outputCount);
    }

  protected:
    ObjectIOExt *io() noexcept { return static_cast<ObjectIOExt *>(object); }
    static Desc image(const Desc &desc) {
        Desc out = desc;
        out.dims = withoutBatch(desc.dims);
        return out;
    }
    void configureObject(const std::vector<DynamicDesc> &inputs,
                         const std::vector<DynamicDesc> &outputs) noexcept override {
        Desc in[mostTensors], out[mostTensors];
        for (size_t i = 0; i < inputs.size(); i++)
            in[i] = image(inputs[i].desc);
        for (size_t i = 0; i < outputs.size(); i++)
            out[i] = image(outputs[i].desc);
        io()->configureIO(in, static_cast<int32_t>(inputs.size()), out,
                          static_cast<int32_t>(outputs.size()));
    }
};

/* --- Dynamic: symbolic shapes, bounds, and configured again for each shape --- */

DynamicDesc fixed(const Desc &desc) {
    return {desc, desc.dims, desc.dims};
}

class InstanceDynamic : public InstanceV2 {
  public:
    using InstanceV2::InstanceV2;
    bool takesOtherShapes() const noexcept override { return true; }
    bool outputDims(int32_t index, const Dims *inputs, int32_t count, Dims &out) noexcept override {
        Expressions expressions;
        SymbolicDims symbols[mostTensors];
        for (int32_t i = 0; i < count; i++)
            symbols[i] = expressions.of(inputs[i]);
        return Expressions::read(dynamic()->outputSymbols(index, symbols, count, expressions), out);
    }
    bool takes(int32_t position, const DynamicDesc *tensors, int32_t inputCount,
               int32_t outputCount) noexcept override {
        Desc descs[2 * mostTensors];
        for (int32_t i = 0; i <= position; i++)
            descs[i] = tensors[i].desc;
        return dynamic()->supportsCombination(position, descs, inputCount, outputCount);
    }
    bool reshape(const std::vector<Desc> &inputs, const std::vector<Desc> &outputs,
                 size_t &out_workspace_bytes) noexcept override {
        std::vector<DynamicDesc> in, out;
        for (const Desc &desc : inputs)
            in.push_back(fixed(desc));
        for (const Desc &desc : outputs)
            out.push_back(fixed(desc));
        configureObject(in, out);
        out_workspace_bytes =
            dynamic()->workspaceOf(inputs.data(), static_cast<int32_t>(inputs.size()),
                                   outputs.data(), static_cast<int32_t>(outputs.size()));
        return true;
    }
    bool enqueue(const std::vector<Desc> &inputDescs, const std::vector<Desc> &outputDescs,
                 const void *const *inputs, void *const *outputs, void *workspace,
                 void *stream) noexcept override {
        return dynamic()->enqueueShaped(inputDescs.data(), outputDescs.data(), inputs, outputs,
                                        workspace, stream) == 0;
    }

  protected:
    ObjectDynamic *dynamic() noexcept { return static_cast<ObjectDynamic *>(object); }
    void configureObject(const std::vector<DynamicDesc> &inputs,
                         const std::vector<DynamicDesc> &outputs) noexcept override {
        dynamic()->configureDynamic(inputs.data(), static_cast<int32_t>(inputs.size()),
                                    outputs.data(), static_cast<int32_t>(outputs.size()));
    }
};

std::unique_ptr<Instance> wrap(ObjectV2 *object) {
    if (!object) return nullptr;
    switch (object->generation()) {
    case Generation::Dynamic:
        return std::make_unique<InstanceDynamic>(object);
    case Generation::IOExt:
        return std::make_unique<InstanceIOExt>(object);
    default:
        return std::make_unique<InstanceV2>(object);
    }
}

} // namespace

std::unique_ptr<Instance> makeInstance(const Registered &creator, const Fields &fields) {
    if (creator.creatorV3) return makeInstanceV3(*creator.creatorV3, fields, Phase::Build);
    return wrap(creator.creator->create("node", &fields));
}

std::unique_ptr<Instance> loadInstance(const Registered &creator, const void *bytes, size_t count) {
    if (creator.creatorV3) return loadInstanceV3(*creator.creatorV3, bytes, count);
    return wrap(creator.creator->deserialize("node", bytes, count));
}
