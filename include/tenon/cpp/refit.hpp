/* SPDX-License-Identifier: Apache-2.0 */
/* tn_refit, see tenon/refit.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_REFIT_HPP
#define TENON_CPP_REFIT_HPP

#include <tenon/cpp/engine.hpp>

namespace tenon {

class Refit : public Owned<tn_refit, tn_refit_destroy> {
  public:
    using Owned::Owned;
    /* The engine is held, and does not change. */
    explicit Refit(const Engine &engine)
        : Owned(detail::made<tn_refit>(
              [&](tn_refit **out) { return tn_refit_create(engine.get(), out); })) {}
    /* Of a plan file, for save() alone. */
    static Refit for_plan(const Runtime &runtime, std::string_view path) {
        return Refit(detail::made<tn_refit>([&](tn_refit **out) {
            return tn_refit_create_for_plan(runtime.get(), detail::text(path).c_str(), out);
        }));
    }

    /* What can be refitted; has the lifetime of this. */
    Items<const tn_port_info &> constants() const noexcept {
        return {get(), tn_refit_count(get()),
                [](const void *refit, uint64_t index) -> const tn_port_info & {
                    return *tn_refit_constant(static_cast<const tn_refit *>(refit),
                                              static_cast<uint32_t>(index));
                }};
    }
    /* The data is copied. */
    void set(std::string_view name, tn_type type, uint32_t rank, const int64_t *extents,
             const void *data, uint64_t bytes) {
        check(tn_refit_set(get(), detail::text(name).c_str(), type, rank, extents, data, bytes));
    }
    void set(std::string_view name, tn_type type, const Shape &shape, const void *data,
             uint64_t bytes) {
        set(name, type, static_cast<uint32_t>(shape.size()), shape.data(), data, bytes);
    }
    /* Answers how many constants differ from what the engine or plan has. */
    uint32_t set_all(const Graph &graph) {
        uint32_t count = 0;
        check(tn_refit_set_all(get(), graph.get(), &count));
        return count;
    }
    /* An engine with the data that was set. */
    Engine apply() {
        return Engine(
            detail::made<tn_engine>([&](tn_engine **out) { return tn_refit_apply(get(), out); }));
    }
    void save(std::string_view path) const {
        check(tn_refit_save(get(), detail::text(path).c_str()));
    }
};

} // namespace tenon

#endif
