/* SPDX-License-Identifier: Apache-2.0 */
/* tn_calibration, see tenon/calibration.h and tenon/calibrate.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_CALIBRATION_HPP
#define TENON_CPP_CALIBRATION_HPP

#include <optional>
#include <tenon/calibrate.h>
#include <tenon/cpp/graph.hpp>

namespace tenon {

class Calibration : public Owned<tn_calibration, tn_calibration_destroy> {
  public:
    using Owned::Owned;
    explicit Calibration(const Runtime &runtime)
        : Owned(detail::made<tn_calibration>(
              [&](tn_calibration **out) { return tn_calibration_create(runtime.get(), out); })) {}

    static Calibration read(const Runtime &runtime, std::string_view path) {
        return Calibration(detail::made<tn_calibration>([&](tn_calibration **out) {
            return tn_calibration_read(runtime.get(), detail::text(path).c_str(), out);
        }));
    }
    /* Runs the network over the batches of `options`. */
    static Calibration measure(Graph &graph, const tn_calibrate_options &options) {
        return Calibration(detail::made<tn_calibration>([&](tn_calibration **out) {
            return tn_calibrate(graph.get(), &options, out, nullptr);
        }));
    }
    /* The same with what was found for each tensor, as JSON; the runtime is the graph's. */
    static Calibration measure(const Runtime &runtime, Graph &graph,
                               const tn_calibrate_options &options, std::string &report) {
        char *json = nullptr;
        Calibration table(detail::made<tn_calibration>(
            [&](tn_calibration **out) { return tn_calibrate(graph.get(), &options, out, &json); }));
        report = runtime.take_text(json);
        return table;
    }

    void write(std::string_view path) const {
        check(tn_calibration_write(get(), detail::text(path).c_str()));
    }
    void set(std::string_view tensor, float scale) {
        check(tn_calibration_set(get(), detail::text(tensor).c_str(), scale));
    }
    /* Nothing where the table has no scale that can be used. */
    std::optional<float> find(std::string_view tensor) const {
        float scale = 0;
        const bool has_scale = tn_calibration_find(get(), detail::text(tensor).c_str(), &scale);
        return has_scale ? std::optional<float>(scale) : std::nullopt;
    }
    uint64_t count() const noexcept { return tn_calibration_count(get()); }
    /* A name and its scale; null past the end. */
    std::pair<const char *, float> entry(uint64_t index) const noexcept {
        std::pair<const char *, float> found(nullptr, 0.0f);
        tn_calibration_entry(get(), index, &found.first, &found.second);
        return found;
    }
};

} // namespace tenon

#endif
