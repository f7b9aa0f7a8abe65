/* SPDX-License-Identifier: Apache-2.0 */
/* tn_plan, see tenon/builder.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_PLAN_HPP
#define TENON_CPP_PLAN_HPP

#include <tenon/builder.h>
#include <tenon/calibrate.h>
#include <tenon/cpp/build_options.hpp>
#include <tenon/cpp/graph.hpp>
#include <tenon/engine.h>

namespace tenon {

/* The range of an input, for tn_builder_options.profile_inputs: it points at what is given, which
 * must live until the plan is built. The shapes have one rank. */
inline tn_profile_input profile_input(const char *name, const Shape &minimum, const Shape &optimum,
                                      const Shape &maximum) {
    if (minimum.size() != optimum.size() || maximum.size() != optimum.size())
        throw Error(TN_ERROR_ARGUMENT, "the shapes of a profile need one rank");
    tn_profile_input made = options<tn_profile_input>();
    made.name = name;
    made.rank = static_cast<uint32_t>(optimum.size());
    made.minimum = minimum.data();
    made.optimum = optimum.data();
    made.maximum = maximum.data();
    return made;
}
tn_profile_input profile_input(const char *name, Shape &&, Shape &&, Shape &&) = delete;

/* A profile, for tn_builder_options.profiles: it points at the array. */
template <std::size_t count>
tn_profile profile(const tn_profile_input *const (&inputs)[count]) noexcept {
    tn_profile made = options<tn_profile>();
    made.input_count = static_cast<uint32_t>(count);
    made.inputs = inputs;
    return made;
}

class Plan : public Owned<tn_plan, tn_plan_destroy> {
  public:
    using Owned::Owned;
    static Plan build(Graph &graph) { return build(graph, nullptr); }
    static Plan build(Graph &graph, const tn_builder_options &options) {
        return build(graph, &options);
    }
    static Plan build(Graph &graph, const BuildOptions &options) {
        return options.call([&](const tn_builder_options &c) { return build(graph, &c); });
    }
    /* progress(stage, done, count) is told how far the build has come, instead of
     * options.progress. False ends it (TN_ERROR_CANCELLED), and so does what it throws, which is
     * thrown on. */
    template <class Function>
    static Plan build(Graph &graph, const tn_builder_options &options, Function &&progress) {
        detail::Visitor<std::remove_reference_t<Function>> visitor(progress);
        tn_builder_options told = options;
        told.progress = visitor.progress;
        told.progress_user = &visitor;
        tn_plan *built = nullptr;
        const tn_status status = tn_build(graph.get(), &told, &built);
        Plan plan(built);
        visitor.rethrow();
        check(status);
        return plan;
    }
    template <class Function>
    static Plan build(Graph &graph, const BuildOptions &options, Function &&progress) {
        return options.call([&](const tn_builder_options &c) { return build(graph, c, progress); });
    }
    static Plan build_accurate(Graph &graph, const tn_accuracy_options &options) {
        return Plan(detail::made<tn_plan>(
            [&](tn_plan **out) { return tn_build_accurate(graph.get(), &options, out, nullptr); }));
    }
    /* The same with what was measured and decided, as JSON; the runtime is the graph's. */
    static Plan build_accurate(const Runtime &runtime, Graph &graph,
                               const tn_accuracy_options &options, std::string &report) {
        char *json = nullptr;
        Plan plan(detail::made<tn_plan>(
            [&](tn_plan **out) { return tn_build_accurate(graph.get(), &options, out, &json); }));
        report = runtime.take_text(json);
        return plan;
    }
    /* What is in a plan's file, as JSON. */
    static std::string inspect(const Runtime &runtime, std::string_view path) {
        char *json = nullptr;
        check(tn_plan_inspect(runtime.get(), detail::text(path).c_str(), &json));
        return runtime.take_text(json);
    }

    Bytes bytes() const noexcept {
        Bytes all{};
        all.data = tn_plan_bytes(get(), &all.bytes);
        return all;
    }
    void save(std::string_view path) const {
        check(tn_plan_save(get(), detail::text(path).c_str()));
    }
    /* Another plan, with the libraries that this one needs in it (tenon/engine.h). */
    Plan embed_libraries() const {
        return Plan(detail::made<tn_plan>(
            [&](tn_plan **out) { return tn_plan_embed_libraries(get(), out); }));
    }
    const char *report() const noexcept { return tn_plan_report(get()); }

  private:
    static Plan build(Graph &graph, const tn_builder_options *options) {
        return Plan(detail::made<tn_plan>(
            [&](tn_plan **out) { return tn_build(graph.get(), options, out); }));
    }
};

} // namespace tenon

#endif
