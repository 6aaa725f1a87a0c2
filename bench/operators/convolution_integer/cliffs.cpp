// cliffs.cpp: sums of integers: two rows show that data make no difference.
#include <cstdint>
#include <string>
#include <vector>

#include "support/cliffs.hpp"

namespace bench {
namespace {

using dmlref::DataType;
using dmlref::TensorDesc;

enum class Bytes { any, zero, extreme };

Subject make(std::uint32_t channels, std::uint32_t extent, Bytes bytes) {
  Random random(45);
  const auto values = [&](std::size_t count) {
    std::vector<std::uint8_t> all(count);
    for (std::uint8_t& x : all) {
      x = static_cast<std::uint8_t>(random.next());
      if (bytes == Bytes::zero) x = 0;
      if (bytes == Bytes::extreme) x = x < 128 ? 0 : 255;
    }
    return copy_of(all);
  };
  dmlref::ConvolutionIntegerDesc d;
  d.input = TensorDesc(DataType::uint8, {1, channels, extent, extent});
  d.input_zero_point = TensorDesc(DataType::uint8, {1, 1, 1, 1});
  d.filter = TensorDesc(DataType::int8, {channels, channels, 3, 3});
  d.filter.owned_by_dml = true;
  d.output = TensorDesc(DataType::int32, {1, channels, extent, extent});
  d.strides = d.dilations = d.start_padding = d.end_padding = {1, 1};
  Subject subject;
  subject.desc = d;
  subject.output_bytes = std::size_t{4} * channels * extent * extent;
  subject.inputs.push_back(values(std::size_t{channels} * extent * extent));
  subject.inputs.push_back(copy_of(std::vector<std::uint8_t>{128}));
  subject.inputs.push_back(values(std::size_t{9} * channels * channels));
  subject.inputs.emplace_back();
  return subject;
}

}  // namespace

void add_convolution_integer_cliffs(std::vector<Cliff>& cliffs) {
  for (const bool tiny : {false, true}) {
    const std::uint32_t channels = tiny ? 5 : 64, extent = tiny ? 6 : 28;
    const std::string name = "3x3, " + std::to_string(channels) + " channels";
    for (const auto& [data, bytes] : {std::pair("all 0", Bytes::zero), std::pair("extremes", Bytes::extreme)}) {
      cliffs.push_back({"CI", name, data, [=, kind = bytes] { return make(channels, extent, kind); },
                        [=] { return make(channels, extent, Bytes::any); }, tiny});
    }
  }
}

}  // namespace bench
