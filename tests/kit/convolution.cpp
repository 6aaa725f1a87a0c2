// QUANTIZED_LINEAR_CONVOLUTION and CONVOLUTION_INTEGER once more.
#include <utility>

#include "quantized.hpp"

namespace dmlref::test::kit {
namespace {

List two(const Json& json, std::int64_t missing) {
  List list = json.get<List>();
  if (list.size() == 1) list.insert(list.begin(), missing);
  return list;
}

/// Where the element of `channel` stands in a tensor with one element, or one for each channel.
List position(const Tensor& tensor, std::int64_t channel) {
  List at(tensor.rank(), 0);
  const std::size_t d = at.size() == 1 ? 0 : 1;
  if (tensor.sizes()[d] > 1) at[d] = channel % tensor.sizes()[d];
  return at;
}

}  // namespace

std::vector<std::byte> run_convolution(const Case& one, Fault fault) {
  std::vector<std::byte> bytes(one.output.bytes.size(), std::byte{0});
  Tensor input(one, "InputTensor");
  Tensor filter(one, "FilterTensor");
  Tensor bias(one, "BiasTensor");
  Tensor output = Tensor::output(one, bytes);
  const Tensor in_scale(one, "InputScaleTensor");
  const Tensor in_zero(one, "InputZeroPointTensor");
  const Tensor filter_scale(one, "FilterScaleTensor");
  const Tensor filter_zero(one, "FilterZeroPointTensor");
  const Tensor out_scale(one, "OutputScaleTensor");
  const Tensor out_zero(one, "OutputZeroPointTensor");
  if (fault == Fault::qlc_input_strides_ignored) input.ignore_strides();
  if (fault == Fault::qlc_filter_strides_ignored) filter.ignore_strides();
  if (fault == Fault::qlc_output_strides_ignored) output.ignore_strides();
  if (fault == Fault::qlc_bias_stride_ignored && bias.present()) bias.ignore_strides();
  input.insert_height();
  filter.insert_height();
  output.insert_height();

  List strides = two(one.desc["Strides"], 1);
  List dilations = two(one.desc["Dilations"], 1);
  List padding = two(one.desc[fault == Fault::qlc_end_padding_first ? "EndPadding" : "StartPadding"], 0);
  if (fault == Fault::qlc_strides_swapped) std::swap(strides[0], strides[1]);
  if (fault == Fault::qlc_dilations_swapped) std::swap(dilations[0], dilations[1]);
  if (fault == Fault::qlc_dilation_ignored) dilations = {1, 1};
  if (fault == Fault::qlc_paddings_swapped) std::swap(padding[0], padding[1]);
  const auto groups = one.desc["GroupCount"].get<std::int64_t>();
  const std::int64_t outputs_per_group = output.sizes()[1] / groups;
  const std::int64_t channels = filter.sizes()[1];
  const std::int64_t taken = fault == Fault::qlc_channels_in_fours && channels > 4 ? channels / 4 * 4 : channels;
  const std::int64_t height = filter.sizes()[2];
  const std::int64_t width = filter.sizes()[3];
  const bool signed_in = input.type() == DataType::int8, signed_filter = filter.type() == DataType::int8;

  const auto value = [](const Tensor& tensor, std::int64_t channel) {
    return tensor.present() ? tensor.integer(position(tensor, channel)) : 0;
  };
  const std::int64_t x_zero = fault == Fault::qlc_input_zero_point_ignored ? 0 : value(in_zero, 0);

  List at(4, 0);
  do {
    const std::int64_t channel = at[1];
    const std::int64_t group = fault == Fault::qlc_groups_interleaved ? channel % groups
                               : fault == Fault::qlc_first_group_only ? 0
                                                                      : channel / outputs_per_group;
    const std::int64_t within = channel % outputs_per_group;
    const std::int64_t parameter = fault == Fault::qlc_scale_by_input_channel ? within : channel;
    std::int64_t w_zero = value(filter_zero, fault == Fault::qlc_first_filter_zero_point ? 0 : parameter);
    if (fault == Fault::qlc_filter_zero_point_ignored) w_zero = 0;
    const std::int64_t added =
        fault == Fault::qlc_bias_ignored ? 0 : value(bias, fault == Fault::qlc_bias_within_group ? within : channel);

    Accumulator accumulator(fault);
    for (std::int64_t c = 0; c < taken; ++c) {
      for (std::int64_t fy = 0; fy < height; ++fy) {
        for (std::int64_t fx = 0; fx < width; ++fx) {
          const std::int64_t y = at[2] * strides[0] + fy * dilations[0] - padding[0];
          const std::int64_t x = at[3] * strides[1] + fx * dilations[1] - padding[1];
          const bool inside = y >= 0 && y < input.sizes()[2] && x >= 0 && x < input.sizes()[3];
          if (!inside && fault != Fault::qlc_raw_zero_padding) continue;
          List from{fault == Fault::qlc_first_batch_only ? 0 : at[0], group * channels + c, y, x};
          List tap{channel, c, fy, fx};
          if (fault == Fault::qlc_kernel_flipped) tap = {channel, c, height - 1 - fy, width - 1 - fx};
          if (fault == Fault::qlc_kernel_transposed && height == width) tap = {channel, c, fx, fy};
          const std::int64_t w =
              fault == Fault::qlc_filter_sign ? filter.integer_of_other_sign(tap) : filter.integer(tap);
          std::int64_t v = 0;
          if (inside) v = fault == Fault::qlc_input_sign ? input.integer_of_other_sign(from) : input.integer(from);
          accumulator.add({v, x_zero, signed_in}, {w, w_zero, signed_filter});
        }
      }
    }
    accumulator.add(added);
    const std::int64_t sum = accumulator.sum();
    if (one.op == "CONVOLUTION_INTEGER") {
      output.set_bits(at, static_cast<std::uint64_t>(sum) & 0xFFFFFFFF);
      continue;
    }
    const Scales scales{
        in_scale.real(position(in_scale, 0)),
        filter_scale.real(position(filter_scale, fault == Fault::qlc_first_filter_scale ? 0 : parameter)),
        out_scale.real(position(out_scale, 0))};
    output.set_bits(at, requantized(sum, added, scales, value(out_zero, 0), output.type(), fault));
  } while (next(at, output.sizes()));
  return bytes;
}

}  // namespace dmlref::test::kit
