// compiled_case.hpp: a random problem of any operator in the staged form.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "dmlref/run/one_operator.hpp"
#include "dmlref/schema/schema.hpp"
#include "support/operator_case.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/thread_executor.hpp"

namespace dmlref::test {

/// A case, which it refers to, with each input owned by DML or bound at execute.
template <class Desc>
struct StagedCase {
  StagedCase(Random& random, const OperatorCase<Desc>& given)
      : desc(given.desc), owned(given.inputs.size()), bound(given.inputs.begin(), given.inputs.end()) {
    std::size_t next = 0;
    schema::for_each_member(desc, [&](const FieldInfo& field, auto& member) {
      if (!is_input(field.kind)) return;
      const std::size_t i = next++;
      const auto give = [&](TensorDesc& tensor) {
        if (!chance(random, 40)) return;
        tensor.owned_by_dml = true;
        owned[i] = bound[i];
        bound[i] = {};
      };
      if constexpr (requires { member.owned_by_dml; }) {
        give(member);
      } else if constexpr (requires { member->owned_by_dml; }) {
        if (member) give(*member);
      }
    });
  }

  Desc desc;
  std::vector<InputBuffer> owned, bound;
};

/// Initializes, and executes by one task and by several.
template <class Desc>
void expect_executed(Random& random, const CompiledOperator& compiled, const StagedCase<Desc>& staged,
                     const std::vector<std::byte>& pattern, const std::vector<std::byte>& expected) {
  const BindingProperties needs = compiled.binding_properties();
  const AlignedBuffer persistent(needs.persistent_bytes), temporary(needs.temporary_bytes);
  for (std::byte& byte : temporary.span()) byte = std::byte{0xCD};
  Report report = compiled.initialize(staged.owned, persistent.span(), temporary.span());
  ASSERT_TRUE(report) << report.to_string();
  dmlref_test::ThreadExecutor threads(pick(random, 2, 5));
  for (Executor* executor : {&sequential(), static_cast<Executor*>(&threads)}) {
    std::vector<std::byte> output = pattern;
    const OutputBuffer outputs[] = {output};
    report = compiled.execute(staged.bound, outputs, persistent.span(), temporary.span(), *executor);
    ASSERT_TRUE(report) << report.to_string();
    ASSERT_TRUE(output == expected);
  }
}

}  // namespace dmlref::test
