// torch.cpp: PyTorch's C++ tensors: quantized::conv2d through the dispatcher, the norms, slicing and flip.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/quantized/PackedParams.h>
#include <torch/csrc/api/include/torch/version.h>

#include <memory>

#include "operators/mean_variance_normalization/cases.hpp"
#include "operators/quantized_linear_convolution/cases.hpp"
#include "operators/slice/cases.hpp"
#include "peers/versions.hpp"

namespace bench {
namespace {

at::Tensor view_of(const void* data, const std::vector<std::int64_t>& sizes, at::ScalarType type) {
  return at::from_blob(const_cast<void*>(data), sizes, at::TensorOptions().dtype(type));
}

std::vector<std::int64_t> wide(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

// Makes the runner, runs it once, and turns what PyTorch throws into a refusal.
template <class Compare>
void add(Runners& runners, const char* how, bool rival, unsigned threads, std::function<at::Tensor()> compute,
         Compare compare) {
  try {
    const auto result = std::make_shared<at::Tensor>();
    const auto run = [result, threads, compute = std::move(compute)] {
      const c10::InferenceMode inference;
      at::set_num_threads(static_cast<int>(threads));
      *result = compute();
    };
    run();
    runners.ready.push_back({"PyTorch", how, rival, run, [result, compare] { return compare(*result); }});
  } catch (const std::exception& error) {
    const std::string message = error.what();
    runners.refused.push_back({"PyTorch", std::string(how) + ": " + message.substr(0, message.find('\n'))});
  }
}

at::Tensor quantized_filter(const ConvolutionProblem& p) {
  const Layer& l = p.layer;
  const at::Tensor values =
      view_of(p.filter.data(), {l.output_channels, p.channels() / l.groups, l.kernel_h, l.kernel_w}, at::kChar).clone();
  if (p.filter_scale.size() == 1) {
    return at::_make_per_tensor_quantized_tensor(values, static_cast<double>(p.filter_scale[0]), 0);
  }
  const at::Tensor scales = view_of(p.filter_scale.data(), {l.output_channels}, at::kFloat).to(at::kDouble);
  return at::_make_per_channel_quantized_tensor(values, scales, at::zeros({l.output_channels}, at::kLong), 0);
}

using Packed = c10::intrusive_ptr<ConvPackedParamsBase<2>>;

Packed pack(const ConvolutionProblem& p, at::QEngine engine) {
  at::globalContext().setQEngine(engine);
  const Layer& l = p.layer;
  at::Tensor bias = at::empty({l.output_channels}, at::kFloat);
  for (std::size_t o = 0; o < p.bias.size(); ++o) {
    const float scale = p.filter_scale[p.filter_scale.size() == 1 ? 0 : o];
    bias.data_ptr<float>()[o] = static_cast<float>(static_cast<double>(p.bias[o]) * static_cast<double>(p.input_scale) *
                                                   static_cast<double>(scale));
  }
  const auto prepack = c10::Dispatcher::singleton()
                           .findSchemaOrThrow("quantized::conv2d_prepack", "")
                           .typed<Packed(at::Tensor, c10::optional<at::Tensor>, torch::List<std::int64_t>,
                                         torch::List<std::int64_t>, torch::List<std::int64_t>, std::int64_t)>();
  const auto pair = [](std::int64_t h, std::int64_t w) { return torch::List<std::int64_t>({h, w}); };
  return prepack.call(quantized_filter(p), bias, pair(l.stride, l.stride), pair(l.pad_h, l.pad_w),
                      pair(l.dilation, l.dilation), l.groups);
}

}  // namespace

std::string torch_version() { return TORCH_VERSION; }

Runners torch_convolution(const ConvolutionProblem& p, bool nhwc, unsigned threads) {
  Runners runners;
  if (p.type.input_signed || !p.type.filter_signed || p.has_filter_zero_point()) {
    runners.refused.push_back({"PyTorch", "UINT8 input and INT8 filters without a zero point only"});
    return runners;
  }
  const at::Tensor values = view_of(p.input_nchw.data(), {p.batch(), p.channels(), p.height(), p.width()}, at::kByte);
  const at::Tensor packed_input =
      at::_make_per_tensor_quantized_tensor(values, static_cast<double>(p.input_scale), p.input_zero_point);
  struct Variant {
    const char* how;
    at::QEngine engine;
    bool nhwc;
  };
  for (const Variant& v :
       {Variant{"onednn, nchw", at::QEngine::ONEDNN, false}, Variant{"onednn, nhwc", at::QEngine::ONEDNN, true},
        Variant{"qnnpack, nchw", at::QEngine::QNNPACK, false}}) {
    std::function<at::Tensor()> compute;
    try {
      const Packed packed = pack(p, v.engine);
      const at::Tensor x = v.nhwc ? packed_input.contiguous(at::MemoryFormat::ChannelsLast) : packed_input.contiguous();
      const auto conv = c10::Dispatcher::singleton()
                            .findSchemaOrThrow("quantized::conv2d", "new")
                            .typed<at::Tensor(at::Tensor, const Packed&, double, std::int64_t)>();
      compute = [packed, x, conv, engine = v.engine, last = v.nhwc, scale = static_cast<double>(p.output_scale),
                 zero = std::int64_t{p.output_zero_point}] {
        at::globalContext().setQEngine(engine);
        const at::Tensor y = conv.call(x, packed, scale, zero);
        return last ? y : y.contiguous();  // its result is channels-last: the layout change is timed
      };
    } catch (const std::exception& error) {
      const std::string message = error.what();
      runners.refused.push_back({"PyTorch", std::string(v.how) + ": " + message.substr(0, message.find('\n'))});
      continue;
    }
    add(runners, v.how, v.nhwc == nhwc, threads, compute, [&p, layout = v.nhwc](const at::Tensor& y) {
      return p.compare({static_cast<const std::uint8_t*>(y.data_ptr()), p.output_count()}, layout);
    });
  }
  return runners;
}

Runners torch_slice(const SliceProblem& p, unsigned threads) {
  Runners runners;
  const at::ScalarType type = p.element_size == 1   ? at::kByte
                              : p.element_size == 2 ? at::kHalf
                              : p.element_size == 4 ? at::kFloat
                                                    : at::kDouble;
  at::Tensor window = view_of(p.input.data(), wide(p.window.sizes), type);
  std::vector<std::int64_t> reversed;
  for (std::size_t d = 0; d < p.window.sizes.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const std::int64_t first = p.window.offsets[d], count = p.window.window[d], step = p.window.strides[d];
    if (step > 0) {
      window = window.slice(axis, first, first + count, step);
    } else {
      // Steps are positive: the elements that are kept, forwards, then flipped.
      const std::int64_t taken = (count - 1) / -step * -step;
      window = window.slice(axis, first + count - 1 - taken, first + count, -step);
      reversed.push_back(axis);
    }
  }
  const auto compare = [&p](const at::Tensor& y) { return p.compare(bytes_of(y)); };
  if (reversed.empty()) {
    const at::Tensor output = at::empty(window.sizes(), window.options());
    add(
        runners, "copy_", true, threads, [window, output] { return output.copy_(window); }, compare);
  } else {
    add(
        runners, "flip", true, threads, [window, reversed] { return window.flip(reversed).contiguous(); }, compare);
  }
  return runners;
}

Runners torch_normalization(const NormalizationProblem& p, unsigned threads) {
  Runners runners;
  if (!p.tensor.use_mean) {
    runners.refused.push_back({"PyTorch", "no normalization without the mean"});
    return runners;
  }
  if (p.half) {
    runners.refused.push_back({"PyTorch", "no FLOAT16 normalization on the CPU"});
    return runners;
  }
  const std::vector<std::int64_t> sizes = wide(p.tensor.sizes);
  const at::Tensor x = view_of(p.input.data(), sizes, at::kFloat);
  const double epsilon = static_cast<double>(p.epsilon);
  const auto affine = [&](const Memory& memory, const std::vector<std::int64_t>& shape) {
    return p.scale_bias ? view_of(memory.data(), shape, at::kFloat) : at::Tensor();
  };
  const auto compute = [&](const char* how, std::function<at::Tensor()> norm) {
    add(
        runners, how, true, threads,
        [norm = std::move(norm), kind = p.activation] {
          at::Tensor y = norm();
          if (kind == "relu") at::relu_(y);
          if (kind == "tanh") at::tanh_(y);
          return y;
        },
        [&p](const at::Tensor& y) { return p.compare(bytes_of(y.contiguous())); });
  };
  const Rows rows = trailing_rows(p.tensor);
  const Sizes& axes = p.tensor.axes;
  if (rows.columns > 1 && (!p.scale_bias || p.scale_count() == rows.columns)) {
    const std::vector<std::int64_t> shape(sizes.end() - static_cast<std::ptrdiff_t>(axes.size()), sizes.end());
    const at::Tensor scale = affine(p.scale, shape), bias = affine(p.bias, shape);
    compute("layer_norm", [=] { return at::layer_norm(x, shape, scale, bias, epsilon); });
  }
  if (sizes.size() == 4 && (axes == Sizes{2, 3} || axes == Sizes{1, 2, 3})) {
    const std::int64_t parts = axes == Sizes{2, 3} ? sizes[1] : 1;
    const at::Tensor scale = affine(p.scale, {sizes[1]}), bias = affine(p.bias, {sizes[1]});
    compute("group_norm", [=] { return at::group_norm(x, parts, scale, bias, epsilon); });
  }
  if (axes == Sizes{0, 2, 3}) {
    const at::Tensor scale = affine(p.scale, {sizes[1]}), bias = affine(p.bias, {sizes[1]});
    compute("batch_norm", [=] { return at::batch_norm(x, scale, bias, {}, {}, true, 0.1, epsilon, false); });
  }
  if (runners.ready.empty() && runners.refused.empty()) {
    const std::vector<std::int64_t> dims = wide(axes);
    if (p.scale_bias) {
      runners.refused.push_back({"PyTorch", "no operator for this case"});
      return runners;
    }
    compute("var_mean composed", [=] {
      const auto [variance, mean] = at::var_mean(x, dims, false, true);
      return (x - mean) * at::rsqrt(variance + epsilon);
    });
  }
  return runners;
}

}  // namespace bench
