// quantized_linear_convolution_run.hpp: one plan of a convolution run on a case, and compared with the reference;
// without a test framework.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dmlref/operators/quantized_linear_convolution/call.hpp"
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "support/guarded_buffer.hpp"
#include "support/isa_in_use.hpp"
#include "support/quantized_linear_convolution_case.hpp"
#include "support/reference_run.hpp"

namespace dmlref::test {

/// The plan of one strategy, whichever the operator would choose; null where it cannot do the problem.
inline std::shared_ptr<const fast::qlc::tiled::Plan> tiled_plan(const fast::qlc::Problem& problem,
                                                                const fast::qlc::Kernels& kernels) {
  const Tuning::Convolution& tuning = this_cpu().convolution;
  const fast::qlc::tiled::Blocking blocking(flatten(geometry_of(problem)), kernels, tuning);
  if (!blocking.usable()) return nullptr;
  return std::make_shared<fast::qlc::tiled::Plan>(problem, kernels, blocking, tuning);
}
/// `outputs`: the size of a tile, 2 or 4; 0: whichever is faster.
inline std::shared_ptr<const fast::qlc::winograd::Plan> winograd_plan(const fast::qlc::Problem& problem,
                                                                      const fast::qlc::winograd::Kernels& kernels,
                                                                      int outputs = 0) {
  if (!problem.inputs[fast::qlc::filter_tensor].owned) return nullptr;
  const auto tiling = choose_tiling(geometry_of(problem), kernels, this_cpu().convolution, outputs);
  return tiling ? std::make_shared<fast::qlc::winograd::Plan>(problem, kernels, *tiling) : nullptr;
}
#if DMLREF_HAS_AMX_INT8
inline std::shared_ptr<const fast::qlc::amx::Plan> amx_plan(const fast::qlc::Problem& problem) {
  const fast::qlc::Geometry g = flatten(geometry_of(problem));
  if (!fast::qlc::amx::suits(g)) return nullptr;
  const fast::qlc::amx::Blocking blocking(g, this_cpu().convolution);
  return blocking.usable ? std::make_shared<fast::qlc::amx::Plan>(problem, blocking) : nullptr;
}
inline bool amx_is_worthwhile(const fast::qlc::Problem& problem) {
  return fast::qlc::amx::worthwhile(flatten(geometry_of(problem)), problem);
}
#endif

/// Runs the plan with input, filter and output beside an inaccessible page, and temporary memory full of rubbish.
inline std::vector<std::byte> run_plan(const detail::Plan& plan, const QlcCase& test, Random& random,
                                       Executor& executor, bool owned) {
  using dmlref_test::GuardedBuffer;
  const GuardedBuffer::Side side = chance(random, 50) ? GuardedBuffer::Side::end : GuardedBuffer::Side::begin;
  const GuardedBuffer input(test.inputs[0].size(), side);
  const GuardedBuffer filter(test.inputs[3].size(), side);
  const GuardedBuffer output(test.output.size(), side);
  std::memcpy(input.data(), test.inputs[0].data(), test.inputs[0].size());
  std::memcpy(filter.data(), test.inputs[3].data(), test.inputs[3].size());
  std::memcpy(output.data(), test.output.data(), test.output.size());
  const BindingProperties needs = plan.properties();
  const AlignedBuffer temporary(needs.temporary_bytes), persistent(needs.persistent_bytes);
  for (std::byte& byte : temporary.span()) byte = static_cast<std::byte>(random());
  detail::Bindings b = test.bindings(output.data());
  b.inputs[0] = input.data();
  b.inputs[3] = filter.data();
  b.temporary = temporary.span().data();
  b.persistent = persistent.span().data();
  if (owned) {
    detail::Bindings constants = b;
    constants.inputs[0] = nullptr;
    plan.initialize(constants, persistent.span().data());
  }
  plan.execute(b, executor);
  return {output.data(), output.data() + test.output.size()};
}

inline void own_constants(QuantizedLinearConvolutionDesc& desc) {
  for (TensorDesc* t : {&desc.input_scale, &desc.filter, &desc.filter_scale, &desc.output_scale})
    t->owned_by_dml = true;
  for (std::optional<TensorDesc>* t :
       {&desc.input_zero_point, &desc.filter_zero_point, &desc.bias, &desc.output_zero_point}) {
    if (*t) (*t)->owned_by_dml = true;
  }
}

/// What tells `got` from what the reference makes of the case; empty where nothing does.
inline std::string difference(const QlcCase& test, const std::vector<std::byte>& got) {
  std::vector<std::byte> expected = test.output;
  dmlref_test::reference_plan(detail::qlc_problem(test.desc))->execute(test.bindings(expected.data()), sequential());
  if (got == expected) return {};
  std::size_t wrong = 0, first = got.size();
  for (std::size_t i = got.size(); i-- > 0;) {
    if (got[i] != expected[i]) {
      ++wrong;
      first = i;
    }
  }
  return std::to_string(wrong) + " of " + std::to_string(got.size()) + " bytes, first at " + std::to_string(first) +
         ": " + std::to_string(static_cast<int>(got[first])) + ", expected " +
         std::to_string(static_cast<int>(expected[first]));
}

}  // namespace dmlref::test
