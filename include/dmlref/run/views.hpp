// views.hpp: what calls on views have in common: arguments as facts that the rules know, and a run of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/run/plan.hpp"
#include "dmlref/schema/facts.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/view/narrow.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN

/// An input of a call whose output has elements T. A TensorView<T> and a TensorView<const T> convert to it.
template <class T>
using InputView = TensorView<const std::type_identity_t<T>>;
/// std::nullopt: the tensor is absent.
template <class T>
using OptionalInputView = std::optional<TensorView<const std::type_identity_t<T>>>;

/// The numbers of a span, or of a braced list that lives until the call returns.
template <class T>
class NumberList {
 public:
  /// Braced numbers: {0, 1}.
  constexpr NumberList(std::initializer_list<T> values) noexcept : values_(values.begin(), values.size()) {}
  /// A span, or what converts to one.
  template <class Range>
  requires std::is_convertible_v<const Range&, std::span<const T>>
  constexpr NumberList(const Range& values) noexcept : values_(values) {}
  /// The numbers.
  constexpr operator std::span<const T>() const noexcept { return values_; }

 private:
  std::span<const T> values_;
};

/// A native desc for `compile`, or the reasons why there is none.
template <class Desc>
class DescribeResult {
 public:
  /// What `describe` returns: `desc` counts where the report is ok.
  explicit DescribeResult(Report report, Desc desc = {}) : report_(std::move(report)), desc_(std::move(desc)) {}

  /// Whether there is a desc.
  explicit operator bool() const noexcept { return report_.ok(); }
  /// Every rule that the call breaks, and negative strides, which a desc has none of.
  [[nodiscard]] const Report& report() const& noexcept { return report_; }
  /// The same of a temporary, by value.
  [[nodiscard]] Report report() && noexcept { return std::move(report_); }
  /// The desc; not to be used where the report is not ok.
  [[nodiscard]] const Desc& value() const& noexcept { return desc_; }
  /// The same of a temporary, by value.
  [[nodiscard]] Desc value() && noexcept { return std::move(desc_); }

 private:
  Report report_;
  Desc desc_;
};

namespace detail {

/// An element of a quantized tensor.
template <class T>
concept QuantizedElement = std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t>;

/// Numbers of a call on views as the rules have them: 32 bits, unsigned.
class NumberArgument {
 public:
  static constexpr Index most = (std::numeric_limits<std::uint32_t>::max)();

  /// A number that no 32 bits hold is reported, and the array left out of further rules.
  void read(Report& report, const Index* numbers, std::size_t count, rules::ArrayFacts<std::uint32_t>& facts) {
    facts.values = read(report, facts.name, numbers, count);
  }
  std::span<const std::uint32_t> read(Report& report, std::string_view name, const Index* numbers, std::size_t count) {
    bool sound = true;
    for (std::size_t i = 0; i < count && i < max_rank; ++i) {
      if (numbers[i] < 0 || numbers[i] > most) {
        report.add(RuleId::number_range, rules::element(name, i), {"is ", numbers[i], ", expected 0 to ", most});
        sound = false;
      } else {
        values_[i] = narrow<std::uint32_t>(numbers[i]);
      }
    }
    if (count > max_rank || !sound) return {};
    return {values_.data(), count};
  }

 private:
  std::array<std::uint32_t, max_rank> values_{};
};

/// A view without its element type, for the rules and the plans.
class ViewArgument {
 public:
  template <class T>
  ViewArgument(const TensorView<T>& view, DataType type) noexcept
      : type_(type),
        data_(reinterpret_cast<const std::byte*>(view.data())),
        layout_(view.shape(), view.strides()),
        present_(true) {
    for (std::size_t d = 0; d < layout_.rank(); ++d) {
      if (layout_.shape[d] == 1) layout_.strides[d] = 0;  // never stepped along, and possibly of any size
    }
  }
  template <class T>
  ViewArgument(const std::optional<TensorView<T>>& view, DataType type) noexcept {
    if (view) *this = ViewArgument(*view, type);
  }

  /// Reads this object's arrays: it must outlive them.
  void read(Report& report, rules::TensorFacts& facts) {
    name_ = facts.name;
    facts.present = facts.readable = present_;
    if (!present_) return;
    facts.data_type = type_;
    facts.rank = layout_.rank();
    if (!rules::rank_is_readable(facts.rank)) return;
    facts.sizes = sizes_.read(report, rules::member(name_, "Sizes"), layout_.shape.begin(), layout_.rank());
    if (facts.sizes.empty()) return;
    // The rules look for addresses that elements share and for what the layout spans: a stride's sign changes neither.
    Strides steps = layout_.strides;
    for (std::size_t d = 0; d < steps.size(); ++d) {
      if (steps[d] >= 0 || steps[d] < -NumberArgument::most) continue;  // (below, it is reported with its sign)
      facts.reversed |= 1u << d;
      steps[d] = -steps[d];
    }
    facts.strides = steps_.read(report, rules::member(name_, "Strides"), steps.begin(), steps.size());
    facts.layout_readable = !facts.strides.empty();
    if (data_ == nullptr && rules::all_sizes_positive(facts)) {
      report.add(RuleId::buffer_missing, name_, {"has no data, expected a pointer to its elements"});
    }
  }

  std::string_view name() const noexcept { return name_; }
  DataType type() const noexcept { return type_; }
  bool present() const noexcept { return present_; }
  const std::byte* data() const noexcept { return data_; }
  const Layout& layout() const noexcept { return layout_; }  ///< from data() on

  // What follows is for valid views.

  /// The bytes from the lowest address of an element to the highest.
  std::span<const std::byte> range() const noexcept {
    if (!present_) return {};
    const auto size = static_cast<Index>(size_of(type_));
    return {data_ + layout_.lowest_index() * size, static_cast<std::size_t>(layout_.required_span_size() * size)};
  }
  Layout layout_in_range() const noexcept { return {layout_.shape, layout_.strides, -layout_.lowest_index()}; }

 private:
  std::string_view name_;
  DataType type_ = DataType::unknown;
  const std::byte* data_ = nullptr;
  Layout layout_;
  bool present_ = false;
  NumberArgument sizes_, steps_;
};

/// The tensors of a call, in the order of the desc: its inputs, then its one output.
template <class Desc>
struct Views {
  std::array<ViewArgument, schema::input_count<Desc>> inputs;
  ViewArgument output;

  void read(Report& report, rules::Facts<Desc>& facts) {
    std::size_t next = 0;
    rules::for_each_tensor(facts, [&](rules::TensorFacts& tensor) {
      (next < inputs.size() ? inputs[next] : output).read(report, tensor);
      ++next;
    });
  }
};

/// The desc of a call whose arguments have been read and checked.
template <class Desc>
DescribeResult<Desc> described(Report report, rules::Facts<Desc>& facts) {
  rules::for_each_tensor(facts, [&](const rules::TensorFacts& tensor) {
    for (std::size_t d = 0; d < tensor.strides.size(); ++d) {
      if ((tensor.reversed >> d & 1u) == 0) continue;
      report.add(RuleId::stride_negative, rules::element(rules::member(tensor.name, "Strides"), d),
                 {"is -", tensor.strides[d], ", expected 0 or more: a descriptor has no negative strides"});
    }
  });
  if (!report) return DescribeResult<Desc>(std::move(report));
  return DescribeResult<Desc>(std::move(report), rules::value_of(facts));
}

/// What is left to check when no rule is broken: an output that overlaps an input, and the instruction set.
inline ChosenIsa check_run(Report& report, std::span<const ViewArgument> inputs, const ViewArgument& output,
                           const RunOptions& options) {
  if (report) {
    for (const ViewArgument& input : inputs) {
      check_disjoint(report, output.name(), output.range(), input.name(), input.range());
    }
  }
  return choose_isa(options.isa, report, "RunOptions.isa");
}

/// Runs a plan of tensors none of which DML owns.
inline Report run_plan(const Plan& plan, Bindings bindings, const RunOptions& options) {
  Report report;
  const std::uint64_t bytes = plan.properties().temporary_bytes;
  const AlignedBuffer temporary(bytes);
  if (!temporary.ok()) {
    report.add(RuleId::out_of_memory, "temporary", {"of ", bytes, " bytes could not be allocated"});
    return report;
  }
  bindings.temporary = temporary.span().data();
  plan.execute(bindings, executor_of(options));
  return report;
}

}  // namespace detail
DMLREF_END
