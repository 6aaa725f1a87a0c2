// plan.hpp: ELEMENT_WISE_QUANTIZE_LINEAR and ELEMENT_WISE_DEQUANTIZE_LINEAR: from a problem to a plan.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/desc/data_type.hpp"
#include "dmlref/desc/half.hpp"
#include "dmlref/isa/cpu.hpp"
#include "dmlref/operators/element_wise_quantize_linear/kernels/kernels.hpp"
#include "dmlref/operators/element_wise_quantize_linear/problem.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/view/rows.hpp"

DMLREF_BEGIN
namespace fast::quantize_linear {

/// Elements in memory, `step` of them apart.
template <class Byte>
struct ElementsOf {
  Byte* first;
  Index step;
  DataType type;

  ElementsOf from(std::size_t i) const noexcept {
    return {first + static_cast<Index>(i) * step * static_cast<Index>(size_of(type)), step, type};
  }
};
using Elements = ElementsOf<const std::byte>;
using Results = ElementsOf<std::byte>;

/// Calls body(T{}) for the type of the elements: one of the operators' nine.
template <class Body>
void with_element_type(DataType type, const Body& body) noexcept {
  switch (type) {
    case DataType::float32: return body(float{});
    case DataType::float16: return body(half{});
    case DataType::int8: return body(std::int8_t{});
    case DataType::uint8: return body(std::uint8_t{});
    case DataType::int16: return body(std::int16_t{});
    case DataType::uint16: return body(std::uint16_t{});
    case DataType::int32: return body(std::int32_t{});
    default: return body(std::uint32_t{});
  }
}

/// `count` elements as Real, which holds each exactly.
template <class Real>
void gather(const Elements& elements, std::size_t count, Real* to) noexcept {
  with_element_type(elements.type, [&](auto of) {
    using T = decltype(of);
    const Index step = elements.step * static_cast<Index>(sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, elements.first + static_cast<Index>(i) * step, sizeof(T));
      to[i] = static_cast<Real>(element);
    }
  });
}
/// The same of float32, float16 and integers of up to 16 bits.
inline void load_floats(const Kernels& kernels, const Elements& elements, std::size_t count, float* to) noexcept {
  if (elements.step != 1) return gather(elements, count, to);
  switch (elements.type) {
    case DataType::float32: std::memcpy(to, elements.first, count * sizeof(float)); return;
    case DataType::float16: return kernels.widen_halves(elements.first, count, to);
    case DataType::int8: return kernels.widen_integers[0](elements.first, count, to);
    case DataType::uint8: return kernels.widen_integers[1](elements.first, count, to);
    case DataType::int16: return kernels.widen_integers[2](elements.first, count, to);
    default: return kernels.widen_integers[3](elements.first, count, to);
  }
}

/// A parameter of a block: its values are gathered where each element has its own.
template <class Real>
Parameter<Real> parameter_of(const Kernels& kernels, const Elements& elements, std::size_t count,
                             Real* space) noexcept {
  if (elements.step == 0) {
    gather(elements, 1, space);
    return {Extent::one, space};
  }
  if constexpr (std::is_same_v<Real, float>) {
    load_floats(kernels, elements, count, space);
  } else {
    gather(elements, count, space);
  }
  return {Extent::each, space};
}

/// difference * scale, rounded to float once. The difference has 33 bits, the scale 24: by halves of 16 bits both
/// products are exact, so that what the double product has lost is known. If anything, its last bit is made odd:
/// rounding to float then gives what rounding the exact product would.
inline float rounded_product(double difference, float scale) noexcept {
  const double product = difference * double{scale};
  if (!std::isfinite(scale)) return scalar::with_one_nan(static_cast<float>(product));
  const double upper = static_cast<double>(static_cast<std::int64_t>(difference) / 65536) * 65536;
  const double a = upper * double{scale}, b = (difference - upper) * double{scale};
  const double lost = b - (product - a);
  if (lost == 0) return static_cast<float>(product);
  auto bits = std::bit_cast<std::uint64_t>(product);
  if ((lost < 0) != (product < 0)) --bits;  // toward 0
  return static_cast<float>(std::bit_cast<double>(bits | 1));
}

}  // namespace fast::quantize_linear

namespace detail {

/// Rows of all four tensors at once, in blocks that stay in L1d.
class ElementWiseQuantizeLinearPlan final : public PlanOf<ElementWiseQuantizeLinearPlan> {
 public:
  ElementWiseQuantizeLinearPlan(const fast::quantize_linear::Problem& problem, Isa isa) noexcept
      : problem_(problem), kernels_(fast::quantize_linear::kernels_of(isa)) {
    const Layout* const layouts[] = {&problem.output, &problem.input, &problem.scale,
                                     problem.zero_point ? &*problem.zero_point : nullptr};
    JointLayout<tensors> joint;
    joint.shape = problem.output.shape;
    for (std::size_t k = 0; k < tensors; ++k) {
      const bool present = layouts[k] != nullptr;
      joint.strides[k] = present ? layouts[k]->strides : Strides::filled(joint.rank(), 0);
      offsets_[k] = present ? layouts[k]->offset : 0;
      for (std::size_t d = 0; d < joint.rank(); ++d) {
        if (joint.shape[d] == 1) joint.strides[k][d] = 0;  // never stepped along
      }
    }
    joint_ = coalesce(by_output(joint));
  }

  std::string_view strategy_name() const noexcept { return "rows"; }

  void execute(const Bindings& bindings, Executor& executor) const {
    constexpr Index task_elements = Index{1} << 15;  // less is not worth a task
    const Index elements = element_count(joint_.shape);
    const Index wanted = (std::min)(static_cast<Index>(concurrency_of(executor)), elements / task_elements);
    // The outermost dimension whose parts differ little, so that a task's outputs lie side by side; else the widest.
    const auto first = joint_.shape.begin(), last = joint_.shape.end();
    auto found = std::find_if(first, last, [&](Index extent) { return extent >= 8 * wanted; });
    if (found == last) found = std::max_element(first, last);
    const auto split = static_cast<std::size_t>(found - first);
    const Index tasks = (std::min)(wanted, joint_.shape[split]);
    if (tasks <= 1) return run_part(bindings, 0, 0, joint_.shape[0]);
    parallel_for(executor, static_cast<std::size_t>(tasks), [&](std::size_t task) {
      const auto part = [&](Index of) { return joint_.shape[split] * of / tasks; };
      const auto i = static_cast<Index>(task);
      run_part(bindings, split, part(i), part(i + 1));
    });
  }

 private:
  using Elements = fast::quantize_linear::Elements;
  using Results = fast::quantize_linear::Results;
  static constexpr std::size_t tensors = 4;  ///< output, input, scale, zero point
  static constexpr std::size_t block = fast::quantize_linear::block_elements;

  /// The dimensions in the order of the output's steps, the shortest last: elements are independent of one another.
  static JointLayout<tensors> by_output(const JointLayout<tensors>& from) noexcept {
    const auto step = [&](std::size_t d) { return from.strides[0][d] < 0 ? -from.strides[0][d] : from.strides[0][d]; };
    std::size_t order[max_rank];
    for (std::size_t d = 0; d < from.rank(); ++d) {
      std::size_t place = d;
      for (; place > 0 && step(order[place - 1]) < step(d); --place) order[place] = order[place - 1];
      order[place] = d;
    }
    JointLayout<tensors> to;
    for (std::size_t d = 0; d < from.rank(); ++d) {
      to.shape.push_back(from.shape[order[d]]);
      for (std::size_t k = 0; k < tensors; ++k) to.strides[k].push_back(from.strides[k][order[d]]);
    }
    return to;
  }

  /// Coordinates `begin` to `end` of one dimension.
  DMLREF_NOINLINE void run_part(const Bindings& bindings, std::size_t dimension, Index begin,
                                Index end) const noexcept {
    JointLayout<tensors> part = joint_;
    Index offsets[tensors];
    for (std::size_t k = 0; k < tensors; ++k) offsets[k] = offsets_[k] + begin * joint_.strides[k][dimension];
    part.shape[dimension] = end - begin;
    static constexpr std::byte no_zero_point[sizeof(std::uint32_t)] = {};
    const bool quantizes = problem_.direction == fast::quantize_linear::Direction::quantize;
    const DataType types[] = {problem_.output_type, problem_.input_type, problem_.scale_type,
                              quantizes ? problem_.output_type : problem_.input_type};
    const std::byte* const from[] = {bindings.inputs[0], bindings.inputs[1],
                                     problem_.zero_point ? bindings.inputs[2] : no_zero_point};
    for (RowIterator<tensors> row(part, offsets); row; ++row) {
      const auto bytes = [&](std::size_t k) { return row.start(k) * static_cast<Index>(size_of(types[k])); };
      const auto elements = [&](std::size_t k) { return Elements{from[k - 1] + bytes(k), row.step(k), types[k]}; };
      const Elements input = elements(1), scale = elements(2), zero_point = elements(3);
      const Results output{bindings.outputs[0] + bytes(0), row.step(0), types[0]};
      const auto count = static_cast<std::size_t>(row.count());
      for (std::size_t i = 0; i < count; i += block) {
        const std::size_t n = (std::min)(count - i, block);
        if (quantizes) {
          quantize(input.from(i), scale.from(i), zero_point.from(i), output.from(i), n);
        } else {
          dequantize(input.from(i), scale.from(i), zero_point.from(i), output.from(i), n);
        }
      }
    }
  }

  void quantize(const Elements& input, const Elements& scale, const Elements& zero_point, const Results& output,
                std::size_t count) const noexcept {
    using namespace fast::quantize_linear;
    alignas(64) float x[block], scales[block], zero_points[block];
    std::byte results[block];
    const bool in_place = output.step == 1;
    std::byte* const to = in_place ? output.first : results;
    const Range range = output.type == DataType::int8 ? Range{-128, 127} : Range{0, 255};
    const auto z = parameter_of(kernels_, zero_point, count, zero_points);
    const auto s = parameter_of(kernels_, scale, count, scales);
    if (input.type == DataType::int32) {
      double integers[block];
      gather(input, count, integers);
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = scalar::saturated(scalar::rounded_quotient(integers[i], double{s[i]}), double{z[i]}, range);
      }
    } else if (input.type == DataType::float32 && input.step == 1) {
      kernels_.quantize(input.first, s, z, range, count, to);
    } else {
      load_floats(kernels_, input, count, x);
      kernels_.quantize(reinterpret_cast<const std::byte*>(x), s, z, range, count, to);
    }
    if (!in_place) scatter<std::uint8_t>(results, count, output);
  }

  void dequantize(const Elements& input, const Elements& scale, const Elements& zero_point, const Results& output,
                  std::size_t count) const noexcept {
    using namespace fast::quantize_linear;
    if (output.type == DataType::float16) return dequantize_to_halves(input, scale, zero_point, output, count);
    alignas(64) float q[block], scales[block], zero_points[block];
    alignas(64) std::byte results[block * sizeof(float)];
    const bool in_place = output.step == 1;
    std::byte* const to = in_place ? output.first : results;
    const auto s = parameter_of(kernels_, scale, count, scales);
    if (size_of(input.type) == sizeof(std::uint32_t)) {
      double integers[block], zeros[block];
      gather(input, count, integers);
      const auto z = parameter_of(kernels_, zero_point, count, zeros);
      for (std::size_t i = 0; i < count; ++i) {
        const float result = rounded_product(integers[i] - z[i], s[i]);
        std::memcpy(to + i * sizeof(float), &result, sizeof(float));
      }
    } else {
      load_floats(kernels_, input, count, q);
      kernels_.dequantize(q, s, parameter_of(kernels_, zero_point, count, zero_points), count, to);
    }
    if (!in_place) scatter<float>(results, count, output);
  }

  /// A difference of 33 bits times a scale of 11 is an exact double, which is rounded once.
  static void dequantize_to_halves(const Elements& input, const Elements& scale, const Elements& zero_point,
                                   const Results& output, std::size_t count) noexcept {
    using namespace fast::quantize_linear;
    double q[block], scales[block], zero_points[block];
    gather(input, count, q);
    gather(scale, count, scales);
    gather(zero_point, count, zero_points);
    std::byte* const to = output.first;
    for (std::size_t i = 0; i < count; ++i) {
      const double product = (q[i] - zero_points[i]) * scales[i];
      const half result = product == product ? half(product) : half::from_bits(0x7E00);
      std::memcpy(to + static_cast<Index>(i) * output.step * static_cast<Index>(sizeof(half)), &result, sizeof(half));
    }
  }

  template <class T>
  static void scatter(const std::byte* from, std::size_t count, const Results& output) noexcept {
    std::byte* const to = output.first;
    const Index step = output.step * static_cast<Index>(sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(to + static_cast<Index>(i) * step, from + i * sizeof(T), sizeof(T));
    }
  }

  fast::quantize_linear::Problem problem_;
  const fast::quantize_linear::Kernels& kernels_;
  JointLayout<tensors> joint_;
  Index offsets_[tensors];
};

inline std::shared_ptr<const Plan> element_wise_quantize_linear_plan(const fast::quantize_linear::Problem& problem,
                                                                     Isa isa) {
  return std::make_shared<ElementWiseQuantizeLinearPlan>(problem, isa);
}

#if defined(DMLREF_IMPLEMENTATION)
extern "C" {
void DMLREF_SEAM(plan_element_wise_quantize_linear)(const fast::quantize_linear::Problem& problem, Isa isa,
                                                    std::shared_ptr<const Plan>& plan) {
  plan = element_wise_quantize_linear_plan(problem, isa);
}
}
#endif

}  // namespace detail
DMLREF_END
