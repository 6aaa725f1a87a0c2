// shrink.hpp: smaller descriptors than one that fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/validate.hpp"
#include "limits/work.hpp"

namespace dmlref_test::limits {

/// Makes what depends on other numbers fit them again.
template <Convolving Desc>
void repair(Desc& d) {
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
  if constexpr (requires { d.filter_scale; }) channels(d.filter_scale);
  if (d.filter_zero_point) channels(*d.filter_zero_point);
  if constexpr (requires { d.bias; }) {
    if (d.bias) channels(*d.bias);
  }
}
template <Multiplying Desc>
void repair(Desc& d) {
  const std::size_t rank = d.a.rank();
  for (std::size_t i = 0; i + 2 < rank; ++i) d.b.sizes[i] = d.output.sizes[i] = d.a.sizes[i];
  d.b.sizes[rank - 2] = d.a.sizes[rank - 1];
  d.output.sizes[rank - 2] = d.a.sizes[rank - 2];
  d.output.sizes[rank - 1] = d.b.sizes[rank - 1];
  const auto fit = [](dmlref::TensorDesc& tensor, std::uint32_t count) {
    for (std::uint32_t& size : tensor.sizes) size = size > 1 ? count : 1;
  };
  const std::uint32_t rows = d.a.sizes[rank - 2], columns = d.b.sizes[rank - 1];
  if (d.a_zero_point) fit(*d.a_zero_point, rows);
  if (d.b_zero_point) fit(*d.b_zero_point, columns);
  if constexpr (requires { d.a_scale; }) {
    fit(d.a_scale, rows);
    fit(d.b_scale, columns);
    fit(d.output_scale, rows);
    if (d.output_zero_point) fit(*d.output_zero_point, rows);
  }
}
template <QuantizingElements Desc>
void repair(Desc& d) {
  d.scale.sizes = d.output.sizes = d.input.sizes;
  if (d.zero_point) d.zero_point->sizes = d.input.sizes;
}
inline void repair(dmlref::SliceDesc& d) { d.sizes = d.output.sizes; }
inline void repair(dmlref::Slice1Desc&) {}
template <Normalizing Desc>
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
    if constexpr (Convolving<Desc>) {
      reduce_channels();
      for (std::size_t i = 0; i < desc.strides.size(); ++i) {
        less(desc.input.sizes[i + 2], 1, [i](Desc& d, std::uint32_t v) { d.input.sizes[i + 2] = v; });
        less(desc.filter.sizes[i + 2], 1, [i](Desc& d, std::uint32_t v) { d.filter.sizes[i + 2] = v; });
        less(desc.start_padding[i], 0, [i](Desc& d, std::uint32_t v) { d.start_padding[i] = v; });
        less(desc.end_padding[i], 0, [i](Desc& d, std::uint32_t v) { d.end_padding[i] = v; });
        less(desc.dilations[i], 1, [i](Desc& d, std::uint32_t v) { d.dilations[i] = v; });
        less(desc.strides[i], 1, [i](Desc& d, std::uint32_t v) { d.strides[i] = v; });
      }
    } else if constexpr (Multiplying<Desc>) {
      const std::size_t rank = desc.a.rank();
      for (std::size_t i = 0; i < rank; ++i) {
        less(desc.a.sizes[i], 1, [i](Desc& d, std::uint32_t v) { d.a.sizes[i] = v; });
      }
      less(desc.b.sizes[rank - 1], 1, [&](Desc& d, std::uint32_t v) { d.b.sizes[rank - 1] = v; });
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

  /// Calls f(pointer to member) for each.
  template <class F>
  static void for_each_tensor(F f) {
    const auto visit = [&]<class Field>(const Field& field) {
      if constexpr (requires(Desc & d) { tensor_of(d, field.member); }) f(field.member);
    };
    [&]<std::size_t... At>(std::index_sequence<At...>) {
      (visit(dmlref::schema::value_at<At>(dmlref::Schema<Desc>::fields)), ...);
    }
    (dmlref::schema::Places<Desc>());
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
          if constexpr (Drawn<Desc>) {
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
