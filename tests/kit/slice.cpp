// SLICE and SLICE1 once more.
#include <cstdlib>

#include "kernels.hpp"

namespace dmlref::test::kit {
namespace {

/// What arithmetic makes of a real number that should have been copied.
std::uint64_t through_arithmetic(DataType type, std::uint64_t bits, Fault fault) {
  struct Format {
    DataType type;
    int exponent;
    int fraction;
  };
  constexpr Format formats[] = {{DataType::float32, 8, 23}, {DataType::float16, 5, 10}, {DataType::float64, 11, 52}};
  for (const Format& format : formats) {
    if (format.type != type) continue;
    const std::uint64_t fraction = (std::uint64_t{1} << format.fraction) - 1;
    const std::uint64_t exponent = ((std::uint64_t{1} << format.exponent) - 1) << format.fraction;
    const std::uint64_t magnitude = bits & (exponent | fraction);
    if (fault == Fault::slice_nan_quieted && magnitude > exponent) return bits | (fraction + 1) / 2;
    if (fault == Fault::slice_negative_zero_lost && magnitude == 0) return 0;
  }
  return bits;
}

std::int64_t start_of(Fault fault, std::int64_t offset, std::int64_t window, std::int64_t stride, std::int64_t taken) {
  if (fault == Fault::slice_offset_times_stride) offset *= std::abs(stride);
  if (fault == Fault::slice1_window_is_output) window = taken;
  if (stride > 0 || fault == Fault::slice1_starts_at_first) return offset;
  if (fault == Fault::slice1_starts_beyond_last) return offset + window;
  if (fault == Fault::slice1_starts_at_last_taken) return offset + (taken - 1) * -stride;
  return offset + window - 1;
}

}  // namespace

std::vector<std::byte> run_slice(const Case& one, Fault fault) {
  const bool slice1 = one.op == "SLICE1";
  std::vector<std::byte> bytes(one.output.bytes.size(), std::byte{0});
  Tensor input(one, "InputTensor");
  Tensor output = Tensor::output(one, bytes);
  if (fault == Fault::slice_input_strides_ignored) input.ignore_strides();
  if (fault == Fault::slice_output_strides_ignored) output.ignore_strides();
  const List offsets = one.desc[slice1 ? "InputWindowOffsets" : "Offsets"].get<List>();
  const List windows = one.desc[slice1 ? "InputWindowSizes" : "Sizes"].get<List>();
  const List strides = one.desc[slice1 ? "InputWindowStrides" : "Strides"].get<List>();

  const std::size_t rank = output.rank();
  List at(rank, 0);
  do {
    if (fault == Fault::slice_tail_left_out && at[rank - 1] >= output.sizes()[rank - 1] / 4 * 4) continue;
    List from(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t stride = strides[fault == Fault::slice_strides_of_other_dimension ? rank - 1 - d : d];
      if (fault == Fault::slice_stride_ignored) stride = stride < 0 ? -1 : 1;
      if (fault == Fault::slice1_sign_ignored) stride = std::abs(stride);
      std::int64_t offset = offsets[d];
      if (fault == Fault::slice_offset_ignored && d + 1 == rank) offset = 0;
      if (fault == Fault::slice_five_dimensions && d + 5 < rank) offset = 0;
      const std::int64_t start = slice1 ? start_of(fault, offset, windows[d], stride, output.sizes()[d])
                                 : fault == Fault::slice_offset_times_stride ? offset * stride
                                                                             : offset;
      from[d] = start + stride * at[d];
    }
    std::uint64_t bits = through_arithmetic(input.type(), input.bits(from), fault);
    if (fault == Fault::slice_low_words_only) bits &= 0xFFFFFFFFu;
    output.set_bits(at, bits);
  } while (next(at, output.sizes()));
  return bytes;
}

}  // namespace dmlref::test::kit
