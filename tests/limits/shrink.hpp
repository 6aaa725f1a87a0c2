// shrink.hpp: smaller descriptors than one that fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/validate.hpp"
#include "limits/work.hpp"

namespace dmlref_test::limits {

/// Makes what depends on other numbers fit them again.
inline void repair(dmlref::QuantizedLinearConvolutionDesc& d) {
  d.filter.sizes[1] = d.input.sizes[1] / std::max(1u, d.group_count);
  d.output.sizes[0] = d.input.sizes[0];
  d.output.sizes[1] = d.filter.sizes[0];
  for (std::size_t i = 0; i < d.strides.size(); ++i) {
    const std::uint64_t padded = std::uint64_t{d.input.sizes[i + 2]} + d.start_padding[i] + d.end_padding[i];
    const std::uint64_t window = std::uint64_t{d.filter.sizes[i + 2] - 1} * d.dilations[i] + 1;
    if (padded < window || d.strides[i] == 0) continue;  // (refused)
    d.output.sizes[i + 2] = static_cast<std::uint32_t>((padded - window) / d.strides[i] + 1);
  }
  const auto channels = [&](dmlref::TensorDesc& tensor) {
    for (std::uint32_t& size : tensor.sizes) size = size > 1 ? d.filter.sizes[0] : 1;
  };
  channels(d.filter_scale);
  if (d.filter_zero_point) channels(*d.filter_zero_point);
  if (d.bias) channels(*d.bias);
}
inline void repair(dmlref::SliceDesc& d) { d.sizes = d.output.sizes; }
inline void repair(dmlref::Slice1Desc&) {}
template <class Desc>
void repair(Desc& d) {
  d.output.sizes = d.input.sizes;
  const auto fit = [&](dmlref::TensorDesc& tensor) {
    for (std::size_t i = 0; i < tensor.rank(); ++i) tensor.sizes[i] = tensor.sizes[i] > 1 ? d.input.sizes[i] : 1;
  };
  if (d.scale) fit(*d.scale);
  if (d.bias) fit(*d.bias);
}

/// Descriptors that differ from one in a tensor or in a number, and are smaller; some are not valid.
template <class Desc>
class Reductions {
 public:
  explicit Reductions(const Desc& desc) : desc_(desc) {
    for_each_tensor([&](auto member) { reduce_tensor(member); });
    if constexpr (requires { desc.fused_activation; }) {
      if (desc.fused_activation) with([](Desc& d) { d.fused_activation.reset(); });
    }
    if constexpr (requires { desc.filter; }) {
      reduce_channels();
      for (std::size_t i = 0; i < desc.strides.size(); ++i) {
        less(desc.input.sizes[i + 2], 1, [i](Desc& d, std::uint32_t v) { d.input.sizes[i + 2] = v; });
        less(desc.filter.sizes[i + 2], 1, [i](Desc& d, std::uint32_t v) { d.filter.sizes[i + 2] = v; });
        less(desc.start_padding[i], 0, [i](Desc& d, std::uint32_t v) { d.start_padding[i] = v; });
        less(desc.end_padding[i], 0, [i](Desc& d, std::uint32_t v) { d.end_padding[i] = v; });
        less(desc.dilations[i], 1, [i](Desc& d, std::uint32_t v) { d.dilations[i] = v; });
        less(desc.strides[i], 1, [i](Desc& d, std::uint32_t v) { d.strides[i] = v; });
      }
      return;
    } else {
      for (std::size_t i = 0; i < desc.input.rank(); ++i) reduce_dimension(i);
    }
  }
  std::vector<Desc> all;

 private:
  template <class Change>
  void with(Change change) {
    Desc next = desc_;
    change(next);
    repair(next);
    // Every tensor again has the least total size.
    for_each_tensor([&](auto member) {
      if (dmlref::TensorDesc* tensor = tensor_of(next, member)) {
        const bool owned = tensor->owned_by_dml;
        *tensor = dmlref::TensorDesc(tensor->data_type, tensor->sizes, tensor->strides);
        tensor->owned_by_dml = owned;
      }
    });
    all.push_back(std::move(next));
  }
  /// `set(desc, value)` for the least value, and for ever nearer ones.
  template <class Set>
  void less(std::uint32_t now, std::uint32_t least, Set set) {
    std::uint32_t last = now;
    for (const std::uint32_t value : {least, now / 2, now - 1}) {
      if (value >= now || value < least || value == last) continue;
      last = value;
      with([&](Desc& d) { set(d, value); });
    }
  }

  template <class F>
  static void for_each_tensor(F f) {
    f(&Desc::input);
    f(&Desc::output);
    if constexpr (requires(Desc d) { d.filter; }) {
      f(&Desc::input_scale);
      f(&Desc::input_zero_point);
      f(&Desc::filter);
      f(&Desc::filter_scale);
      f(&Desc::filter_zero_point);
      f(&Desc::output_scale);
      f(&Desc::output_zero_point);
    }
    if constexpr (requires(Desc d) { d.scale; }) f(&Desc::scale);
    if constexpr (requires(Desc d) { d.bias; }) f(&Desc::bias);
  }
  static dmlref::TensorDesc* tensor_of(Desc& desc, dmlref::TensorDesc Desc::*member) { return &(desc.*member); }
  static dmlref::TensorDesc* tensor_of(Desc& desc, std::optional<dmlref::TensorDesc> Desc::*member) {
    return desc.*member ? &*(desc.*member) : nullptr;
  }

  template <class Member>
  void reduce_tensor(Member member) {
    const dmlref::TensorDesc* tensor = tensor_of(desc_, member);
    if (tensor == nullptr) return;
    if constexpr (requires { (desc_.*member).reset(); }) with([&](Desc& d) { (d.*member).reset(); });
    if (tensor->owned_by_dml) with([&](Desc& d) { tensor_of(d, member)->owned_by_dml = false; });
    if (!tensor->strides) return;
    with([&](Desc& d) { tensor_of(d, member)->strides.reset(); });
    for (std::size_t i = 0; i < tensor->rank(); ++i) {
      less((*tensor->strides)[i], 0, [&](Desc& d, std::uint32_t v) { (*tensor_of(d, member)->strides)[i] = v; });
    }
  }
  void reduce_channels() {
    const std::uint32_t groups = desc_.group_count, in = desc_.filter.sizes[1], out = desc_.filter.sizes[0] / groups;
    less(desc_.input.sizes[0], 1, [](Desc& d, std::uint32_t v) { d.input.sizes[0] = v; });
    less(groups, 1, [&](Desc& d, std::uint32_t v) {
      d.group_count = v;
      d.input.sizes[1] = v * in;
      d.filter.sizes[0] = v * out;
    });
    less(in, 1, [&](Desc& d, std::uint32_t v) { d.input.sizes[1] = v * groups; });
    less(out, 1, [&](Desc& d, std::uint32_t v) { d.filter.sizes[0] = v * groups; });
  }
  void reduce_dimension(std::size_t i) {
    less(desc_.input.sizes[i], 1, [i](Desc& d, std::uint32_t v) { d.input.sizes[i] = v; });
    if constexpr (requires { desc_.offsets; }) {
      less(desc_.output.sizes[i], 1, [i](Desc& d, std::uint32_t v) { d.output.sizes[i] = v; });
      less(desc_.offsets[i], 0, [i](Desc& d, std::uint32_t v) { d.offsets[i] = v; });
      less(desc_.strides[i], 0, [i](Desc& d, std::uint32_t v) { d.strides[i] = v; });
    } else if constexpr (requires { desc_.window_sizes; }) {
      less(desc_.output.sizes[i], 1, [i](Desc& d, std::uint32_t v) { d.output.sizes[i] = v; });
      less(desc_.window_offsets[i], 0, [i](Desc& d, std::uint32_t v) { d.window_offsets[i] = v; });
      less(desc_.window_sizes[i], 1, [i](Desc& d, std::uint32_t v) { d.window_sizes[i] = v; });
      const std::int32_t stride = desc_.window_strides[i];
      if (stride != 1) with([&](Desc& d) { d.window_strides[i] = 1; });
      if (stride / 2 != 0) with([&](Desc& d) { d.window_strides[i] = stride / 2; });
    }
  }

  Desc desc_;
};

/// Whether draw.hpp draws the operator: slices, and what has a bias.
template <class Desc>
inline constexpr bool is_drawn = std::is_same_v<Desc, dmlref::SliceDesc> || std::is_same_v<Desc, dmlref::Slice1Desc> ||
                                 requires(Desc d) {
  d.bias;
};

/// Whether a descriptor fails as the first did, or no more need be tried.
enum class Answer { yes, no, enough };

/// The smallest that `fails` says yes of, before it has enough.
template <class Fails>
dmlref::OperatorDesc shrink(dmlref::OperatorDesc desc, Fails fails) {
  for (bool better = true; better;) {
    better = false;
    std::vector<dmlref::OperatorDesc> smaller;
    std::visit(
        [&]<class Desc>(const Desc& d) {
          if constexpr (is_drawn<Desc>) {
            for (Desc& next : Reductions<Desc>(d).all) smaller.emplace_back(std::move(next));
          }
        },
        desc);
    for (const dmlref::OperatorDesc& next : smaller) {
      if (!dmlref::validate(next, dmlref::latest_feature_level)) continue;
      const Answer answer = fails(next);
      if (answer == Answer::enough) return desc;
      if (answer == Answer::no) continue;
      desc = next;
      better = true;
      break;
    }
  }
  return desc;
}

}  // namespace dmlref_test::limits
