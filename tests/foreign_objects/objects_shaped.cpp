/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the generations that are told shapes between bounds, with the habits that such objects
 * have. */
#include "foreign.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace foreign;

int64_t countOf(const Dims &dims) {
    int64_t count = 1;
    for (int32_t i = 0; i < dims.count; i++)
        count *= dims.d[i];
    return count;
}

const Field *find(const Fields *fields, const char *name) {
    for (int32_t i = 0; fields && i < fields->count; i++)
        if (std::strcmp(fields->items[i].name, name) == 0 && fields->items[i].data)
            return &fields->items[i];
    return nullptr;
}

/* --- Dynamic: every element `times` times along both spatial axes. It must be configured before it
 * runs, also after it was made from bytes, and again for each shape. --- */

class Enlarge final : public ObjectDynamic {
  public:
    Enlarge(int32_t times, int64_t widest) : times(times), widest(widest) {}

    const char *type() const noexcept override { return "Enlarge"; }
    int32_t outputCount() const noexcept override { return 1; }
    Type outputType(int32_t, const Type *inputs, int32_t) const noexcept override {
        return inputs[0];
    }
    bool isBroadcastAcrossBatch(int32_t, const bool *, int32_t) const noexcept override {
        return false;
    }
    SymbolicDims outputSymbols(int32_t, const SymbolicDims *inputs, int32_t,
                               ExpressionBuilder &builder) noexcept override {
        SymbolicDims output = inputs[0];
        const Expression *factor = builder.constant(times);
        for (int32_t i = 2; i < 4; i++)
            output.d[i] = builder.operation(Operation::Product, inputs[0].d[i], factor);
        return output;
    }
    bool supportsCombination(int32_t position, const Desc *tensors, int32_t,
                             int32_t) noexcept override {
        return tensors[position].type == Type::F32 && tensors[position].layout == Layout::Linear;
    }
    void configureDynamic(const DynamicDesc *, int32_t, const DynamicDesc *outputs,
                          int32_t) noexcept override {
        if (outputs[0].max.d[3] > widest) widest = outputs[0].max.d[3];
        isConfigured = true;
    }
    int32_t initialize() noexcept override { return 0; }
    void terminate() noexcept override {}
    size_t workspaceOf(const Desc *, int32_t, const Desc *outputs,
                       int32_t) const noexcept override {
        return static_cast<size_t>(outputs[0].dims.d[3]) * sizeof(float);
    }
    int32_t enqueueShaped(const Desc *inputDescs, const Desc *outputDescs,
                          const void *const *inputs, void *const *outputs, void *workspace,
                          void *) noexcept override {
        const Dims &from = inputDescs[0].dims, &to = outputDescs[0].dims;
        const float *x = static_cast<const float *>(inputs[0]);
        float *y = static_cast<float *>(outputs[0]), *row = static_cast<float *>(workspace);
        if (!isConfigured || to.d[3] > widest) return 700;
        for (int64_t r = 0; r < from.d[0] * from.d[1] * from.d[2]; r++) {
            for (int64_t i = 0; i < to.d[3]; i++)
                row[i] = x[r * from.d[3] + i / times];
            for (int32_t k = 0; k < times; k++)
                std::memcpy(y + (r * times + k) * to.d[3], row, to.d[3] * sizeof(float));
        }
        return 0;
    }
    size_t serializedBytes() const noexcept override { return sizeof(times) + sizeof(widest); }
    void serialize(void *data) const noexcept override {
        std::memcpy(data, &times, sizeof(times));
        std::memcpy(static_cast<char *>(data) + sizeof(times), &widest, sizeof(widest));
    }
    void destroy() noexcept override { delete this; }
    ObjectDynamic *clone() const noexcept override { return new Enlarge(times, widest); }

  private:
    int32_t times;
    int64_t widest; /* row of the output that it was configured for */
    bool isConfigured = false;
};

class EnlargeCreator final : public Creator {
  public:
    EnlargeCreator() { add(this); }
    const char *name() const noexcept override { return "Enlarge"; }
    const char *space() const noexcept override { return ""; }
    const Fields *fields() noexcept override { return &list; }
    ObjectV2 *create(const char *, const Fields *given) noexcept override {
        int32_t times = 2;
        if (const Field *field = find(given, "times"))
            std::memcpy(&times, field->data, sizeof(times));
        return times > 0 ? new Enlarge(times, 0) : nullptr;
    }
    ObjectV2 *deserialize(const char *, const void *data, size_t bytes) noexcept override {
        int32_t times;
        int64_t widest;
        if (bytes != sizeof(times) + sizeof(widest)) return nullptr;
        std::memcpy(&times, data, sizeof(times));
        std::memcpy(&widest, static_cast<const char *>(data) + sizeof(times), sizeof(widest));
        return times > 0 ? new Enlarge(times, widest) : nullptr;
    }

  private:
    const Field items[1] = {{"times", nullptr, FieldType::I32, 1}};
    const Fields list = {1, items};
} enlargeCreator;

/* --- V3: y = x + offset, by either of two tactics. What it serialises are fields. A context has an
 * object of its own, by attach. --- */

class Shift final : public ObjectV3, CoreV3, BuildV3, RunV3 {
  public:
    Shift(float offset, int32_t rank) : offset(offset), rank(rank) {
        std::snprintf(timingId, sizeof(timingId), "offset %g", static_cast<double>(offset));
    }

    CoreV3 *core() noexcept override { return this; }
    BuildV3 *build() noexcept override { return this; }
    RunV3 *run() noexcept override { return this; }
    ObjectV3 *clone() noexcept override { return new Shift(offset, rank); }
    const char *name() const noexcept override { return "Shift"; }

    int32_t outputCount() const noexcept override { return 1; }
    int32_t outputTypes(Type *outputs, int32_t, const Type *inputs,
                        int32_t) const noexcept override {
        outputs[0] = inputs[0];
        return 0;
    }
    int32_t outputSymbols(const SymbolicDims *inputs, int32_t, SymbolicDims *outputs, int32_t,
                          ExpressionBuilder &) noexcept override {
        outputs[0] = inputs[0];
        return 0;
    }
    bool supportsCombination(int32_t position, const DynamicDesc *tensors, int32_t,
                             int32_t) noexcept override {
        return tensors[position].desc.type == Type::F32 &&
               (tensors[position].desc.layout == Layout::Linear ||
                tensors[position].desc.layout == Layout::ChannelsLast) &&
               tensors[position].desc.layout == tensors[0].desc.layout;
    }
    int32_t configure(const DynamicDesc *inputs, int32_t, const DynamicDesc *,
                      int32_t) noexcept override {
        rank = inputs[0].desc.dims.count;
        return 0;
    }
    int32_t tacticCount() noexcept override { return 2; }
    int32_t validTactics(int32_t *tactics, int32_t count) noexcept override {
        for (int32_t i = 0; i < count; i++)
            tactics[i] = 10 * (i + 1);
        return 0;
    }
    const char *timingCacheId() noexcept override { return timingId; }

    int32_t setTactic(int32_t value) noexcept override {
        tactic = value;
        return value == 10 || value == 20 ? 0 : 1;
    }
    int32_t onShapeChange(const Desc *inputs, int32_t, const Desc *, int32_t) noexcept override {
        elements = countOf(inputs[0].dims);
        return inputs[0].dims.count == rank ? 0 : 1;
    }
    int32_t enqueue(const Desc *, const Desc *, const void *const *inputs, void *const *outputs,
                    void *, void *) noexcept override {
        if (!isAttached || elements < 0 || tactic == 0) return 1;
        const float *x = static_cast<const float *>(inputs[0]);
        float *y = static_cast<float *>(outputs[0]);
        for (int64_t i = 0; i < elements; i++) {
            const int64_t at = tactic == 10 ? i : elements - 1 - i;
            y[at] = x[at] + offset;
        }
        return 0;
    }
    ObjectV3 *attach(Resources *) noexcept override {
        Shift *made = new Shift(offset, rank);
        made->tactic = tactic;
        made->isAttached = true;
        return made;
    }
    const Fields *fieldsToSerialize() noexcept override {
        items[0] = {"offset", &offset, FieldType::F32, 1};
        items[1] = {"rank", &rank, FieldType::I32, 1};
        return &list;
    }

  private:
    float offset;
    int32_t rank; /* that it was configured for; 0: it was not */
    int32_t tactic = 0;
    int64_t elements = -1;
    bool isAttached = false;
    char timingId[32];
    Field items[2] = {};
    const Fields list = {2, items};
};

class ShiftCreator final : public CreatorV3 {
  public:
    ShiftCreator() { add(this); }
    const char *name() const noexcept override { return "Shift"; }
    const char *space() const noexcept override { return ""; }
    const Fields *fields() noexcept override { return &list; }
    ObjectV3 *create(const char *, const Fields *given, Phase phase) noexcept override {
        float offset = 0;
        int32_t rank = 0;
        if (const Field *field = find(given, "offset"))
            std::memcpy(&offset, field->data, sizeof(offset));
        if (const Field *field = find(given, "rank")) std::memcpy(&rank, field->data, sizeof(rank));
        if (phase == Phase::Run && rank == 0) return nullptr; /* never configured */
        return new Shift(offset, rank);
    }

  private:
    const Field items[1] = {{"offset", nullptr, FieldType::F32, 1}};
    const Fields list = {1, items};
} shiftCreator;

} // namespace
