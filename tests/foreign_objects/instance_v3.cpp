/* SPDX-License-Identifier: Apache-2.0 */
/* The third generation as an instance, and expressions; see instance.h. */
#include "instance_private.h"

#include <cstring>

using namespace foreign;

const Expression *Expressions::constant(int64_t value) noexcept {
    return &numbers.emplace_back(value);
}

static int64_t quotient(int64_t a, int64_t b, bool isUp) {
    if (b == 0) return 0;
    const int64_t down = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
    return isUp && a % b != 0 ? down + 1 : down;
}

const Expression *Expressions::operation(Operation op, const Expression *left,
                                         const Expression *right) noexcept {
    const int64_t a = left->value(), b = right->value();
    switch (op) {
    case Operation::Sum:
        return constant(a + b);
    case Operation::Product:
        return constant(a * b);
    case Operation::Max:
        return constant(a > b ? a : b);
    case Operation::Min:
        return constant(a < b ? a : b);
    case Operation::Difference:
        return constant(a - b);
    case Operation::FloorQuotient:
        return constant(quotient(a, b, false));
    default:
        return constant(quotient(a, b, true));
    }
}

SymbolicDims Expressions::of(const Dims &dims) noexcept {
    SymbolicDims out = {dims.count, {}};
    for (int32_t i = 0; i < dims.count; i++)
        out.d[i] = constant(dims.d[i]);
    return out;
}

bool Expressions::read(const SymbolicDims &symbols, Dims &out) noexcept {
    out = {symbols.count, {}};
    for (int32_t i = 0; i < symbols.count; i++) {
        if (!symbols.d[i] || symbols.d[i]->value() < 0) return false;
        out.d[i] = symbols.d[i]->value();
    }
    return symbols.count >= 0 && symbols.count <= 8;
}

namespace {

constexpr int32_t mostTensors = 16;

/* A field as bytes: its name, type, length and data, each length before what it counts. */
void put(std::vector<char> &out, const void *data, size_t bytes) {
    out.insert(out.end(), static_cast<const char *>(data), static_cast<const char *>(data) + bytes);
}

size_t bytesOf(const Field &field) {
    return static_cast<size_t>(field.length) * (field.type == FieldType::Bytes ? 1 : 4);
}

class InstanceV3 final : public Instance {
  public:
    explicit InstanceV3(ObjectV3 *object) : object(object) {}

    int32_t outputCount() noexcept override { return object->build()->outputCount(); }
    bool outputDims(int32_t index, const Dims *inputs, int32_t count, Dims &out) noexcept override {
        Expressions expressions;
        SymbolicDims in[mostTensors], made[mostTensors];
        for (int32_t i = 0; i < count; i++)
            in[i] = expressions.of(inputs[i]);
        return object->build()->outputSymbols(in, count, made, outputCount(), expressions) == 0 &&
               Expressions::read(made[index], out);
    }
    bool outputType(int32_t index, const Type *inputs, int32_t count, Type &out) noexcept override {
        Type types[mostTensors];
        if (object->build()->outputTypes(types, outputCount(), inputs, count) != 0) return false;
        out = types[index];
        return true;
    }
    bool takesOtherShapes() const noexcept override { return true; }
    bool takes(int32_t position, const DynamicDesc *tensors, int32_t inputCount,
               int32_t outputCount) noexcept override {
        return object->build()->supportsCombination(position, tensors, inputCount, outputCount);
    }
    bool configure(const std::vector<DynamicDesc> &inputs,
                   const std::vector<DynamicDesc> &outputs) noexcept override {
        return object->build()->configure(inputs.data(), static_cast<int32_t>(inputs.size()),
                                          outputs.data(),
                                          static_cast<int32_t>(outputs.size())) == 0;
    }
    void save(std::vector<char> &out) noexcept override {
        const Fields *fields = object->run()->fieldsToSerialize();
        for (int32_t i = 0; i < fields->count; i++) {
            const Field &field = fields->items[i];
            const int32_t name = static_cast<int32_t>(std::strlen(field.name)) + 1;
            put(out, &name, sizeof(name));
            put(out, field.name, static_cast<size_t>(name));
            put(out, &field.type, sizeof(field.type));
            put(out, &field.length, sizeof(field.length));
            put(out, field.data, bytesOf(field));
        }
    }
    int32_t tacticCount() noexcept override {
        const int32_t count = object->build()->tacticCount();
        return count > 0 ? count : 1;
    }
    const char *timingId() noexcept override { return object->build()->timingCacheId(); }

    bool start(Resources *resources, uint32_t tactic) noexcept override {
        int32_t tactics[64] = {};
        const int32_t count = object->build()->tacticCount();
        if (count > 64 || (count > 0 && object->build()->validTactics(tactics, count) != 0))
            return false;
        if (count > 0 && object->run()->setTactic(tactics[tactic]) != 0) return false;
        attached.reset(object->run()->attach(resources));
        return attached != nullptr;
    }
    bool reshape(const std::vector<Desc> &inputs, const std::vector<Desc> &outputs,
                 size_t &out_workspace_bytes) noexcept override {
        out_workspace_bytes = 0;
        return attached->run()->onShapeChange(inputs.data(), static_cast<int32_t>(inputs.size()),
                                              outputs.data(),
                                              static_cast<int32_t>(outputs.size())) == 0;
    }
    bool enqueue(const std::vector<Desc> &inputDescs, const std::vector<Desc> &outputDescs,
                 const void *const *inputs, void *const *outputs, void *workspace,
                 void *stream) noexcept override {
        return attached->run()->enqueue(inputDescs.data(), outputDescs.data(), inputs, outputs,
                                        workspace, stream) == 0;
    }

  private:
    std::unique_ptr<ObjectV3> object, attached;
};

/* Reads one field, whose data stay in the bytes; false: they are no fields. */
bool takeField(const char *&at, size_t &left, Field &out) {
    int32_t name = 0;
    if (left < sizeof(name)) return false;
    std::memcpy(&name, at, sizeof(name));
    const size_t head = sizeof(name) + static_cast<size_t>(name) + sizeof(out.type) + 4;
    if (name < 1 || name > 256 || left < head || at[sizeof(name) + name - 1] != 0) return false;
    out.name = at + sizeof(name);
    std::memcpy(&out.type, out.name + name, sizeof(out.type));
    std::memcpy(&out.length, out.name + name + sizeof(out.type), sizeof(out.length));
    if (out.length < 0 || left - head < bytesOf(out)) return false;
    out.data = at + head;
    at += head + bytesOf(out);
    left -= head + bytesOf(out);
    return true;
}

} // namespace

std::unique_ptr<Instance> makeInstanceV3(CreatorV3 &creator, const Fields &fields, Phase phase) {
    ObjectV3 *object = creator.create("node", &fields, phase);
    if (!object) return nullptr;
    if (object->build() && object->run()) return std::make_unique<InstanceV3>(object);
    delete object;
    return nullptr;
}

std::unique_ptr<Instance> loadInstanceV3(CreatorV3 &creator, const void *bytes, size_t count) {
    std::vector<Field> items;
    const char *at = static_cast<const char *>(bytes);
    while (count > 0) {
        Field field = {};
        if (!takeField(at, count, field)) return nullptr;
        items.push_back(field);
    }
    const Fields fields = {static_cast<int32_t>(items.size()), items.data()};
    return makeInstanceV3(creator, fields, Phase::Run);
}
