/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the generations whose shapes are fixed when they are configured, with the habits that
 * such objects have. What a host must not do ends the process.
 */
#include "foreign.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

using namespace foreign;

void require(bool condition) {
    if (!condition) std::abort();
}

int64_t countOf(const Dims &dims) {
    int64_t count = 1;
    for (int32_t i = 0; i < dims.count; i++)
        count *= dims.d[i];
    return count;
}

template <typename Value> bool take(const char *&at, size_t &left, Value &out) {
    if (left < sizeof(out)) return false;
    std::memcpy(&out, at, sizeof(out));
    at += sizeof(out);
    left -= sizeof(out);
    return true;
}

template <typename Value> void put(char *&at, const Value &value) {
    std::memcpy(at, &value, sizeof(value));
    at += sizeof(value);
}

/* --- V2: y = min(max(x, low), high). Its clone forgets the shape, its bytes grow by it, its
 * constants are there between initialize and terminate, which come once. --- */

class Clamp final : public ObjectV2 {
  public:
    Clamp(float low, float high, int64_t elements) : low(low), high(high), elements(elements) {}

    const char *type() const noexcept override { return "Clamp"; }
    int32_t outputCount() const noexcept override { return 1; }
    Dims outputDims(int32_t, const Dims *inputs, int32_t) noexcept override { return inputs[0]; }
    bool supportsFormat(Type type, Layout layout) const noexcept override {
        return type == Type::F32 && layout == Layout::Linear;
    }
    void configureWithFormat(const Dims *inputs, int32_t, const Dims *, int32_t, Type, Layout,
                             int32_t) noexcept override {
        require(!bounds);
        elements = countOf(inputs[0]);
    }
    int32_t initialize() noexcept override {
        require(!bounds && !wasTerminated);
        bounds = static_cast<float *>(std::malloc(2 * sizeof(float)));
        if (!bounds) return 1;
        bounds[0] = low;
        bounds[1] = high;
        return 0;
    }
    void terminate() noexcept override {
        std::free(bounds);
        bounds = nullptr;
        wasTerminated = true;
    }
    size_t workspaceBytes(int32_t) const noexcept override { return 0; }
    int32_t enqueue(int32_t batch, const void *const *inputs, void *const *outputs, void *,
                    void *) noexcept override {
        if (!bounds || elements < 0) return -1; /* not initialised, or a clone's */
        const float *x = static_cast<const float *>(inputs[0]);
        float *y = static_cast<float *>(outputs[0]);
        for (int64_t i = 0; i < batch * elements; i++)
            y[i] = x[i] < bounds[0] ? bounds[0] : x[i] > bounds[1] ? bounds[1] : x[i];
        return 0;
    }
    size_t serializedBytes() const noexcept override {
        return elements < 0 ? 2 * sizeof(float) : 2 * sizeof(float) + sizeof(elements);
    }
    void serialize(void *data) const noexcept override {
        char *at = static_cast<char *>(data);
        require(bounds); /* the constants are gone after terminate */
        put(at, bounds[0]);
        put(at, bounds[1]);
        if (elements >= 0) put(at, elements);
    }
    void destroy() noexcept override {
        require(!bounds);
        delete this;
    }
    ObjectV2 *clone() const noexcept override { return new Clamp(low, high, -1); }

  private:
    float low, high;
    int64_t elements; /* of an image; -1: not configured */
    float *bounds = nullptr;
    bool wasTerminated = false;
};

float floatOf(const Fields *fields, const char *name, float otherwise) {
    for (int32_t i = 0; fields && i < fields->count; i++)
        if (std::strcmp(fields->items[i].name, name) == 0 && fields->items[i].data)
            std::memcpy(&otherwise, fields->items[i].data, sizeof(otherwise));
    return otherwise;
}

/* Its name is not the objects' type. */
class ClampCreator final : public Creator {
  public:
    ClampCreator() { add(this); }
    const char *name() const noexcept override { return "Clamp_FX"; }
    const char *space() const noexcept override { return ""; }
    const Fields *fields() noexcept override { return &list; }
    ObjectV2 *create(const char *, const Fields *given) noexcept override {
        return new Clamp(floatOf(given, "low", -1), floatOf(given, "high", 1), -1);
    }
    ObjectV2 *deserialize(const char *, const void *data, size_t bytes) noexcept override {
        const char *at = static_cast<const char *>(data);
        float low, high;
        int64_t elements = -1;
        if (!take(at, bytes, low) || !take(at, bytes, high)) return nullptr;
        take(at, bytes, elements);
        return new Clamp(low, high, elements);
    }

  private:
    const Field items[2] = {{"low", nullptr, FieldType::F32, 1},
                            {"high", nullptr, FieldType::F32, 1}};
    const Fields list = {2, items};
} clampCreator;

/* --- Ext: y = gain * x, made from bytes alone. One object is for one thread; it needs a table that
 * all share, from attach to detach. --- */

class Table final : public Resource {
  public:
    Resource *make() noexcept override { return new Table; }
    void unmake() noexcept override { delete this; }
    const float one = 1;
};

class Gain final : public ObjectExt {
  public:
    explicit Gain(float gain, int64_t elements) : gain(gain), elements(elements) {}

    const char *type() const noexcept override { return "Gain"; }
    int32_t outputCount() const noexcept override { return 1; }
    Dims outputDims(int32_t, const Dims *inputs, int32_t) noexcept override { return inputs[0]; }
    /* Every layout, it says. */
    bool supportsFormat(Type type, Layout) const noexcept override { return type == Type::F32; }
    Type outputType(int32_t, const Type *inputs, int32_t) const noexcept override {
        return inputs[0];
    }
    bool isBroadcastAcrossBatch(int32_t, const bool *, int32_t) const noexcept override {
        return false;
    }
    void configureExt(const Dims *inputs, int32_t, const Dims *, int32_t, const Type *,
                      const Type *, const bool *, const bool *, Layout, int32_t) noexcept override {
        elements = countOf(inputs[0]);
    }
    int32_t initialize() noexcept override { return 0; }
    void terminate() noexcept override { require(!table); }
    size_t workspaceBytes(int32_t maxBatch) const noexcept override {
        return static_cast<size_t>(maxBatch) * sizeof(float);
    }
    void attach(Resources *resources) noexcept override {
        Table mine;
        lender = resources;
        table = static_cast<Table *>(resources->acquire("gain.table", &mine));
    }
    void detach() noexcept override {
        if (table) lender->release("gain.table");
        table = nullptr;
    }
    int32_t enqueue(int32_t batch, const void *const *inputs, void *const *outputs, void *workspace,
                    void *) noexcept override {
        if (!table || elements < 0 || !workspace || isBusy.exchange(true)) return 1;
        const float *x = static_cast<const float *>(inputs[0]);
        float *y = static_cast<float *>(outputs[0]), *factor = static_cast<float *>(workspace);
        for (int32_t b = 0; b < batch; b++) {
            factor[b] = gain * table->one;
            for (int64_t i = b * elements; i < (b + 1) * elements; i++)
                y[i] = factor[b] * x[i];
        }
        isBusy = false;
        return 0;
    }
    size_t serializedBytes() const noexcept override {
        return elements < 0 ? sizeof(gain) : sizeof(gain) + sizeof(elements);
    }
    void serialize(void *data) const noexcept override {
        char *at = static_cast<char *>(data);
        put(at, gain);
        if (elements >= 0) put(at, elements);
    }
    void destroy() noexcept override {
        require(!table);
        delete this;
    }
    ObjectExt *clone() const noexcept override { return new Gain(gain, elements); }

  private:
    float gain;
    int64_t elements;
    Resources *lender = nullptr;
    Table *table = nullptr;
    std::atomic<bool> isBusy{false};
};

class GainCreator final : public Creator {
  public:
    GainCreator() { add(this); }
    const char *name() const noexcept override { return "Gain"; }
    const char *space() const noexcept override { return "extra"; }
    const Fields *fields() noexcept override { return nullptr; }
    ObjectV2 *create(const char *, const Fields *) noexcept override { return nullptr; }
    ObjectV2 *deserialize(const char *, const void *data, size_t bytes) noexcept override {
        const char *at = static_cast<const char *>(data);
        float gain;
        int64_t elements = -1;
        if (!take(at, bytes, gain)) return nullptr;
        take(at, bytes, elements);
        return new Gain(gain, elements);
    }
} gainCreator;

/* --- IOExt: y = weight * a + (1 - weight) * b, all in one layout, which it finds out when it is
 * configured. --- */

class Blend final : public ObjectIOExt {
  public:
    Blend(float weight, int64_t stored) : weight(weight), stored(stored) {}

    const char *type() const noexcept override { return "Blend"; }
    int32_t outputCount() const noexcept override { return 1; }
    Dims outputDims(int32_t, const Dims *inputs, int32_t) noexcept override { return inputs[0]; }
    Type outputType(int32_t, const Type *, int32_t) const noexcept override { return Type::F32; }
    bool isBroadcastAcrossBatch(int32_t, const bool *, int32_t) const noexcept override {
        return false;
    }
    bool supportsCombination(int32_t position, const Desc *tensors, int32_t,
                             int32_t) const noexcept override {
        return tensors[position].type == Type::F32 && tensors[position].layout == tensors[0].layout;
    }
    void configureIO(const Desc *inputs, int32_t, const Desc *, int32_t) noexcept override {
        Dims dims = inputs[0].dims;
        if (inputs[0].layout == Layout::Blocks4) dims.d[0] = (dims.d[0] + 3) / 4 * 4;
        stored = countOf(dims);
    }
    int32_t initialize() noexcept override { return 0; }
    void terminate() noexcept override {}
    size_t workspaceBytes(int32_t) const noexcept override { return 0; }
    int32_t enqueue(int32_t batch, const void *const *inputs, void *const *outputs, void *,
                    void *) noexcept override {
        if (stored < 0) return 1;
        const float *a = static_cast<const float *>(inputs[0]);
        const float *b = static_cast<const float *>(inputs[1]);
        float *y = static_cast<float *>(outputs[0]);
        for (int64_t i = 0; i < batch * stored; i++)
            y[i] = weight * a[i] + (1 - weight) * b[i];
        return 0;
    }
    size_t serializedBytes() const noexcept override { return sizeof(weight) + sizeof(stored); }
    void serialize(void *data) const noexcept override {
        char *at = static_cast<char *>(data);
        put(at, weight);
        put(at, stored);
    }
    void destroy() noexcept override { delete this; }
    ObjectIOExt *clone() const noexcept override { return new Blend(weight, stored); }

  private:
    float weight;
    int64_t stored; /* elements of an image, padding included; -1: not configured */
};

class BlendCreator final : public Creator {
  public:
    BlendCreator() { add(this); }
    const char *name() const noexcept override { return "Blend"; }
    const char *space() const noexcept override { return ""; }
    const Fields *fields() noexcept override { return &list; }
    ObjectV2 *create(const char *, const Fields *given) noexcept override {
        return new Blend(floatOf(given, "weight", 0.5f), -1);
    }
    ObjectV2 *deserialize(const char *, const void *data, size_t bytes) noexcept override {
        const char *at = static_cast<const char *>(data);
        float weight;
        int64_t stored;
        if (!take(at, bytes, weight) || !take(at, bytes, stored)) return nullptr;
        return new Blend(weight, stored);
    }

  private:
    const Field items[1] = {{"weight", nullptr, FieldType::F32, 1}};
    const Fields list = {1, items};
} blendCreator;

} // namespace
