// MATRIX_MULTIPLY_INTEGER and QUANTIZED_LINEAR_MATRIX_MULTIPLY once more.
#include <algorithm>
#include <utility>

#include "quantized.hpp"

namespace dmlref::test::kit {
namespace {

/// Where the value of a row or a column stands; `from_end` counts dimensions from the last.
List parameter_position(const Tensor& tensor, std::int64_t index, std::size_t from_end) {
  List at(tensor.rank(), 0);
  const std::size_t d = tensor.rank() > from_end ? tensor.rank() - 1 - from_end : 0;
  if (tensor.sizes()[d] > 1) at[d] = index % tensor.sizes()[d];
  return at;
}

/// A scale or a zero point, by the element's row and column.
struct Parameters {
  const Case& one;
  Fault fault;

  List position(const Tensor& tensor, bool by_row, std::int64_t row, std::int64_t column) const {
    if (fault == Fault::mm_first_row_only) row = 0;
    if (fault == Fault::mm_first_column_only) column = 0;
    if (fault == Fault::mm_parameters_swapped) std::swap(row, column);
    return parameter_position(tensor, by_row ? row : column, by_row ? 1 : 0);
  }
  std::int64_t integer(const char* name, bool by_row, std::int64_t row, std::int64_t column) const {
    const Tensor tensor(one, name);
    if (!tensor.present() || (fault == Fault::mm_a_zero_point_ignored && name[0] == 'A') ||
        (fault == Fault::mm_b_zero_point_ignored && name[0] == 'B')) {
      return 0;
    }
    return tensor.integer(position(tensor, by_row, row, column));
  }
  float real(const char* name, bool by_row, std::int64_t row, std::int64_t column) const {
    const Tensor tensor(one, name);
    return tensor.real(position(tensor, by_row, row, column));
  }
};

}  // namespace

std::vector<std::byte> run_matrix_multiply(const Case& one, Fault fault) {
  std::vector<std::byte> bytes(one.output.bytes.size(), std::byte{0});
  Tensor a(one, "ATensor");
  Tensor b(one, "BTensor");
  Tensor output = Tensor::output(one, bytes);
  if (fault == Fault::mm_a_strides_ignored) a.ignore_strides();
  if (fault == Fault::mm_b_strides_ignored) b.ignore_strides();
  if (fault == Fault::mm_output_strides_ignored) output.ignore_strides();
  const Parameters parameters{one, fault};
  const std::size_t rank = output.rank(), row_at = rank - 2, column_at = rank - 1;
  const std::int64_t depth = a.sizes()[column_at];
  const std::int64_t taken = fault == Fault::mm_depth_in_fours && depth > 4 ? depth / 4 * 4 : depth;
  const bool transposed = fault == Fault::mm_b_transposed && b.sizes()[row_at] == b.sizes()[column_at];

  List at(rank, 0);
  do {
    const std::int64_t row = at[row_at], column = at[column_at];
    const std::int64_t a_zero = parameters.integer("AZeroPointTensor", true, row, column);
    const std::int64_t b_zero = parameters.integer("BZeroPointTensor", false, row, column);
    Accumulator accumulator(fault);
    for (std::int64_t k = 0; k < taken; ++k) {
      List in_a = at, in_b = at;
      in_a[column_at] = k;
      in_b[row_at] = k;
      if (fault == Fault::mm_first_batch_only) std::fill(in_b.begin(), in_b.end() - 2, 0);
      if (transposed) std::swap(in_b[row_at], in_b[column_at]);
      const std::int64_t x = fault == Fault::mm_a_sign ? a.integer_of_other_sign(in_a) : a.integer(in_a);
      const std::int64_t y = fault == Fault::mm_b_sign ? b.integer_of_other_sign(in_b) : b.integer(in_b);
      accumulator.add({x, a_zero, a.type() == DataType::int8}, {y, b_zero, b.type() == DataType::int8});
    }
    const std::int64_t sum = accumulator.sum();
    List to = at;
    if (fault == Fault::mm_output_transposed && output.sizes()[row_at] == output.sizes()[column_at]) {
      std::swap(to[row_at], to[column_at]);
    }
    if (one.op == "MATRIX_MULTIPLY_INTEGER") {
      output.set_bits(to, static_cast<std::uint64_t>(sum) & 0xFFFFFFFF);
      continue;
    }
    const Scales scales{parameters.real("AScaleTensor", true, row, column),
                        parameters.real("BScaleTensor", false, row, column),
                        parameters.real("OutputScaleTensor", true, row, column)};
    const std::int64_t zero = parameters.integer("OutputZeroPointTensor", true, row, column);
    output.set_bits(to, requantized(sum, 0, scales, zero, output.type(), fault));
  } while (next(at, output.sizes()));
  return bytes;
}

}  // namespace dmlref::test::kit
