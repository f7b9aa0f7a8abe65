/* SPDX-License-Identifier: Apache-2.0 */
/* tn_operation, see tenon/operation.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_OPERATION_HPP
#define TENON_CPP_OPERATION_HPP

#include <tenon/cpp/runtime.hpp>
#include <tenon/operation.h>

namespace tenon {

class Operation : public Owned<tn_operation, tn_operation_destroy> {
  public:
    using Owned::Owned;
    Operation(const Runtime &runtime, const tn_operation_description &description)
        : Owned(detail::made<tn_operation>([&](tn_operation **out) {
              return tn_operation_create(runtime.get(), &description, out);
          })) {}

    /* As many as the description has; null for those that are absent or not wanted. */
    void infer(const tn_tensor *const *inputs, tn_tensor *const *outputs) {
        check(tn_operation_infer(get(), inputs, outputs));
    }
    void run(const tn_tensor *const *inputs, tn_tensor *const *outputs) {
        check(tn_operation_run(get(), inputs, outputs));
    }
    const char *report() const noexcept { return tn_operation_report(get()); }
};

} // namespace tenon

#endif
