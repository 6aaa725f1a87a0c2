// cliffs.cpp: scales, biases and inputs on which convolutions leave their fast rounding.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/cliffs.hpp"
#include "support/workloads.hpp"

namespace bench {
namespace {

struct Workload {
  std::string name;
  Layer layer;
  bool nhwc = false, owned = true;
  bool tiny = false;
};

/// What a data set may change.
struct LayerTensors {
  std::vector<std::uint8_t> input;
  std::vector<std::int8_t> filter;
  std::vector<float> filter_scale;
  std::vector<std::int32_t> bias;
  float input_scale = 0.02f, output_scale = 0.05f;
  std::uint8_t input_zero = 128, output_zero = 128;
  double scale = 1;  ///< quotient of the three with which outputs of random data fill their range
};

struct DataSet {
  std::string name;
  void (*change)(LayerTensors&);
};

constexpr float at_end = 0x1p31f;

/// Scales are powers of two. Products are multiples of twice a tie's distance, and biases of it, odd ones: every output
/// is a tie.
void lie_on_ties(LayerTensors& t, std::uint8_t output_zero) {
  t.input_scale = 0.25f;
  t.output_scale = 0.5f;
  t.output_zero = output_zero;
  for (float& s : t.filter_scale) s = 0x1p-10f;
  for (std::int8_t& w : t.filter) w = static_cast<std::int8_t>(w / 32 * 32);
  for (std::uint8_t& x : t.input) x = static_cast<std::uint8_t>(x / 64 * 64);
  for (std::int32_t& b : t.bias) b = 1024 * (2 * (b % 16) + 1);
}

/// The same with a quotient that no float holds, a third of a power of two: only biases count.
void lie_on_ties_of_thirds(LayerTensors& t) {
  const double inverse = std::exp2(std::round(-std::log2(t.scale)));
  t.input_scale = 1.0f;
  t.output_scale = 3.0f;
  for (float& s : t.filter_scale) s = static_cast<float>(1 / inverse);
  for (std::int32_t& b : t.bias) b = static_cast<std::int32_t>(1.5 * inverse) * (2 * (b % 40) + 1);
  for (std::uint8_t& x : t.input) x = t.input_zero;
}

/// Biases at both ends of 32 bits.
void take_biases_to_the_ends(LayerTensors& t) {
  std::int32_t number = 0;
  for (std::int32_t& b : t.bias) {
    b = number % 2 != 0 ? 0x7FFFFFFF - number : -0x7FFFFFFF + number;
    ++number;
  }
}

constexpr auto change_nothing = [](LayerTensors&) {};
const DataSet random_data{"random", change_nothing};
const DataSet data_sets[] = {
    {"powers of two, all ties", [](LayerTensors& t) { lie_on_ties(t, 128); }},
    {"powers of two, all ties, odd zero point", [](LayerTensors& t) { lie_on_ties(t, 127); }},
    {"powers of two",
     [](LayerTensors& t) {
       t.input_scale = 0.25f;
       t.output_scale = 0.125f;
       for (float& s : t.filter_scale) s = static_cast<float>(std::exp2(std::round(std::log2(t.scale / 2))));
     }},
    {"thirds, all ties", lie_on_ties_of_thirds},
    {"a hair off powers of two",
     [](LayerTensors& t) {
       t.input_scale = 1.0f + 0x1p-23f;
       t.output_scale = 1.0f;
       for (float& s : t.filter_scale)
         s = (1.0f - 0x1p-23f) * static_cast<float>(std::exp2(std::round(std::log2(t.scale))));
     }},
    {"one channel with 1000 times the scale", [](LayerTensors& t) { t.filter_scale[1] *= 1000; }},
    {"one channel with a scale of 1e38", [](LayerTensors& t) { t.filter_scale[1] = 1e38f; }},
    {"all saturate",
     [](LayerTensors& t) {
       t.input_scale = t.output_scale = 1.0f;
       for (float& s : t.filter_scale) s = 1.0f;
     }},
    {"one bias near INT_MAX", [](LayerTensors& t) { t.bias[1] = 0x7FFFFFFF - 100; }},
    {"biases near INT_MIN and INT_MAX", take_biases_to_the_ends},
    {"the same, outputs in range",
     [](LayerTensors& t) {
       take_biases_to_the_ends(t);
       t.input_scale = t.output_scale = 1.0f;
       int number = 0;
       for (float& s : t.filter_scale) s = static_cast<float>(20 + number++ % 60) / at_end;
     }},
    {"all 0",
     [](LayerTensors& t) {
       for (std::uint8_t& x : t.input) x = 0;
       for (std::int8_t& w : t.filter) w = 0;
     }},
    {"extremes",
     [](LayerTensors& t) {
       for (std::uint8_t& x : t.input) x = x < 128 ? 0 : 255;
       for (std::int8_t& w : t.filter) w = w < 0 ? -128 : 127;
     }},
};

Subject make(const Workload& w, const DataSet& data) {
  const Layer& l = w.layer;
  const std::uint32_t in_group = l.input[1] / l.groups;
  const auto depth = static_cast<double>(in_group * l.kernel_h * l.kernel_w);
  Random random(38);
  LayerTensors t;
  t.scale = 256 / (5 * 74 * 74 * std::sqrt(depth));  // uniform bytes deviate by 74
  t.input.resize(std::size_t{l.input[1]} * l.input[2] * l.input[3]);
  t.filter.resize(std::size_t{l.output_channels} * in_group * l.kernel_h * l.kernel_w);
  for (std::uint8_t& x : t.input) x = static_cast<std::uint8_t>(random.next());
  for (std::int8_t& x : t.filter) x = static_cast<std::int8_t>(random.next());
  for (std::uint32_t c = 0; c < l.output_channels; ++c) {
    t.filter_scale.push_back(static_cast<float>(t.scale * 2.5 * (0.5 + random.uniform())));
    t.bias.push_back(static_cast<std::int32_t>(random.next() % 20000) - 10000);
  }
  data.change(t);

  dmlref::QuantizedLinearConvolutionDesc d;
  using dmlref::DataType;
  using dmlref::TensorDesc;
  const auto owned = [&](TensorDesc tensor) {
    tensor.owned_by_dml = w.owned;
    return tensor;
  };
  const auto activations = [&](const Sizes& s) {
    if (!w.nhwc) return TensorDesc(DataType::uint8, s);
    return TensorDesc(DataType::uint8, s, Sizes{s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]});
  };
  const auto extent = [&](std::uint32_t in, std::uint32_t kernel, std::uint32_t pad) {
    return (in + 2 * pad - kernel) / l.stride + 1;
  };
  const Sizes one{1, 1, 1, 1}, channels{1, l.output_channels, 1, 1};
  const Sizes out{1, l.output_channels, extent(l.input[2], l.kernel_h, l.pad_h),
                  extent(l.input[3], l.kernel_w, l.pad_w)};
  d.input = activations(l.input);
  d.input_scale = d.output_scale = owned(TensorDesc(DataType::float32, one));
  d.input_zero_point = d.output_zero_point = owned(TensorDesc(DataType::uint8, one));
  d.filter = owned(TensorDesc(DataType::int8, {l.output_channels, in_group, l.kernel_h, l.kernel_w}));
  d.filter_scale = owned(TensorDesc(DataType::float32, channels));
  d.bias = owned(TensorDesc(DataType::int32, channels));
  d.output = activations(out);
  d.strides = {l.stride, l.stride};
  d.dilations = {1, 1};
  d.start_padding = d.end_padding = {l.pad_h, l.pad_w};
  d.group_count = l.groups;
  Subject subject;
  subject.output_bytes = std::size_t{out[1]} * out[2] * out[3];
  subject.inputs.push_back(copy_of(t.input));
  subject.inputs.push_back(copy_of(std::vector{t.input_scale}));
  subject.inputs.push_back(copy_of(std::vector{t.input_zero}));
  subject.inputs.push_back(copy_of(t.filter));
  subject.inputs.push_back(copy_of(t.filter_scale));
  subject.inputs.emplace_back();
  subject.inputs.push_back(copy_of(t.bias));
  subject.inputs.push_back(copy_of(std::vector{t.output_scale}));
  subject.inputs.push_back(copy_of(std::vector{t.output_zero}));
  subject.desc = d;
  return subject;
}

}  // namespace

void add_convolution_cliffs(std::vector<Cliff>& cliffs) {
  struct Named {
    const char* name;
    std::uint32_t channels, size, outputs, kernel, stride, pad, groups;
    bool tiny = false;
  };
  constexpr Named layers[] = {
      {"1x1 16-96@56", 16, 56, 96, 1, 1, 0, 1},
      {"1x1 32-16@112", 32, 112, 16, 1, 1, 0, 1},
      {"1x1 64-256@56", 64, 56, 256, 1, 1, 0, 1},
      {"1x1 320-1280@7", 320, 7, 1280, 1, 1, 0, 1},
      {"3x3 64-64@28", 64, 28, 64, 3, 1, 1, 1},
      {"3x3/2 128-128@28", 128, 28, 128, 3, 2, 1, 1},
      {"3x3/2 3-32@112", 3, 112, 32, 3, 2, 1, 1},
      {"7x7/2 3-64@112", 3, 112, 64, 7, 2, 3, 1},
      {"depthwise 3x3 96@56", 96, 56, 96, 3, 1, 1, 96},
      {"depthwise 3x3/2 144@56", 144, 56, 144, 3, 2, 1, 144},
      {"depthwise 5x5 64@28", 64, 28, 64, 5, 1, 2, 64},
      {"depthwise 7x7 40@28", 40, 28, 40, 7, 1, 3, 40},
      {"3x3 128-128@28, 32 groups", 128, 28, 128, 3, 1, 1, 32},
      {"1x1 8-20@5", 8, 5, 20, 1, 1, 0, 1, true},
      {"depthwise 3x3 20@5", 20, 5, 20, 3, 1, 1, 20, true},
  };
  for (const Named& n : layers) {
    for (const bool nhwc : {false, true}) {
      for (const bool owned : {true, false}) {
        const std::string name = std::string(n.name) + (nhwc ? ", NHWC" : ", NCHW") + (owned ? ", owned" : ", bound");
        const Workload w{name,
                         {n.name,
                          {1, n.channels, n.size, n.size},
                          n.outputs,
                          n.kernel,
                          n.kernel,
                          n.stride,
                          n.pad,
                          n.pad,
                          1,
                          n.groups},
                         nhwc,
                         owned,
                         n.tiny};
        for (const DataSet& data : data_sets) {
          cliffs.push_back({"QLC", w.name, data.name, [w, &data] { return make(w, data); },
                            [w] { return make(w, random_data); }, w.tiny});
        }
      }
    }
  }
}

}  // namespace bench
