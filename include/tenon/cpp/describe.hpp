/* SPDX-License-Identifier: Apache-2.0 */
/* tn_plan_description, see tenon/describe.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_DESCRIBE_HPP
#define TENON_CPP_DESCRIBE_HPP

#include <tenon/cpp/engine.hpp>

namespace tenon {

/* What a plan or an engine runs. The structs that it returns have its lifetime; their arrays are
 * ranges by items(), as in items(program.steps, program.step_count). */
class PlanDescription : public Owned<const tn_plan_description, tn_plan_description_destroy> {
  public:
    using Owned::Owned;
    explicit PlanDescription(const Plan &plan)
        : Owned(detail::made<const tn_plan_description>([&](const tn_plan_description **out) {
              return tn_plan_describe(plan.get(), out);
          })) {}
    explicit PlanDescription(const Engine &engine)
        : Owned(detail::made<const tn_plan_description>([&](const tn_plan_description **out) {
              return tn_engine_describe(engine.get(), out);
          })) {}
    /* Of a plan's file, or its bytes, without loading any code. */
    static PlanDescription read(const Runtime &runtime, std::string_view path) {
        return made([&](const tn_plan_description **out) {
            return tn_plan_describe_file(runtime.get(), detail::text(path).c_str(), out);
        });
    }
    static PlanDescription read_bytes(const Runtime &runtime, Bytes plan) {
        return made([&](const tn_plan_description **out) {
            return tn_plan_describe_bytes(runtime.get(), plan.data, plan.bytes, out);
        });
    }

    const tn_plan_description *operator->() const noexcept { return get(); }
    const tn_plan_description &operator*() const noexcept { return *get(); }
    Items<const tn_described_library &> libraries() const noexcept {
        return items(get()->libraries, get()->library_count);
    }
    Items<const tn_described_node &> nodes() const noexcept {
        return items(get()->nodes, get()->node_count);
    }
    Items<const tn_described_program &> programs() const noexcept {
        return items(get()->programs, get()->program_count);
    }
    Items<const tn_port_info &> inputs() const noexcept {
        return items(get()->inputs, get()->input_count);
    }
    Items<const tn_port_info &> outputs() const noexcept {
        return items(get()->outputs, get()->output_count);
    }
    /* Null past the end, and for an input that accepts any shape. */
    const tn_profile_input *profile(uint32_t profile, uint32_t input) const noexcept {
        const tn_plan_description &all = *get();
        if (profile >= all.profile_count || input >= all.input_count) return nullptr;
        return all.profiles[uint64_t{profile} * all.input_count + input];
    }

  private:
    template <class Describe> static PlanDescription made(Describe &&describe) {
        return PlanDescription(detail::made<const tn_plan_description>(describe));
    }
};

} // namespace tenon

#endif
