// work.hpp: what a descriptor asks for: elements, products that exist, and the parts of its tensors that take part.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"

namespace dmlref_test::limits {

// ---- what kind of operator a desc is of ----

template <class Desc>
concept Slicing = std::is_same_v<Desc, dmlref::SliceDesc> || std::is_same_v<Desc, dmlref::Slice1Desc>;
template <class Desc>
concept Normalizing = requires(Desc desc) {
  desc.fused_activation;
};
template <class Desc>
concept Convolving = requires(Desc desc) {
  desc.filter;
};
template <class Desc>
concept Multiplying = requires(Desc desc) {
  desc.b;
};
template <class Desc>
concept QuantizingElements = std::is_same_v<Desc, dmlref::ElementWiseQuantizeLinearDesc> ||
    std::is_same_v<Desc, dmlref::ElementWiseDequantizeLinearDesc>;
/// Whether draw.hpp draws the operator.
template <class Desc>
concept Drawn = Slicing<Desc> || Normalizing<Desc> || Convolving<Desc> || Multiplying<Desc> || QuantizingElements<Desc>;

/// Elements of a tensor, counted one by one although some may share an address.
inline std::uint64_t element_count(const dmlref::TensorDesc& tensor) {
  return dmlref::spanned_elements(tensor.sizes, {}).value_or(0);
}
/// Elements from the first to the last.
inline std::uint64_t span_of(const dmlref::TensorDesc& tensor) {
  return tensor.strides ? dmlref::spanned_elements(tensor.sizes, *tensor.strides).value_or(0) : element_count(tensor);
}
/// In elements; packed where the desc has none.
inline std::vector<std::uint64_t> strides_of(const dmlref::TensorDesc& tensor) {
  if (tensor.strides) return {tensor.strides->begin(), tensor.strides->end()};
  std::vector<std::uint64_t> strides(tensor.rank(), 1);
  for (std::size_t d = tensor.rank() - 1; d > 0; --d) strides[d - 1] = strides[d] * tensor.sizes[d];
  return strides;
}
/// Calls f(index in elements) for each element, the last dimension fastest.
template <class F>
void for_each_element(const dmlref::TensorDesc& tensor, F f) {
  const std::vector<std::uint64_t> strides = strides_of(tensor);
  std::vector<std::uint32_t> at(tensor.rank(), 0);
  for (std::uint64_t index = 0;;) {
    f(index);
    std::size_t d = tensor.rank();
    for (;;) {
      if (d-- == 0) return;
      index += strides[d];
      if (++at[d] < tensor.sizes[d]) break;
      index -= strides[d] * tensor.sizes[d];
      at[d] = 0;
    }
  }
}

/// Numbers from `first` to `last`; none where last < first.
struct Range {
  std::int64_t first = 0, last = -1;
  std::uint64_t size() const { return last < first ? 0 : static_cast<std::uint64_t>(last - first + 1); }
};

/// One spatial dimension of a convolution.
struct Axis {
  std::int64_t in, kernel, stride, dilation, start, out;

  static std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
  /// The taps under which output `o` meets the input; all others meet padding.
  Range taps(std::int64_t o) const {
    const std::int64_t first = o * stride - start;  // where tap 0 lies
    return {std::max<std::int64_t>(0, -floor_div(first, dilation)),
            std::min<std::int64_t>(kernel - 1, floor_div(in - 1 - first, dilation))};
  }
  std::int64_t position(std::int64_t o, std::int64_t tap) const { return o * stride - start + tap * dilation; }
  /// Pairs of an output and a tap that meets the input.
  std::uint64_t meetings() const {
    std::uint64_t sum = 0;
    for (std::int64_t o = 0; o < out; ++o) sum += taps(o).size();
    return sum;
  }
  /// The taps that meet the input under any output, in ranges that do not touch each other.
  std::vector<Range> live_taps() const {
    std::vector<Range> ranges;
    std::int64_t lowest =
        kernel;  // taps from here on are in the list, or never will be: those of later outputs are lower
    for (std::int64_t o = 0; o < out; ++o) {
      Range next = taps(o);
      next.last = std::min(next.last, lowest - 1);
      if (next.size() == 0) continue;
      ranges.push_back(next);
      lowest = next.first;
    }
    return ranges;
  }
  /// The input's positions under any tap of any output, each once.
  std::vector<std::uint32_t> positions() const {
    std::vector<std::uint32_t> all;
    for (std::int64_t o = 0; o < out; ++o) {
      const Range live = taps(o);
      for (std::int64_t tap = live.first; tap <= live.last; ++tap) {
        all.push_back(static_cast<std::uint32_t>(position(o, tap)));
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
};

/// A convolution of one or two spatial dimensions: rows (of which one dimension has one), then columns.
struct Axes {
  Axis rows, columns;

  template <class Desc>
  explicit Axes(const Desc& desc) : rows{1, 1, 1, 1, 0, 1}, columns(axis(desc, desc.input.rank() - 3)) {
    if (desc.input.rank() == 4) rows = axis(desc, 0);
  }

 private:
  template <class Desc>
  static Axis axis(const Desc& desc, std::size_t i) {
    return {desc.input.sizes[i + 2], desc.filter.sizes[i + 2], desc.strides[i],
            desc.dilations[i],       desc.start_padding[i],    desc.output.sizes[i + 2]};
  }
};

/// How much there is to do.
struct Work {
  std::uint64_t outputs = 0;   ///< elements of the output
  std::uint64_t products = 0;  ///< of elements that exist; of other operators as `outputs`
  std::uint64_t weights = 0;   ///< elements of a filter that meet the input, or of a matrix B
  std::uint64_t packed = 0;    ///< elements of a filter that is packed: whole where one in 256 meets the input
  std::uint64_t channels = 0;  ///< of a convolution's output; a product's columns
  bool grouped = false;        ///< a convolution of more than one group
  std::uint64_t kept = 0;      ///< bytes of tensors that are owned by DML: their elements, or their spans where less
};

/// The descriptor's tensors in its order: inputs, absent ones null, then the output.
template <class Desc>
auto tensors_of(Desc& desc) {
  using Tensor = std::conditional_t<std::is_const_v<Desc>, const dmlref::TensorDesc, dmlref::TensorDesc>;
  struct {
    std::vector<Tensor*> inputs;
    Tensor* output = nullptr;
  } all;
  const auto add = [&](const dmlref::FieldInfo& field, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, std::optional<dmlref::TensorDesc>>) {
      all.inputs.push_back(member ? &*member : nullptr);
    } else if constexpr (std::is_same_v<Member, dmlref::TensorDesc>) {
      if (is_input(field.kind)) {
        all.inputs.push_back(&member);
      } else {
        all.output = &member;
      }
    }
  };
  std::visit([&](auto& d) { dmlref::schema::for_each_member(d, add); }, desc);
  return all;
}

template <class Desc>
void add_products(Work&, const Desc&) {}
template <Convolving Desc>
void add_products(Work& work, const Desc& desc) {
  constexpr std::int64_t countable = 1 << 16;
  const Axes axes(desc);
  const auto meetings = [](const Axis& axis) {
    return static_cast<double>(axis.out > countable ? axis.out * axis.kernel
                                                    : static_cast<std::int64_t>(axis.meetings()));
  };
  const auto live = [](const Axis& axis) {
    if (axis.out > countable) return static_cast<std::uint64_t>(axis.kernel);
    std::uint64_t sum = 0;
    for (const Range& range : axis.live_taps()) sum += range.size();
    return sum;
  };
  const std::uint64_t channels = std::uint64_t{desc.filter.sizes[0]} * desc.filter.sizes[1];
  work.channels = desc.filter.sizes[0];
  work.grouped = desc.group_count > 1;
  work.weights = channels * live(axes.rows) * live(axes.columns);
  work.packed = std::min(element_count(desc.filter), 256 * work.weights);
  const double products =
      static_cast<double>(channels) * desc.input.sizes[0] * meetings(axes.rows) * meetings(axes.columns);
  work.products = static_cast<std::uint64_t>(std::min(products, 1e18));
}
template <Multiplying Desc>
void add_products(Work& work, const Desc& desc) {
  work.channels = desc.b.sizes.back();
  work.weights = work.packed = element_count(desc.b);
  work.products = work.outputs * desc.a.sizes.back();  // below 2^64
}

/// The work of a valid desc. Where counting alone would be much, what it is at most.
inline Work work_of(const dmlref::OperatorDesc& desc) {
  const auto tensors = tensors_of(desc);
  Work work;
  work.outputs = element_count(*tensors.output);
  work.products = work.outputs;
  for (const dmlref::TensorDesc* tensor : tensors.inputs) {
    if (tensor == nullptr || !tensor->owned_by_dml) continue;
    work.kept += std::min(element_count(*tensor), span_of(*tensor)) * size_of(tensor->data_type);
  }
  std::visit([&](const auto& d) { add_products(work, d); }, desc);
  return work;
}

}  // namespace dmlref_test::limits
