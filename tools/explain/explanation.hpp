// explanation.hpp: how one output element comes about. Computed from a desc and its tensors, without files or printing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "dmlref/directml.hpp"
#include "explain/exact_quotient.hpp"

namespace dmlref::tool {

/// Coordinates; outside of the extents where padding is meant.
using Position = std::vector<Index>;

struct ElementValue {
  Position at;
  std::string value;  ///< the fewest digits that read back
  std::string bits;   ///< "0x3F800000"
};

/// input = first + stride * output in each dimension.
struct SliceStep {
  Index output = 0;
  Index first = 0;
  Index stride = 1;
  Index input = 0;
};
struct SliceExplanation {
  std::vector<SliceStep> steps;
  ElementValue source;
  Index byte = 0;  ///< where the source begins in the input
};

/// product = (input - its zero point) * (filter - its zero point).
struct ConvolutionTerm {
  Position input_at;
  bool padding = false;  ///< `input` is then the zero point
  std::int64_t input = 0;
  Position filter_at;
  std::int64_t filter = 0;
  std::int64_t product = 0;
};
struct ConvolutionExplanation {
  bool is_integer = false;  ///< CONVOLUTION_INTEGER: the output is the sum modulo 2^32; no bias, no scales
  Index group = 0;
  Index group_count = 1;
  std::optional<std::int64_t> input_zero_point;  ///< absent tensors: empty, which counts as 0
  std::optional<std::int64_t> filter_zero_point;
  std::vector<ConvolutionTerm> terms;  ///< the first of them
  std::uint64_t term_count = 0;
  std::int64_t sum = 0;  ///< of all products
  std::optional<std::int64_t> bias;
  std::int64_t accumulator = 0;  ///< sum + bias
  float input_scale = 1;
  float filter_scale = 1;
  float output_scale = 1;
  ExactQuotient quotient;  ///< accumulator * input_scale * filter_scale / output_scale
  std::optional<std::int64_t> output_zero_point;
  bool saturated = false;  ///< rounded + zero point lies outside of the output's type, which ends there
};

/// product = (a - its zero point) * (b - its zero point).
struct ProductTerm {
  Position a_at;
  std::int64_t a = 0;
  Position b_at;
  std::int64_t b = 0;
  std::int64_t product = 0;
};
struct ProductExplanation {
  bool is_integer = false;                   ///< MATRIX_MULTIPLY_INTEGER: the output is the sum modulo 2^32; no scales
  std::optional<std::int64_t> a_zero_point;  ///< absent tensors: empty, which counts as 0
  std::optional<std::int64_t> b_zero_point;
  std::vector<ProductTerm> terms;  ///< the first of them
  std::uint64_t term_count = 0;
  std::int64_t sum = 0;  ///< of all products
  float a_scale = 1;
  float b_scale = 1;
  float output_scale = 1;
  ExactQuotient quotient;  ///< sum * a_scale * b_scale / output_scale
  std::optional<std::int64_t> output_zero_point;
  bool saturated = false;  ///< rounded + zero point lies outside of the output's type, which ends there
};

struct NormalizationExplanation {
  std::vector<std::uint32_t> axes;
  std::vector<ElementValue> elements;  ///< the first of the group
  std::uint64_t element_count = 0;
  double mean = 0;      ///< of 106 bits, rounded to double, as is the rest; not finite: as the operator computes it
  double variance = 0;  ///< divided by the count; without the mean about 0
  bool use_mean = true;
  bool normalize_variance = true;
  float epsilon = 0;
  ElementValue input;
  double normalized = 0;  ///< (x - mean) / sqrt(variance + epsilon), or without either
  std::optional<ElementValue> scale;
  std::optional<ElementValue> bias;
  double before_activation = 0;  ///< normalized * scale + bias
  std::string activation;        ///< "ELU(Alpha = 0.5)"; empty: none
  double after_activation = 0;
  std::string nearest;  ///< the value of the output's type nearest to it; the output is at most one ulp from there
};

struct QuantizeLinearExplanation {
  ElementValue input;
  ElementValue scale;
  std::optional<ElementValue> zero_point;  ///< an absent one counts as 0
  ExactQuotient quotient;                  ///< input / scale
  bool saturated = false;                  ///< rounded + zero point lies outside of the output's type, which ends there
};

struct DequantizeLinearExplanation {
  ElementValue input;
  ElementValue scale;
  std::optional<ElementValue> zero_point;  ///< an absent one counts as 0
  std::int64_t difference = 0;             ///< input - zero point
  ExactQuotient product;                   ///< difference * scale
};

struct Explanation {
  std::string operator_name;
  std::string output_type;
  ElementValue output;
  std::variant<SliceExplanation, ConvolutionExplanation, ProductExplanation, NormalizationExplanation,
               QuantizeLinearExplanation, DequantizeLinearExplanation>
      how;
};

/// `inputs` are all inputs of the desc in its order, owned ones too, absent ones empty; `element` lies within the
/// output; at most `most` terms or elements are kept. Only for a desc that validate() accepts.
Explanation explain(const DML_OPERATOR_DESC& desc, std::span<const InputBuffer> inputs, std::span<const Index> element,
                    std::size_t most);

/// The output's sizes.
std::vector<std::uint32_t> output_sizes(const DML_OPERATOR_DESC& desc);

}  // namespace dmlref::tool
