// facts.hpp: the fields of a desc as far as they can be read, Microsoft's or native: what the rules look at.
//
// What could not be read is in the Report already and left out of the facts, so that a rule that needs it is skipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/schema/schema.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/view/layout.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace rules {

// The bit of DML_TENSOR_FLAG_OWNED_BY_DML.
inline constexpr std::uint32_t flag_owned_by_dml = 1;

/// A tensor as far as it can be read.
struct TensorFacts {
  std::string_view name;                             ///< as in the desc: "FilterTensor"
  SupportRows support;                               ///< what the operator accepts
  bool present = false;                              ///< not null
  bool readable = false;                             ///< what follows has been read
  DataType data_type = DataType::unknown;            ///< any value
  std::uint32_t flags = 0;                           ///< any value
  std::uint64_t rank = 0;                            ///< any value
  std::span<const std::uint32_t> sizes;              ///< empty: cannot be trusted
  std::span<const std::uint32_t> strides;            ///< empty: packed, or cannot be trusted
  std::uint32_t reversed = 0;                        ///< bit d: stride d, here its magnitude, is a view's and negative
  bool layout_readable = false;                      ///< sizes and strides can both be trusted
  std::optional<std::uint64_t> total_size_in_bytes;  ///< absent of a view
  std::uint32_t guaranteed_base_offset_alignment = 0;

  /// The size of dimension `d` where there is one to compare with; else 0.
  constexpr std::uint32_t size(std::size_t d) const noexcept { return d < sizes.size() ? sizes[d] : 0; }
};

/// An array of the operator's own desc; empty where it cannot be trusted.
template <class T>
struct ArrayFacts {
  std::string_view name;
  std::span<const T> values;

  constexpr std::size_t size() const noexcept { return values.size(); }
  constexpr T operator[](std::size_t i) const noexcept { return values[i]; }
};

/// The length of arrays. A native desc has none: its arrays know their lengths.
struct CountFacts {
  std::string_view name;
  std::optional<std::uint32_t> value;  ///< of Microsoft's struct: any number
};

/// A fused activation as far as it can be read.
struct ActivationFacts {
  ActivationType type = ActivationType::identity;  ///< any value
  bool readable = false;                           ///< what follows has been read
  std::array<float, 2> parameters{};
  bool input_present = false;
  bool output_present = false;
};

/// How the facts hold a member of a native desc: a number is its own fact.
template <class Value>
struct FactOf {
  using Type = Value;
};
template <>
struct FactOf<TensorDesc> {
  using Type = TensorFacts;
};
template <>
struct FactOf<std::optional<TensorDesc>> {
  using Type = TensorFacts;
};
template <class T>
struct FactOf<std::vector<T>> {
  using Type = ArrayFacts<T>;
};
template <>
struct FactOf<std::optional<Activation>> {
  using Type = std::optional<ActivationFacts>;
};

/// The fact of a field.
template <class Field>
struct FactOfField;
template <class Desc, class Value>
struct FactOfField<Field<Desc, Value>> {
  using Type = typename FactOf<Value>::Type;
};
template <>
struct FactOfField<CountField> {
  using Type = CountFacts;
};

// name_fact(field, fact): what is known before anything is read.

inline void name_fact(const FieldInfo& field, TensorFacts& facts) noexcept {
  facts.name = field.name;
  facts.support = field.support;
}
template <class Fact>
void name_fact(const FieldInfo& field, Fact& facts) noexcept {
  if constexpr (requires { facts.name; }) facts.name = field.name;
}

template <class Places, class Fields>
struct FactsOf;
template <std::size_t... At, class... Fields>
struct FactsOf<std::index_sequence<At...>, schema::PackOf<std::index_sequence<At...>, Fields...>> {
  using Type = schema::Pack<typename FactOfField<Fields>::Type...>;
};

/// All fields of an operator as far as they can be read.
template <class Desc>
class Facts {
 public:
  /// Names, and nothing read.
  Facts() noexcept { name_all(schema::Places<Desc>()); }

  /// By place; see also `fact`.
  template <std::size_t At>
  auto& at() noexcept {
    return schema::value_at<At>(values_);
  }
  template <std::size_t At>
  const auto& at() const noexcept {
    return schema::value_at<At>(values_);
  }

 private:
  template <std::size_t... At>
  void name_all(std::index_sequence<At...>) noexcept {
    (name_fact(schema::fields<Desc>[At], at<At>()), ...);
  }

  using Fields = std::remove_const_t<decltype(Schema<Desc>::fields)>;
  typename FactsOf<schema::Places<Desc>, Fields>::Type values_{};
};

/// The facts of one member of the native desc.
template <auto Member, class Desc>
auto& fact(Facts<Desc>& facts) noexcept {
  return facts.template at<schema::index_of(Member)>();
}
template <auto Member, class Desc>
const auto& fact(const Facts<Desc>& facts) noexcept {
  return facts.template at<schema::index_of(Member)>();
}
/// The length that counts the entries of an array of the native desc.
template <auto Array, class Desc>
CountFacts& count_fact(Facts<Desc>& facts) noexcept {
  return facts.template at<schema::count_index_of(Array)>();
}
template <auto Array, class Desc>
const CountFacts& count_fact(const Facts<Desc>& facts) noexcept {
  return facts.template at<schema::count_index_of(Array)>();
}

template <class Visit>
void visit_tensor(Visit& visit, TensorFacts& facts) {
  visit(facts);
}
template <class Visit, class Other>
void visit_tensor(Visit&, Other&) {}
template <class Desc, class Visit, std::size_t... At>
void for_each_tensor(Facts<Desc>& facts, Visit& visit, std::index_sequence<At...>) {
  (visit_tensor(visit, facts.template at<At>()), ...);
}
/// Calls `visit` for every tensor.
template <class Desc, class Visit>
void for_each_tensor(Facts<Desc>& facts, Visit visit) {
  for_each_tensor(facts, visit, schema::Places<Desc>());
}

template <class Visit, class T>
void visit_array(Visit& visit, ArrayFacts<T>& facts) {
  visit(facts);
}
template <class Visit, class Other>
void visit_array(Visit&, Other&) {}
template <class Desc, class Visit, std::size_t... At>
void for_each_array(Facts<Desc>& facts, Visit& visit, std::index_sequence<At...>) {
  (visit_array(visit, facts.template at<At>()), ...);
}
/// Calls `visit` for every array of 32-bit numbers.
template <class Desc, class Visit>
void for_each_array(Facts<Desc>& facts, Visit visit) {
  for_each_array(facts, visit, schema::Places<Desc>());
}

inline std::string member(std::string_view owner, std::string_view name) { return text_of({owner, ".", name}); }
inline std::string element(std::string_view array, std::size_t index) { return text_of({array, "[", index, "]"}); }
inline std::string size_field(const TensorFacts& tensor, std::size_t d) {
  return element(member(tensor.name, "Sizes"), d);
}

/// Whether sizes can be trusted and none is 0.
inline bool all_sizes_positive(const TensorFacts& tensor) {
  for (const std::uint32_t size : tensor.sizes) {
    if (size == 0) return false;
  }
  return !tensor.sizes.empty();
}

inline constexpr bool rank_is_readable(std::uint64_t rank) noexcept { return rank >= 1 && rank <= max_rank; }

// Reading a native desc. The one rule that only a native tensor can break: strides of another length than sizes.

inline void read_member(Report& report, const TensorDesc& desc, TensorFacts& facts) {
  facts.present = true;
  facts.readable = true;
  facts.data_type = desc.data_type;
  facts.flags = desc.owned_by_dml ? flag_owned_by_dml : 0;
  facts.rank = desc.sizes.size();
  facts.total_size_in_bytes = desc.total_size_in_bytes;
  facts.guaranteed_base_offset_alignment = desc.guaranteed_base_offset_alignment;
  const bool same_length = !desc.strides || desc.strides->size() == desc.sizes.size();
  if (!same_length) {
    report.add(RuleId::array_length, member(facts.name, "Strides"),
               {"has ", desc.strides->size(), " entries, expected ", desc.sizes.size(), ", one per dimension"});
  }
  if (!rank_is_readable(facts.rank)) return;
  facts.sizes = desc.sizes;
  facts.layout_readable = same_length;
  if (desc.strides && same_length) facts.strides = *desc.strides;
}
inline void read_member(Report& report, const std::optional<TensorDesc>& desc, TensorFacts& facts) {
  if (desc) read_member(report, *desc, facts);
}
template <class T>
void read_member(Report&, const std::vector<T>& array, ArrayFacts<T>& facts) {
  facts.values = array;
}
inline void read_member(Report&, const std::optional<Activation>& activation, std::optional<ActivationFacts>& facts) {
  if (activation) facts = ActivationFacts{activation->type, true, activation->parameters, false, false};
}
template <class Number>
requires std::is_arithmetic_v<Number>
void read_member(Report&, const Number& number, Number& fact) { fact = number; }

template <class Desc, class Value, class Fact>
void read_field(Report& report, const Desc& desc, const Field<Desc, Value>& field, Fact& fact) {
  read_member(report, desc.*field.member, fact);
}
template <class Desc>
void read_field(Report&, const Desc&, const CountField&, CountFacts&) {}
template <class Desc, std::size_t... At>
void read_fields(Report& report, const Desc& desc, Facts<Desc>& facts, std::index_sequence<At...>) {
  (read_field(report, desc, schema::value_at<At>(Schema<Desc>::fields), facts.template at<At>()), ...);
}
/// A native desc's fields; what cannot be read is reported.
template <class Desc>
Facts<Desc> read(Report& report, const Desc& desc) {
  Facts<Desc> facts;
  read_fields(report, desc, facts, schema::Places<Desc>());
  return facts;
}

/// A native array whose length is not the number of dimensions is reported, and not read further.
template <class T>
void check_array_length(Report& report, ArrayFacts<T>& array, std::uint64_t expected) {
  if (array.size() == expected) return;
  report.add(RuleId::array_length, array.name,
             {"has ", array.size(), " entries, expected ", expected, ", one per dimension"});
  array.values = {};
}

// value_to(fact, member): what has been read, as the native desc has it.

inline void value_to(const TensorFacts& facts, TensorDesc& tensor) {
  const Dimensions sizes(facts.sizes.begin(), facts.sizes.end());
  if (!facts.total_size_in_bytes) {  // a view: the usual tensor
    const Layout layout(Shape::from(facts.sizes), Strides::from(facts.strides));
    tensor = layout.is_contiguous()
                 ? TensorDesc(facts.data_type, sizes)
                 : TensorDesc(facts.data_type, sizes, Dimensions(facts.strides.begin(), facts.strides.end()));
    return;
  }
  tensor.data_type = facts.data_type;
  tensor.sizes = sizes;
  if (!facts.strides.empty()) tensor.strides.emplace(facts.strides.begin(), facts.strides.end());
  tensor.total_size_in_bytes = *facts.total_size_in_bytes;
  tensor.guaranteed_base_offset_alignment = facts.guaranteed_base_offset_alignment;
  tensor.owned_by_dml = (facts.flags & flag_owned_by_dml) != 0;
}
inline void value_to(const TensorFacts& facts, std::optional<TensorDesc>& tensor) {
  if (facts.present) value_to(facts, tensor.emplace());
}
template <class T>
void value_to(const ArrayFacts<T>& array, std::vector<T>& values) {
  values.assign(array.values.begin(), array.values.end());
}
inline void value_to(const std::optional<ActivationFacts>& facts, std::optional<Activation>& activation) {
  if (facts) activation = Activation{facts->type, facts->parameters};
}
template <class Number>
requires std::is_arithmetic_v<Number>
void value_to(const Number& fact, Number& number) { number = fact; }

template <class Desc, class Value, class Fact>
void value_to(const Fact& fact, Desc& desc, const Field<Desc, Value>& field) {
  value_to(fact, desc.*field.member);
}
template <class Desc>
void value_to(const CountFacts&, Desc&, const CountField&) {}
template <class Desc, std::size_t... At>
void values_to(const Facts<Desc>& facts, Desc& desc, std::index_sequence<At...>) {
  (value_to(facts.template at<At>(), desc, schema::value_at<At>(Schema<Desc>::fields)), ...);
}
/// The native desc of facts that no rule objects to.
template <class Desc>
Desc value_of(const Facts<Desc>& facts) {
  Desc desc;
  values_to(facts, desc, schema::Places<Desc>());
  return desc;
}

}  // namespace rules
DMLREF_END
