// masked_slice.hpp: an operator of the tests: SLICE1 with more tensors, fields and a second output. Its schema is all
// that knows its fields.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "dmlref/directml.hpp"
#include "dmlref/validate/tensor.hpp"

DMLREF_BEGIN

/// SLICE1 with a mask, a limit and a second result.
struct MaskedSliceDesc : Slice1Desc {
  TensorDesc mask;
  std::optional<TensorDesc> offsets_tensor;
  TensorDesc rest;
  std::uint32_t limit = 0;
  Dimensions order;
};

template <>
struct Schema<MaskedSliceDesc> {
  using Desc = MaskedSliceDesc;
  static constexpr OperatorInfo info{OperatorType{250}, "MASKED_SLICE", support::level_3_0};
  static constexpr TensorSupport any[] = {{support::level_3_0, 1, 8, support::eight}};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", static_cast<TensorDesc Desc::*>(&Desc::input), any),
      schema::input("MaskTensor", &Desc::mask, any),
      schema::input("OffsetsTensor", &Desc::offsets_tensor, any),
      schema::output("OutputTensor", static_cast<TensorDesc Desc::*>(&Desc::output), any),
      schema::output("RestTensor", &Desc::rest, any),
      schema::number("Limit", &Desc::limit),
      schema::count("OrderCount"),
      schema::array("Order", &Desc::order, "OrderCount"));
  // clang-format on
};

namespace rules {
inline void check_facts(Report& report, FeatureLevel level, const Facts<MaskedSliceDesc>& facts) {
  using Desc = MaskedSliceDesc;
  check_tensor(report, level, Direction::input, fact<&Desc::mask>(facts));
  check_tensor(report, level, Direction::output, fact<&Desc::rest>(facts));
}
}  // namespace rules

namespace detail {

/// The first half of the input to one output, the other half to the other.
class HalvesPlan final : public PlanOf<HalvesPlan> {
 public:
  static constexpr bool computes = false;
  explicit HalvesPlan(std::size_t bytes) : bytes_(bytes) {}
  std::string_view strategy_name() const noexcept { return "halves"; }
  void execute(const Bindings& bindings, Executor&) const noexcept {
    std::memcpy(bindings.outputs[0], bindings.inputs[0], bytes_);
    std::memcpy(bindings.outputs[1], bindings.inputs[0] + bytes_, bytes_);
  }

 private:
  std::size_t bytes_;
};

template <>
inline PlannedOperator plan(const MaskedSliceDesc& desc, Isa, const Tuning&) {
  return planned(desc, std::make_shared<HalvesPlan>(desc.output.total_size_in_bytes));
}

}  // namespace detail
DMLREF_END

namespace dmlref_test {

using namespace dmlref;

// Microsoft's struct of such an operator.
struct MaskedSliceStruct {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* MaskTensor;
  const DML_TENSOR_DESC* OffsetsTensor;
  const DML_TENSOR_DESC* OutputTensor;
  const DML_TENSOR_DESC* RestTensor;
  UINT Limit;
  UINT OrderCount;
  const UINT* Order;
};

inline MaskedSliceDesc masked_slice() {
  MaskedSliceDesc desc;
  desc.input = TensorDesc(DataType::uint8, {8});
  desc.mask = TensorDesc(DataType::uint8, {8});
  desc.output = desc.rest = TensorDesc(DataType::uint8, {4});
  desc.limit = 7;
  desc.order = {3, 1, 2};
  return desc;
}

}  // namespace dmlref_test
