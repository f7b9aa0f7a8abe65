/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin interface as other engines have one: abstract classes that grew by inheritance over five
 * generations, objects that configure themselves, serialise themselves and are cloned, and a
 * registry of creators. It stands for those interfaces in a test of tenon/plugin.h: whatever is
 * asked of an object here must be possible behind it (adapter.cpp). Nothing of Tenon is known here.
 * Objects are compiled without run-time types, so `generation()` alone tells them apart.
 */
#ifndef FOREIGN_OBJECTS_FOREIGN_H
#define FOREIGN_OBJECTS_FOREIGN_H

#include <cstddef>
#include <cstdint>

namespace foreign {

enum class Type : int32_t { F32 = 0, F16 = 1, I8 = 2, I32 = 3 };
enum class Layout : int32_t { Linear = 0, Blocks4 = 1, ChannelsLast = 2 };

struct Dims {
    int32_t count;
    int64_t d[8];
};
struct Desc {
    Dims dims;
    Type type;
    Layout layout;
    float scale;
};
/* -1 in desc.dims: it differs between min and max. */
struct DynamicDesc {
    Desc desc;
    Dims min, max;
};

enum class FieldType : int32_t { F32 = 1, I32 = 5, Bytes = 8 };
struct Field {
    const char *name;
    const void *data; /* null in a creator's own list */
    FieldType type;
    int32_t length;
};
struct Fields {
    int32_t count;
    const Field *items;
};

/* Extents of shapes as expressions, for those who do not know them yet. */
class Expression {
  public:
    virtual bool isConstant() const noexcept = 0;
    virtual int64_t value() const noexcept = 0;

  protected:
    ~Expression() = default;
};
enum class Operation : int32_t { Sum, Product, Max, Min, Difference, FloorQuotient, CeilQuotient };
class ExpressionBuilder {
  public:
    virtual const Expression *constant(int64_t value) noexcept = 0;
    virtual const Expression *operation(Operation op, const Expression *a,
                                        const Expression *b) noexcept = 0;

  protected:
    ~ExpressionBuilder() = default;
};
struct SymbolicDims {
    int32_t count;
    const Expression *d[8];
};

/* What an execution context lends: resources that are shared by key, and counted. */
class Resource {
  public:
    virtual Resource *make() noexcept = 0; /* one to be shared, from one on the caller's stack */
    virtual void unmake() noexcept = 0;

  protected:
    ~Resource() = default;
};
class Resources {
  public:
    virtual Resource *acquire(const char *key, Resource *like) noexcept = 0;
    virtual void release(const char *key) noexcept = 0;

  protected:
    ~Resources() = default;
};

enum class Generation : int32_t { V2 = 0, Ext = 1, IOExt = 2, Dynamic = 3 };

/* One type and one layout for all tensors; dims without the batch; freed by destroy() alone. A
 * clone need not be configured. */
class ObjectV2 {
  public:
    virtual Generation generation() const noexcept { return Generation::V2; }
    virtual const char *type() const noexcept = 0;
    virtual int32_t outputCount() const noexcept = 0;
    virtual Dims outputDims(int32_t index, const Dims *inputs, int32_t count) noexcept = 0;
    virtual bool supportsFormat(Type type, Layout layout) const noexcept = 0;
    virtual void configureWithFormat(const Dims *inputs, int32_t inputCount, const Dims *outputs,
                                     int32_t outputCount, Type type, Layout layout,
                                     int32_t maxBatch) noexcept = 0;
    virtual int32_t initialize() noexcept = 0;
    virtual void terminate() noexcept = 0;
    virtual size_t workspaceBytes(int32_t maxBatch) const noexcept = 0;
    virtual int32_t enqueue(int32_t batch, const void *const *inputs, void *const *outputs,
                            void *workspace, void *stream) noexcept = 0;
    virtual size_t serializedBytes() const noexcept = 0;
    virtual void serialize(void *data) const noexcept = 0;
    virtual void destroy() noexcept = 0;
    virtual ObjectV2 *clone() const noexcept = 0;

  protected:
    ~ObjectV2() = default;
};

/* Types of their own for outputs, the batch's broadcasts, a context's resources. */
class ObjectExt : public ObjectV2 {
  public:
    Generation generation() const noexcept override { return Generation::Ext; }
    virtual Type outputType(int32_t index, const Type *inputs, int32_t count) const noexcept = 0;
    virtual bool isBroadcastAcrossBatch(int32_t index, const bool *inputs,
                                        int32_t count) const noexcept = 0;
    virtual void configureExt(const Dims *inputs, int32_t inputCount, const Dims *outputs,
                              int32_t outputCount, const Type *inputTypes, const Type *outputTypes,
                              const bool *inputBroadcasts, const bool *outputBroadcasts,
                              Layout layout, int32_t maxBatch) noexcept = 0;
    virtual void attach(Resources *) noexcept {}
    virtual void detach() noexcept {}
    void configureWithFormat(const Dims *, int32_t, const Dims *, int32_t, Type, Layout,
                             int32_t) noexcept override {}

  protected:
    ~ObjectExt() = default;
};

/* Types and layouts by position, of which those up to the position asked about are valid. */
class ObjectIOExt : public ObjectExt {
  public:
    Generation generation() const noexcept override { return Generation::IOExt; }
    virtual bool supportsCombination(int32_t position, const Desc *tensors, int32_t inputCount,
                                     int32_t outputCount) const noexcept = 0;
    virtual void configureIO(const Desc *inputs, int32_t inputCount, const Desc *outputs,
                             int32_t outputCount) noexcept = 0;
    bool supportsFormat(Type, Layout) const noexcept final { return false; }
    void configureExt(const Dims *, int32_t, const Dims *, int32_t, const Type *, const Type *,
                      const bool *, const bool *, Layout, int32_t) noexcept final {}

  protected:
    ~ObjectIOExt() = default;
};

/* The batch is a dimension like others; shapes are expressions, and known between bounds. */
class ObjectDynamic : public ObjectExt {
  public:
    Generation generation() const noexcept override { return Generation::Dynamic; }
    virtual SymbolicDims outputSymbols(int32_t index, const SymbolicDims *inputs, int32_t count,
                                       ExpressionBuilder &builder) noexcept = 0;
    virtual bool supportsCombination(int32_t position, const Desc *tensors, int32_t inputCount,
                                     int32_t outputCount) noexcept = 0;
    virtual void configureDynamic(const DynamicDesc *inputs, int32_t inputCount,
                                  const DynamicDesc *outputs, int32_t outputCount) noexcept = 0;
    virtual size_t workspaceOf(const Desc *inputs, int32_t inputCount, const Desc *outputs,
                               int32_t outputCount) const noexcept = 0;
    virtual int32_t enqueueShaped(const Desc *inputDescs, const Desc *outputDescs,
                                  const void *const *inputs, void *const *outputs, void *workspace,
                                  void *stream) noexcept = 0;
    Dims outputDims(int32_t, const Dims *, int32_t) noexcept final { return Dims{-1, {}}; }
    bool supportsFormat(Type, Layout) const noexcept final { return false; }
    void configureExt(const Dims *, int32_t, const Dims *, int32_t, const Type *, const Type *,
                      const bool *, const bool *, Layout, int32_t) noexcept final {}
    size_t workspaceBytes(int32_t) const noexcept final { return 0; }
    int32_t enqueue(int32_t, const void *const *, void *const *, void *, void *) noexcept final {
        return 1;
    }

  protected:
    ~ObjectDynamic() = default;
};

class Creator {
  public:
    virtual const char *name() const noexcept = 0; /* need not be the objects' type() */
    virtual const char *space() const noexcept = 0;
    virtual const Fields *fields() noexcept = 0; /* may be null: made from bytes alone */
    virtual ObjectV2 *create(const char *node, const Fields *fields) noexcept = 0;
    virtual ObjectV2 *deserialize(const char *node, const void *data, size_t bytes) noexcept = 0;

  protected:
    ~Creator() = default;
};

/* --- V3: three capabilities, a status from every call, fields in place of bytes --- */

enum class Capability : int32_t { Core, Build, Run };
class CoreV3 {
  public:
    virtual const char *name() const noexcept = 0;

  protected:
    ~CoreV3() = default;
};
class BuildV3 {
  public:
    virtual int32_t outputCount() const noexcept = 0;
    virtual int32_t outputTypes(Type *outputs, int32_t outputCount, const Type *inputs,
                                int32_t inputCount) const noexcept = 0;
    virtual int32_t outputSymbols(const SymbolicDims *inputs, int32_t inputCount,
                                  SymbolicDims *outputs, int32_t outputCount,
                                  ExpressionBuilder &builder) noexcept = 0;
    virtual bool supportsCombination(int32_t position, const DynamicDesc *tensors,
                                     int32_t inputCount, int32_t outputCount) noexcept = 0;
    virtual int32_t configure(const DynamicDesc *inputs, int32_t inputCount,
                              const DynamicDesc *outputs, int32_t outputCount) noexcept = 0;
    virtual size_t workspaceBytes(const DynamicDesc *, int32_t, const DynamicDesc *,
                                  int32_t) const noexcept {
        return 0;
    }
    virtual int32_t tacticCount() noexcept { return 0; }
    virtual int32_t validTactics(int32_t *, int32_t) noexcept { return 0; } /* above 0 each */
    virtual const char *timingCacheId() noexcept { return nullptr; }
    virtual int32_t combinationLimit() noexcept { return 100; }

  protected:
    ~BuildV3() = default;
};
class RunV3;
class ObjectV3 {
  public:
    virtual ~ObjectV3() = default;
    virtual CoreV3 *core() noexcept { return nullptr; }
    virtual BuildV3 *build() noexcept { return nullptr; }
    virtual RunV3 *run() noexcept { return nullptr; }
    virtual ObjectV3 *clone() noexcept = 0;
};
class RunV3 {
  public:
    virtual int32_t setTactic(int32_t) noexcept { return 0; }
    virtual int32_t onShapeChange(const Desc *inputs, int32_t inputCount, const Desc *outputs,
                                  int32_t outputCount) noexcept = 0;
    virtual int32_t enqueue(const Desc *inputDescs, const Desc *outputDescs,
                            const void *const *inputs, void *const *outputs, void *workspace,
                            void *stream) noexcept = 0;
    virtual ObjectV3 *attach(Resources *resources) noexcept = 0; /* another object */
    virtual const Fields *fieldsToSerialize() noexcept = 0;

  protected:
    ~RunV3() = default;
};
enum class Phase : int32_t { Build, Run };
class CreatorV3 {
  public:
    virtual const char *name() const noexcept = 0;
    virtual const char *space() const noexcept = 0;
    virtual const Fields *fields() noexcept = 0;
    virtual ObjectV3 *create(const char *node, const Fields *fields, Phase phase) noexcept = 0;

  protected:
    ~CreatorV3() = default;
};

/* --- the registry: filled by static constructors, read when the library is loaded --- */

struct Registered {
    Creator *creator;     /* or */
    CreatorV3 *creatorV3; /* one of them */
};
/* False: the name is taken, in its space. */
bool add(Creator *creator) noexcept;
bool add(CreatorV3 *creator) noexcept;
int32_t registered(const Registered **out_items) noexcept;

} // namespace foreign

#endif
