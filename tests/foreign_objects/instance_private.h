/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of instances share: the third generation's, and expressions of known numbers. */
#ifndef FOREIGN_OBJECTS_INSTANCE_PRIVATE_H
#define FOREIGN_OBJECTS_INSTANCE_PRIVATE_H

#include "instance.h"

#include <deque>

std::unique_ptr<Instance> makeInstanceV3(foreign::CreatorV3 &creator, const foreign::Fields &fields,
                                         foreign::Phase phase);
std::unique_ptr<Instance> loadInstanceV3(foreign::CreatorV3 &creator, const void *bytes,
                                         size_t count);

/* Tenon's shape rules compute on numbers: every expression is a constant. */
class Expressions final : public foreign::ExpressionBuilder {
  public:
    const foreign::Expression *constant(int64_t value) noexcept override;
    const foreign::Expression *operation(foreign::Operation op, const foreign::Expression *a,
                                         const foreign::Expression *b) noexcept override;
    foreign::SymbolicDims of(const foreign::Dims &dims) noexcept;
    static bool read(const foreign::SymbolicDims &symbols, foreign::Dims &out) noexcept;

  private:
    class Number final : public foreign::Expression {
      public:
        explicit Number(int64_t number) : number(number) {}
        bool isConstant() const noexcept override { return true; }
        int64_t value() const noexcept override { return number; }

      private:
        int64_t number;
    };
    std::deque<Number> numbers; /* whose elements stay where they are */
};

#endif
