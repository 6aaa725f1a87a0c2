// tensor.hpp: the rules that every tensor keeps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"
#include "dmlref/schema/facts.hpp"
#include "dmlref/schema/support.hpp"
#include "dmlref/validate/report.hpp"
#include "dmlref/view/overlap.hpp"
#include "dmlref/view/shape.hpp"

DMLREF_BEGIN
namespace rules {

/// Each tensor in one of the two directions.
enum class Direction { input, output };

inline std::string rank_range(const TensorSupport& row) {
  return row.max_rank == row.min_rank ? text_of({row.min_rank}) : text_of({row.min_rank, " to ", row.max_rank});
}

inline std::string type_names(const DataTypes& types) {
  std::string text;
  for (std::uint32_t value = 0; value < 32; ++value) {
    const auto type = static_cast<DataType>(value);
    if (!types.contains(type)) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(type));
  }
  return text.find(',') == std::string::npos ? text : "one of " + text;
}

inline std::string type_text(DataType type) {
  const auto value = static_cast<std::uint32_t>(type);
  const std::string_view name = to_string(type);
  if (value != 0 && name == to_string(DataType::unknown)) return text_of({value});
  return std::string(name);
}

/// The rules of one tensor of one operator at one level.
struct TensorRules {
  Report& report;
  FeatureLevel level;
  const TensorFacts& tensor;

  template <class Accepts>
  std::optional<FeatureLevel> accepted_from(Accepts accepts) const {
    return first_support(tensor.support, level, accepts);
  }
  std::string field(std::string_view name) const { return member(tensor.name, name); }
};

/// The operator takes the type at some level. Only then is it worth comparing with.
inline bool has_known_type(const TensorFacts& tensor) {
  return tensor.readable && first_support(tensor.support, support::level_1_0, [&](const TensorSupport& row) {
           return row.types.contains(tensor.data_type);
         });
}
inline bool has_known_rank(const TensorFacts& tensor) {
  return tensor.readable && first_support(tensor.support, support::level_1_0,
                                          [&](const TensorSupport& row) { return row.has_rank(tensor.rank); });
}

/// The data type that a tensor must have: another tensor's, or one that follows from it.
struct SameType {
  SameType(const TensorFacts* of = nullptr) noexcept
      : tensor(of), type(of != nullptr ? of->data_type : DataType::unknown) {}
  SameType(const TensorFacts* of, DataType follows) noexcept : tensor(of), type(follows) {}

  const TensorFacts* tensor;  ///< null: any type that the operator takes
  DataType type;
};

/// At most one violation: no level takes it, the other tensor has another one, or this level does not take it yet.
inline void check_data_type(const TensorRules& rules, const SameType& same_as) {
  const DataType type = rules.tensor.data_type;
  const auto from = rules.accepted_from([&](const TensorSupport& row) { return row.types.contains(type); });
  const TensorSupport* now = find_support(rules.tensor.support, rules.level);
  const auto is = [&] { return text_of({"is ", type_text(type), ", expected "}); };
  const auto one_of = [&] { return is() + (now != nullptr ? type_names(now->types) : ""); };
  if (!from) {
    rules.report.add(RuleId::tensor_data_type, rules.field("DataType"), {one_of()});
  } else if (same_as.tensor != nullptr && has_known_type(*same_as.tensor) && same_as.type != type) {
    const std::string other = member(same_as.tensor->name, "DataType");
    const bool follows = same_as.type != same_as.tensor->data_type;
    rules.report.add(RuleId::tensor_data_type_match, rules.field("DataType"),
                     {is(), type_text(same_as.type), follows ? " where " : " as ", other,
                      follows ? " is " + type_text(same_as.tensor->data_type) : ""});
  } else if (*from != rules.level) {
    rules.report.add(RuleId::tensor_data_type, rules.field("DataType"), {one_of()}, *from);
  }
}

inline void check_rank(const TensorRules& rules, const TensorFacts* same_as) {
  const std::uint64_t rank = rules.tensor.rank;
  const auto is = [&] { return text_of({"is ", rank, ", expected "}); };
  if (!rank_is_readable(rank)) {
    rules.report.add(RuleId::tensor_dimension_count, rules.field("DimensionCount"), {is(), "1 to 8"});
    return;
  }
  const auto from = rules.accepted_from([&](const TensorSupport& row) { return row.has_rank(rank); });
  const TensorSupport* now = find_support(rules.tensor.support, rules.level);
  const auto range = [&] { return is() + (now != nullptr ? rank_range(*now) : ""); };
  if (!from) {
    rules.report.add(RuleId::tensor_rank, rules.field("DimensionCount"), {range()});
  } else if (same_as != nullptr && has_known_rank(*same_as) && same_as->rank != rank) {
    rules.report.add(RuleId::tensor_rank_match, rules.field("DimensionCount"),
                     {is(), same_as->rank, " as ", member(same_as->name, "DimensionCount")});
  } else if (*from != rules.level) {
    rules.report.add(RuleId::tensor_rank, rules.field("DimensionCount"), {range()}, *from);
  }
}

inline void check_flags(const TensorRules& rules, Direction direction) {
  const std::uint32_t flags = rules.tensor.flags;
  if ((flags & ~flag_owned_by_dml) != 0) {
    rules.report.add(RuleId::tensor_flags, rules.field("Flags"),
                     {"is ", flags, ", expected 0 (NONE) or 1 (OWNED_BY_DML)"});
  }
  if (direction == Direction::output && (flags & flag_owned_by_dml) != 0) {
    rules.report.add(RuleId::tensor_owned_by_dml, rules.field("Flags"),
                     {"is ", flags, ", expected no OWNED_BY_DML: only inputs are owned by DML"});
  }
}

inline void check_sizes(const TensorRules& rules) {
  const auto& sizes = rules.tensor.sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 0) continue;
    rules.report.add(RuleId::tensor_size_zero, size_field(rules.tensor, d), {"is 0, expected at least 1"});
  }
}

inline constexpr std::uint64_t element_limit = (std::numeric_limits<std::uint32_t>::max)();

/// Whether the layout keeps the limit of 2^32 - 1 elements.
inline bool check_element_limit(const TensorRules& rules) {
  const TensorFacts& tensor = rules.tensor;
  const auto exceeds = [](std::optional<std::uint64_t> elements) { return !elements || *elements > element_limit; };
  const auto text = [](std::optional<std::uint64_t> elements) {
    return text_of({elements ? text_of({*elements}) : "more than 2^64", " elements, expected at most 4294967295"});
  };
  const auto product = spanned_elements(tensor.sizes, {});
  if (exceeds(product)) {
    rules.report.add(RuleId::tensor_element_limit, rules.field("Sizes"), {"has a product of ", text(product)});
    return false;
  }
  const auto spanned = spanned_elements(tensor.sizes, tensor.strides);
  if (exceeds(spanned)) {
    rules.report.add(RuleId::tensor_element_limit, rules.field("Strides"), {"with Sizes spans ", text(spanned)});
    return false;
  }
  return true;
}

/// `within_limit`: the layout keeps the limit of elements, so that a total size beyond it is a fault of its own.
inline void check_total_size(const TensorRules& rules, bool within_limit) {
  const TensorFacts& tensor = rules.tensor;
  const auto least = buffer_tensor_size(tensor.data_type, tensor.sizes, tensor.strides);
  if (!least || !tensor.total_size_in_bytes) return;
  const std::uint64_t given = *tensor.total_size_in_bytes;
  const std::uint64_t most = (element_limit * size_of(tensor.data_type) + 3) / 4 * 4;
  const auto report = [&](RuleId rule, std::string_view bound, std::uint64_t limit, std::string_view why) {
    rules.report.add(rule, rules.field("TotalTensorSizeInBytes"), {"is ", given, ", expected at ", bound, limit, why});
  };
  if (given < *least) {
    report(RuleId::tensor_total_size, "least ", *least, ", which Sizes, Strides and DataType imply");
  } else if (within_limit && given > most) {
    report(RuleId::tensor_element_limit, "most ", most, ", which 4294967295 elements take");
  }
}

inline void check_alignment(const TensorRules& rules) {
  const std::uint32_t alignment = rules.tensor.guaranteed_base_offset_alignment;
  const std::size_t element_size = size_of(rules.tensor.data_type);
  if (alignment == 0 || (std::has_single_bit(alignment) && alignment >= element_size)) return;
  rules.report.add(RuleId::tensor_alignment, rules.field("GuaranteedBaseOffsetAlignment"),
                   {"is ", alignment, ", expected 0 or a power of two",
                    element_size > 1 ? text_of({" of at least ", element_size, ", the element's size"}) : ""});
}

/// Every dimension with stride 0 and more than one element; else the dimension that makes the layout overlap.
inline void check_no_overlap(const TensorRules& rules) {
  const auto& sizes = rules.tensor.sizes;
  const auto& strides = rules.tensor.strides;
  constexpr const char* expected = ", expected an address of its own for every element of the output";
  const auto stride_field = [&](std::size_t d) { return element(rules.field("Strides"), d); };
  bool broadcasts = false;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] != 0 || sizes[d] <= 1) continue;
    broadcasts = true;
    rules.report.add(RuleId::output_strides_overlap, stride_field(d),
                     {"is 0 where Sizes[", d, "] is ", sizes[d], expected});
  }
  if (broadcasts || strides.empty()) return;
  const auto overlap = find_overlap(Shape::from(sizes), Strides::from(strides));
  if (!overlap) return;
  rules.report.add(
      RuleId::output_strides_overlap, stride_field(overlap->dimension),
      {"is ", (rules.tensor.reversed >> overlap->dimension & 1u) != 0 ? "-" : "", strides[overlap->dimension],
       " which makes elements ", overlap->certain ? "share" : "possibly share (undecided after a bounded search)",
       " an address", expected});
}

/// All rules of one tensor. `rank_of`: the tensor that it must agree with, or null.
inline void check_tensor(Report& report, FeatureLevel level, Direction direction, const TensorFacts& tensor,
                         const SameType& type_of = {}, const TensorFacts* rank_of = nullptr) {
  if (!tensor.readable) return;
  const TensorRules rules{report, level, tensor};
  check_data_type(rules, type_of);
  check_flags(rules, direction);
  check_rank(rules, rank_of);
  check_sizes(rules);
  check_alignment(rules);
  if (!tensor.layout_readable || !all_sizes_positive(tensor)) return;
  const bool within_limit = check_element_limit(rules);
  check_total_size(rules, within_limit);
  if (within_limit && direction == Direction::output) check_no_overlap(rules);
}

}  // namespace rules
DMLREF_END
