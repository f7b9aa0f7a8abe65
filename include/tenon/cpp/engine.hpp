/* SPDX-License-Identifier: Apache-2.0 */
/* tn_engine, see tenon/engine.h, tenon/profiles.h, tenon/border.h,
 * tenon/context_memory.h, tenon/refit.h and tenon/describe.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_ENGINE_HPP
#define TENON_CPP_ENGINE_HPP

#include <tenon/context_memory.h>
#include <tenon/cpp/plan.hpp>
#include <tenon/cpp/threads.hpp>
#include <tenon/profiles.h>
#include <tenon/refit.h>

namespace tenon {

/* Bytes of a context for intermediate tensors and workspaces. */
struct ContextBytes {
    uint64_t host, device;
};

namespace detail {

/* What owns borrowed memory: called, where it can be, and destroyed when the memory is free. What
 * it throws ends the program, as that of a destructor does. */
template <class Owner> void release_borrowed(void *user) noexcept {
    const std::unique_ptr<Owner> owner(static_cast<Owner *>(user));
    if constexpr (std::is_invocable_v<Owner &>) (*owner)();
}

} // namespace detail

class Engine : public Shared<tn_engine, tn_engine_retain, tn_engine_release> {
  public:
    using Shared::Shared;
    static Engine load(const Runtime &runtime, std::string_view path) {
        return load(runtime, path, nullptr);
    }
    static Engine load(const Runtime &runtime, std::string_view path,
                       const tn_engine_options &options) {
        return load(runtime, path, &options);
    }
    static Engine load(const Runtime &runtime, const Plan &plan) {
        return load_plan(runtime, plan, nullptr);
    }
    static Engine load(const Runtime &runtime, const Plan &plan, const tn_engine_options &options) {
        return load_plan(runtime, plan, &options);
    }
    /* `options` may be null. */
    static Engine load_bytes(const Runtime &runtime, Bytes plan,
                             const tn_engine_options *options = nullptr) {
        return Engine(detail::made<tn_engine>([&](tn_engine **out) {
            return tn_engine_load_bytes(runtime.get(), plan.data, plan.bytes, options, out);
        }));
    }
    /* On memory that is not copied: aligned to 64 bytes, unchanged until `release` is called. */
    static Engine load_borrowed(const Runtime &runtime, Bytes plan,
                                const tn_engine_options *options, void (*release)(void *user),
                                void *user) {
        return Engine(detail::made<tn_engine>([&](tn_engine **out) {
            return tn_engine_load_borrowed(runtime.get(), plan.data, plan.bytes, options, release,
                                           user, out);
        }));
    }
    /* The same with what owns the memory: a smart pointer, a container, or a callable, owner(). It
     * is moved (or copied) into the engine; when that and its contexts are gone it is called, where
     * it can be, and destroyed, on whichever thread that is. It must not throw, nor call Tenon.
     * Where loading throws it is destroyed, and not called. */
    template <class Owner>
    static Engine load_borrowed(const Runtime &runtime, Bytes plan, Owner &&owner,
                                const tn_engine_options *options = nullptr) {
        using Kept = std::decay_t<Owner>;
        std::unique_ptr<Kept> kept = std::make_unique<Kept>(std::forward<Owner>(owner));
        Engine loaded =
            load_borrowed(runtime, plan, options, detail::release_borrowed<Kept>, kept.get());
        static_cast<void>(kept.release());
        return loaded;
    }
    /* What loading a plan's file would find, as JSON. `options` may be null. */
    static std::string explain(const Runtime &runtime, std::string_view path,
                               const tn_engine_options *options = nullptr) {
        char *json = nullptr;
        check(tn_plan_explain(runtime.get(), detail::text(path).c_str(), options, &json));
        return runtime.take_text(json);
    }

    uint32_t input_count() const noexcept { return tn_engine_input_count(get()); }
    uint32_t output_count() const noexcept { return tn_engine_output_count(get()); }
    /* Null past the end. */
    const tn_port_info *input(uint32_t index) const noexcept {
        return tn_engine_input(get(), index);
    }
    const tn_port_info *output(uint32_t index) const noexcept {
        return tn_engine_output(get(), index);
    }
    Items<const tn_port_info &> inputs() const noexcept {
        return {get(), input_count(), [](const void *engine, uint64_t index) -> decltype(auto) {
                    return *tn_engine_input(static_cast<const tn_engine *>(engine),
                                            static_cast<uint32_t>(index));
                }};
    }
    Items<const tn_port_info &> outputs() const noexcept {
        return {get(), output_count(), [](const void *engine, uint64_t index) -> decltype(auto) {
                    return *tn_engine_output(static_cast<const tn_engine *>(engine),
                                             static_cast<uint32_t>(index));
                }};
    }
    uint32_t find_input(std::string_view name) const {
        uint32_t index = 0;
        check(tn_engine_find_input(get(), detail::text(name).c_str(), &index));
        return index;
    }
    uint32_t find_output(std::string_view name) const {
        uint32_t index = 0;
        check(tn_engine_find_output(get(), detail::text(name).c_str(), &index));
        return index;
    }
    /* Null past the end, and for an input that accepts any shape. */
    const tn_profile_input *profile(uint32_t input) const noexcept {
        return tn_engine_profile(get(), input);
    }
    uint32_t profile_count() const noexcept { return tn_engine_profile_count(get()); }
    const tn_profile_input *profile_of(uint32_t profile, uint32_t input) const noexcept {
        return tn_engine_profile_of(get(), profile, input);
    }

    tn_storage_info input_storage(uint32_t input) const {
        tn_storage_info storage = options<tn_storage_info>();
        check(tn_engine_input_storage(get(), input, &storage));
        return storage;
    }
    tn_storage_info output_storage(uint32_t output) const {
        tn_storage_info storage = options<tn_storage_info>();
        check(tn_engine_output_storage(get(), output, &storage));
        return storage;
    }
    /* At most, at the points of the profile. */
    ContextBytes context_bytes() const {
        ContextBytes bytes{};
        check(tn_engine_context_bytes(get(), &bytes.host, &bytes.device));
        return bytes;
    }
    /* It points to what has the lifetime of the engine. */
    tn_model_info model_info() const {
        tn_model_info info = options<tn_model_info>();
        check(tn_engine_get_model_info(get(), &info));
        return info;
    }
    /* Those that Refit can give new data; they have the lifetime of the engine. */
    Items<const tn_port_info &> refit_constants() const noexcept {
        return {get(), tn_engine_refit_count(get()),
                [](const void *engine, uint64_t index) -> decltype(auto) {
                    return *tn_engine_refit_constant(static_cast<const tn_engine *>(engine),
                                                     static_cast<uint32_t>(index));
                }};
    }
    const char *report() const noexcept { return tn_engine_report(get()); }

  private:
    static Engine load_plan(const Runtime &runtime, const Plan &plan,
                            const tn_engine_options *options) {
        return Engine(detail::made<tn_engine>([&](tn_engine **out) {
            return tn_engine_load_plan(runtime.get(), plan.get(), options, out);
        }));
    }
    static Engine load(const Runtime &runtime, std::string_view path,
                       const tn_engine_options *options) {
        return Engine(detail::made<tn_engine>([&](tn_engine **out) {
            return tn_engine_load(runtime.get(), detail::text(path).c_str(), options, out);
        }));
    }
};

} // namespace tenon

#endif
