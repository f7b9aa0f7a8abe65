/* SPDX-License-Identifier: Apache-2.0 */
/* Types, formats, tensors and fields from Tenon's terms to the objects'; see adapter.h. */
#include "adapter.h"

#include <cstring>

namespace {
struct TypePair {
    tn_type own;
    foreign::Type foreign;
};
constexpr TypePair types[] = {{TN_F32, foreign::Type::F32},
                              {TN_F16, foreign::Type::F16},
                              {TN_I8, foreign::Type::I8},
                              {TN_I32, foreign::Type::I32}};
} // namespace

foreign::Type foreignType(tn_type own) {
    for (const TypePair &pair : types)
        if (pair.own == own) return pair.foreign;
    return foreign::Type::F32;
}
tn_type ownType(foreign::Type other) {
    for (const TypePair &pair : types)
        if (pair.foreign == other) return pair.own;
    return TN_NONE;
}
const char *nameOf(foreign::Type type) {
    constexpr const char *names[] = {"f32", "f16", "i8", "i32"};
    return names[static_cast<int>(type)];
}
static foreign::Layout foreignLayout(tn_format own) {
    for (const LayoutPair &pair : layouts)
        if (pair.own == own) return pair.foreign;
    return foreign::Layout::Linear;
}

foreign::Dims dimsOf(const tn_tensor *tensor) {
    foreign::Dims dims = {static_cast<int32_t>(tensor->rank), {}};
    for (uint32_t i = 0; i < tensor->rank; i++)
        dims.d[i] = tensor->shape[i];
    return dims;
}

foreign::Desc descOf(const tn_tensor *tensor) {
    const tn_quantization *quantization = tensor->quantization;
    const bool isScaled = quantization && quantization->scale_type == TN_F32;
    return {dimsOf(tensor), foreignType(tensor->type), foreignLayout(tensor->format),
            isScaled ? *static_cast<const float *>(quantization->scales) : -1};
}

static std::vector<foreign::Dims> dimsOfAll(const tn_tensor *const *tensors, uint32_t count) {
    std::vector<foreign::Dims> out;
    for (uint32_t i = 0; i < count; i++)
        out.push_back(dimsOf(tensors[i]));
    return out;
}

static foreign::DynamicDesc between(foreign::Desc desc, const foreign::Dims &min,
                                    const foreign::Dims &max) {
    for (int32_t i = 0; i < desc.dims.count; i++)
        if (min.d[i] != max.d[i]) desc.dims.d[i] = -1;
    return {desc, min, max};
}

bool describe(Instance &instance, const tn_call *call, std::vector<foreign::DynamicDesc> &inputs,
              std::vector<foreign::DynamicDesc> &outputs) {
    const std::vector<foreign::Dims> min = dimsOfAll(call->minimum_inputs, call->input_count);
    const std::vector<foreign::Dims> max = dimsOfAll(call->maximum_inputs, call->input_count);
    const int32_t count = static_cast<int32_t>(call->input_count);
    for (uint32_t i = 0; i < call->input_count; i++)
        inputs.push_back(between(descOf(call->inputs[i]), min[i], max[i]));
    for (uint32_t i = 0; i < call->output_count; i++) {
        foreign::Dims low, high;
        const int32_t index = static_cast<int32_t>(i);
        if (!instance.outputDims(index, min.data(), count, low) ||
            !instance.outputDims(index, max.data(), count, high))
            return false;
        outputs.push_back(between(descOf(call->outputs[i]), low, high));
    }
    return true;
}

/* Fields that were given, in the creator's terms; what was not is not passed on. */
static foreign::Fields fieldsOf(const Entry &entry, const void *params,
                                std::vector<foreign::Field> &out) {
    uint64_t present = 0;
    std::memcpy(&present, params, sizeof(present));
    for (size_t i = 0; i < entry.fields.size(); i++) {
        const tn_field &field = entry.fields[i];
        const char *member = static_cast<const char *>(params) + field.offset;
        if (!(present >> i & 1)) continue;
        if (field.type == TN_FIELD_BYTES) {
            tn_bytes bytes;
            std::memcpy(&bytes, member, sizeof(bytes));
            out.push_back({field.name, bytes.items, foreign::FieldType::Bytes,
                           static_cast<int32_t>(bytes.count)});
        } else {
            out.push_back(
                {field.name, member,
                 field.type == TN_FIELD_I32 ? foreign::FieldType::I32 : foreign::FieldType::F32,
                 1});
        }
    }
    return {static_cast<int32_t>(out.size()), out.data()};
}

std::unique_ptr<Instance> create(const Entry &entry, const void *params) {
    std::vector<foreign::Field> items;
    const foreign::Fields fields = fieldsOf(entry, params, items);
    if (entry.creator.creatorV3 || entry.creator.creator->fields())
        return makeInstance(entry.creator, fields);
    return fields.count == 1
               ? loadInstance(entry.creator, items[0].data, static_cast<size_t>(items[0].length))
               : nullptr;
}

tn_status refuse(tn_call *call, const char *what) {
    return call->host->fail(call, TN_ERROR_PLUGIN, "%s %s", entryOf(call).name.c_str(), what);
}
