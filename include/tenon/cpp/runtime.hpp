/* SPDX-License-Identifier: Apache-2.0 */
/* tn_runtime, see tenon/runtime.h, tenon/compile.h and tenon/crash.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_RUNTIME_HPP
#define TENON_CPP_RUNTIME_HPP

#include <tenon/builder.h>
#include <tenon/compile.h>
#include <tenon/cpp/handle.hpp>
#include <tenon/crash.h>
#include <tenon/engine.h>

namespace tenon {

class Runtime : public Shared<tn_runtime, tn_runtime_retain, tn_runtime_release> {
  public:
    using Shared::Shared;
    Runtime() : Shared(create(nullptr)) {}
    explicit Runtime(const tn_runtime_options &options) : Shared(create(&options)) {}

    void load_library(std::string_view path) const {
        check(tn_runtime_load_library(get(), detail::text(path).c_str()));
    }
    void load_library_as(std::string_view path, std::string_view domain) const {
        check(tn_runtime_load_library_as(get(), detail::text(path).c_str(),
                                         detail::text(domain).c_str()));
    }
    /* Those libraries of a plan that the options trust (tenon/engine.h); answers how many. */
    uint32_t load_embedded(std::string_view path, const tn_embedded_options &options) const {
        uint32_t count = 0;
        check(tn_runtime_load_embedded(get(), detail::text(path).c_str(), &options, &count));
        return count;
    }
    uint32_t load_embedded(const void *data, uint64_t bytes,
                           const tn_embedded_options &options) const {
        uint32_t count = 0;
        check(tn_runtime_load_embedded_bytes(get(), data, bytes, &options, &count));
        return count;
    }
    void register_library(tn_library_entry entry) const {
        check(tn_runtime_register_library(get(), entry));
    }
    void add_library(tn_library *library, void (*release)(tn_library *)) const {
        check(tn_runtime_add_library(get(), library, release));
    }
    void unload_library(std::string_view name) const {
        check(tn_runtime_unload_library(get(), detail::text(name).c_str()));
    }
    void load_directory(std::string_view directory) const {
        check(tn_runtime_load_directory(get(), detail::text(directory).c_str()));
    }
    void add_search_path(std::string_view directory) const {
        check(tn_runtime_add_search_path(get(), detail::text(directory).c_str()));
    }
    /* Compiles a library and loads it; answers its file. */
    std::string compile_library(const tn_compile_options &options) const {
        char *path = nullptr;
        check(tn_compile_library(get(), &options, &path));
        return take_text(path);
    }

    /* `function` gets a const tn_library_info &; one that answers false ends the visit. */
    template <class Function> void visit_libraries(Function &&function) const {
        detail::Visitor<std::remove_reference_t<Function>> visitor(function);
        tn_runtime_visit_libraries(get(), visitor.template call<const tn_library_info *>, &visitor);
        visitor.rethrow();
    }
    /* The same with const tn_operator & and const tn_library_info &. */
    template <class Function> void visit_operators(Function &&function) const {
        detail::Visitor<std::remove_reference_t<Function>> visitor(function);
        tn_runtime_visit_operators(
            get(), visitor.template call<const tn_operator *, const tn_library_info *>, &visitor);
        visitor.rethrow();
    }
    template <class Function> void visit_kernels(Function &&function) const {
        detail::Visitor<std::remove_reference_t<Function>> visitor(function);
        tn_runtime_visit_kernels(
            get(), visitor.template call<const tn_kernel *, const tn_library_info *>, &visitor);
        visitor.rethrow();
    }
    template <class Function> void visit_rewrites(Function &&function) const {
        detail::Visitor<std::remove_reference_t<Function>> visitor(function);
        tn_runtime_visit_rewrites(
            get(), visitor.template call<const tn_rewrite *, const tn_library_info *>, &visitor);
        visitor.rethrow();
    }
    template <class Function> void visit_devices(Function &&function) const {
        detail::Visitor<std::remove_reference_t<Function>> visitor(function);
        tn_runtime_visit_devices(get(), visitor.template call<const tn_device_info *>, &visitor);
        visitor.rethrow();
    }
    void find_device(std::string_view name) const {
        check(tn_runtime_find_device(get(), detail::text(name).c_str()));
    }
    const char *cpu_features() const noexcept { return tn_runtime_cpu_features(get()); }

    /* A text that is to be freed by tn_text_free; null: "". For functions that are not here. */
    std::string take_text(char *text) const {
        const std::unique_ptr<char, TextFree> owner(text, TextFree{get()});
        return text ? std::string(text) : std::string();
    }

  private:
    struct TextFree {
        tn_runtime *runtime;
        void operator()(char *text) const noexcept { tn_text_free(runtime, text); }
    };
    static tn_runtime *create(const tn_runtime_options *options) {
        return detail::made<tn_runtime>(
            [&](tn_runtime **out) { return tn_runtime_create(options, out); });
    }
};

/* Throws where the kernel is never offered for the operator's nodes, with the field that does not
 * fit. */
inline void check_kernel_fits(const tn_kernel &kernel, const tn_operator &op) {
    check(tn_kernel_fits(&kernel, &op));
}

/* From now on a crash of this process says what the thread was doing. */
inline void start_crash_report() {
    check(tn_crash_report_start(nullptr));
}
inline void start_crash_report(const tn_crash_report_options &options) {
    check(tn_crash_report_start(&options));
}

} // namespace tenon

#endif
