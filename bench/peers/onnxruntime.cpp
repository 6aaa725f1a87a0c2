// onnxruntime.cpp: ONNX Runtime's CPU provider through its C API, one-node models, tensors preallocated.
#include <onnxruntime_c_api.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include "dmlref/desc/half.hpp"
#include "operators/convolution_integer/cases.hpp"
#include "operators/element_wise_quantize_linear/cases.hpp"
#include "operators/matrix_multiply_integer/cases.hpp"
#include "operators/mean_variance_normalization/cases.hpp"
#include "operators/quantized_linear_convolution/cases.hpp"
#include "operators/slice/cases.hpp"
#include "peers/onnx_model.hpp"
#include "peers/versions.hpp"

namespace bench {
namespace {

// The library may be older than the header: it is asked for the newest API that it has.
const OrtApi& api() {
  static const OrtApi* const table = [] {
    const OrtApiBase* base = OrtGetApiBase();
    const OrtApi* found = nullptr;
    for (std::uint32_t version = ORT_API_VERSION; found == nullptr && version > 0; --version) {
      found = base->GetApi(version);
    }
    return found;
  }();
  return *table;
}

void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = api().GetErrorMessage(status);
  api().ReleaseStatus(status);
  throw std::runtime_error(message.substr(0, message.find('\n')));
}

OrtEnv* environment() {
  static OrtEnv* const env = [] {
    OrtEnv* made = nullptr;
    check(api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &made));
    return made;
  }();
  return env;
}

// A session over memory of our own: an input "x", perhaps a second one "b", and the output "y".
class Session {
 public:
  Session(const onnx::Model& model, GraphOptimizationLevel level, unsigned threads, std::vector<Memory> inputs,
          std::size_t output)
      : inputs_(std::move(inputs)), output_(output) {
    OrtSessionOptions* options = nullptr;
    check(api().CreateSessionOptions(&options));
    const std::shared_ptr<OrtSessionOptions> keep(options, api().ReleaseSessionOptions);
    check(api().SetIntraOpNumThreads(options, static_cast<int>(threads)));
    check(api().SetInterOpNumThreads(options, 1));
    check(api().SetSessionGraphOptimizationLevel(options, level));
    const std::string bytes = model.serialize();
    check(api().CreateSessionFromArray(environment(), bytes.data(), bytes.size(), options, &session_));
    OrtMemoryInfo* info = nullptr;
    check(api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
    const std::shared_ptr<OrtMemoryInfo> keep_info(info, api().ReleaseMemoryInfo);
    const auto tensor = [&](const Memory& memory, const onnx::Value& value) {
      OrtValue* made = nullptr;
      check(api().CreateTensorWithDataAsOrtValue(info, memory.data(), memory.size(), value.dims.data(),
                                                 value.dims.size(), static_cast<ONNXTensorElementDataType>(value.type),
                                                 &made));
      return made;
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      values_.push_back(tensor(inputs_[i], model.inputs[i]));
    }
    y_ = tensor(output_, model.output);
    run();
  }
  ~Session() {
    for (OrtValue* const value : values_) api().ReleaseValue(value);
    api().ReleaseValue(y_);
    api().ReleaseSession(session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void run() {
    const char* const inputs[] = {"x", "b"};
    const char* const outputs[] = {"y"};
    check(api().Run(session_, nullptr, inputs, values_.data(), values_.size(), outputs, 1, &y_));
  }
  const Memory& output() const { return output_; }

 private:
  std::vector<Memory> inputs_;
  Memory output_;
  OrtSession* session_ = nullptr;
  std::vector<OrtValue*> values_;
  OrtValue* y_ = nullptr;
};

Memory copy_of(const void* from, std::size_t bytes) {
  Memory memory(bytes);
  std::memcpy(memory.data(), from, bytes);
  return memory;
}
std::vector<Memory> only(Memory memory) {
  std::vector<Memory> list;
  list.push_back(std::move(memory));
  return list;
}

// Two's complement: the low byte is right for INT8 and UINT8.
std::uint8_t byte(std::int32_t value) { return static_cast<std::uint8_t>(value); }
onnx::Type byte_type(bool is_signed) { return is_signed ? onnx::Type::int8 : onnx::Type::uint8; }
// One number is a scalar, several are a list.
std::vector<std::int64_t> sizes_of_list(std::size_t count) {
  return count == 1 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{static_cast<std::int64_t>(count)};
}

std::vector<std::int64_t> wide(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

template <class Compare>
void add(Runners& runners, const char* how, bool rival, const std::function<std::shared_ptr<Session>()>& make,
         Compare compare) {
  try {
    const std::shared_ptr<Session> session = make();
    runners.ready.push_back({"ONNX Runtime", how, rival, [session] { session->run(); },
                             [session, compare] { return compare(session->output()); }});
  } catch (const std::exception& error) {
    runners.refused.push_back({"ONNX Runtime", std::string(how) + ": " + error.what()});
  }
}

void set_windows(onnx::Node& node, const Layer& l) {
  node.integers("kernel_shape", {l.kernel_h, l.kernel_w});
  node.integers("strides", {l.stride, l.stride});
  node.integers("dilations", {l.dilation, l.dilation});
  node.integers("pads", {l.pad_h, l.pad_w, l.pad_h, l.pad_w});
  node.integer("group", l.groups);
}

onnx::Model convolution_model(const ConvolutionProblem& p, bool nhwc) {
  using onnx::Type;
  const Layer& l = p.layer;
  const Type in = byte_type(p.type.input_signed), weights = byte_type(p.type.filter_signed);
  onnx::Model model;
  const std::int64_t n = p.batch(), c = p.channels(), h = p.height(), w = p.width();
  const std::int64_t o = l.output_channels, oh = p.output_h, ow = p.output_w;
  model.inputs = {{"x", in, nhwc ? std::vector{n, h, w, c} : std::vector{n, c, h, w}}};
  model.output = {"y", in, nhwc ? std::vector{n, oh, ow, o} : std::vector{n, o, oh, ow}};
  const std::uint8_t x_zero = byte(p.input_zero_point), y_zero = byte(p.output_zero_point);
  std::vector<std::uint8_t> w_zero;
  for (const std::int32_t z : p.filter_zero_point) w_zero.push_back(byte(z));
  model.constant("x_scale", Type::float32, {}, &p.input_scale, 4);
  model.constant("x_zero", in, {}, &x_zero, 1);
  model.constant("w", weights, {o, c / l.groups, l.kernel_h, l.kernel_w}, p.filter.data(), p.filter.size());
  model.constant("w_scale", Type::float32, sizes_of_list(p.filter_scale.size()), p.filter_scale.data(),
                 p.filter_scale.size() * 4);
  model.constant("w_zero", weights, sizes_of_list(w_zero.size()), w_zero.data(), w_zero.size());
  model.constant("y_scale", Type::float32, {}, &p.output_scale, 4);
  model.constant("y_zero", in, {}, &y_zero, 1);
  model.constant("b", Type::int32, {o}, p.bias.data(), p.bias.size() * 4);
  onnx::Node node{"QLinearConv",
                  nhwc ? "com.microsoft" : "",
                  {"x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"},
                  {"y"}};
  set_windows(node, l);
  if (nhwc) node.integer("channels_last", 1);
  model.nodes.push_back(node);
  return model;
}

}  // namespace

std::string onnxruntime_version() { return OrtGetApiBase()->GetVersionString(); }

Runners onnxruntime_convolution(const ConvolutionProblem& p, bool nhwc, unsigned threads) {
  Runners runners;
  if (p.type.input_signed && !p.type.filter_signed) {
    runners.refused.push_back({"ONNX Runtime", "no INT8 input with a UINT8 filter"});
    return runners;
  }
  struct Variant {
    const char* how;
    bool nhwc;
    GraphOptimizationLevel level;
  };
  for (const Variant& v :
       {Variant{"nchw", false, ORT_ENABLE_ALL}, Variant{"nchw, extended", false, ORT_ENABLE_EXTENDED},
        Variant{"nhwc", true, ORT_ENABLE_ALL}}) {
    const std::vector<std::uint8_t>& input = v.nhwc ? p.input_nhwc : p.input_nchw;
    add(
        runners, v.how, v.nhwc == nhwc,
        [&] {
          return std::make_shared<Session>(convolution_model(p, v.nhwc), v.level, threads,
                                           only(copy_of(input.data(), input.size())), p.output_count());
        },
        [&p, layout = v.nhwc](const Memory& y) {
          return p.compare({y.as<std::uint8_t>(), y.size()}, layout);
        });
  }
  return runners;
}

Runners onnxruntime_convolution_integer(const ConvolutionIntegerProblem& problem, bool nhwc, unsigned threads) {
  using onnx::Type;
  const ConvolutionProblem& p = problem.layer;
  const Layer& l = p.layer;
  const std::int64_t n = p.batch(), c = p.channels(), o = l.output_channels;
  const Type weights = byte_type(p.type.filter_signed);
  onnx::Model model;
  model.inputs = {{"x", byte_type(p.type.input_signed), {n, c, p.height(), p.width()}}};
  model.output = {"y", Type::int32, {n, o, p.output_h, p.output_w}};
  const std::uint8_t x_zero = byte(p.input_zero_point), w_zero = byte(p.filter_zero_point[0]);
  model.constant("w", weights, {o, c / l.groups, l.kernel_h, l.kernel_w}, p.filter.data(), p.filter.size());
  model.constant("x_zero", model.inputs[0].type, {}, &x_zero, 1);
  onnx::Node node{"ConvInteger", "", {"x", "w", "x_zero"}, {"y"}};
  if (p.has_filter_zero_point()) {
    model.constant("w_zero", weights, {}, &w_zero, 1);
    node.inputs.push_back("w_zero");
  }
  set_windows(node, l);
  model.nodes.push_back(node);
  Runners runners;
  add(
      runners, "nchw", !nhwc,
      [&] {
        return std::make_shared<Session>(model, ORT_ENABLE_ALL, threads,
                                         only(copy_of(p.input_nchw.data(), p.input_nchw.size())),
                                         problem.output_bytes());
      },
      [&problem](const Memory& y) { return problem.compare(y.span(), false); });
  return runners;
}

Runners onnxruntime_matrix_multiply(const MatrixMultiplyProblem& p, bool owned, unsigned threads) {
  using onnx::Type;
  const auto sizes = [&](std::int64_t rows, std::int64_t columns) {
    if (p.shape.products == 1) return std::vector{rows, columns};
    return std::vector{std::int64_t{p.shape.products}, rows, columns};
  };
  const onnx::Value a{"x", byte_type(p.type.a_signed), sizes(p.shape.m, p.shape.k)};
  const onnx::Value b{"b", byte_type(p.type.b_signed), sizes(p.shape.k, p.shape.n)};
  onnx::Model model;
  model.inputs = {a};
  model.output = {"y", p.type.quantized ? a.type : Type::int32, sizes(p.shape.m, p.shape.n)};
  std::vector<Memory> inputs = only(copy_of(p.a.data(), p.a.size()));
  // A constant B is packed once.
  if (owned) {
    model.constant("b", b.type, b.dims, p.b.data(), p.b.size());
  } else {
    model.inputs.push_back(b);
    inputs.push_back(copy_of(p.b.data(), p.b.size()));
  }
  const std::uint8_t a_zero = byte(p.a_zero_point), b_zero = byte(p.b_zero_point);
  model.constant("a_zero", a.type, {}, &a_zero, 1);
  // As many as scales: QLinearMatMul requires it.
  const std::vector<std::uint8_t> b_zeros(p.b_scale.size(), b_zero);
  model.constant("b_zero", b.type, sizes_of_list(b_zeros.size()), b_zeros.data(), b_zeros.size());
  if (p.type.quantized) {
    const std::uint8_t y_zero = byte(p.output_zero_point);
    const auto scales = [&](const char* name, const std::vector<float>& list) {
      model.constant(name, Type::float32, sizes_of_list(list.size()), list.data(), list.size() * sizeof(float));
    };
    scales("a_scale", p.a_scale);
    scales("b_scale", p.b_scale);
    scales("y_scale", {p.output_scale});
    model.constant("y_zero", a.type, {}, &y_zero, 1);
    model.nodes.push_back(
        {"QLinearMatMul", "", {"x", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"}, {"y"}});
  } else {
    model.nodes.push_back({"MatMulInteger", "", {"x", "b", "a_zero", "b_zero"}, {"y"}});
  }
  Runners runners;
  add(
      runners, p.type.quantized ? "QLinearMatMul" : "MatMulInteger", true,
      [&] { return std::make_shared<Session>(model, ORT_ENABLE_ALL, threads, std::move(inputs), p.output_bytes()); },
      [&p](const Memory& y) { return p.compare(y.span()); });
  return runners;
}

Runners onnxruntime_quantize_linear(const QuantizeLinearProblem& p, unsigned threads) {
  using dmlref::DataType;
  using onnx::Type;
  const auto type = [](DataType of) {
    switch (of) {
      case DataType::float32: return Type::float32;
      case DataType::float16: return Type::float16;
      case DataType::int32: return Type::int32;
      case DataType::int8: return Type::int8;
      default: return Type::uint8;
    }
  };
  const std::vector<std::int64_t> sizes{p.matrix.rows, p.matrix.columns};
  onnx::Model model;
  model.inputs = {{"x", type(p.from), sizes}};
  model.output = {"y", type(p.to), sizes};
  const std::vector<std::int64_t> each = sizes_of_list(p.scale.size());
  if (p.scale_type() == DataType::float16) {
    const std::vector<dmlref::half> halves(p.scale.begin(), p.scale.end());
    model.constant("scale", Type::float16, each, halves.data(), halves.size() * 2);
  } else {
    model.constant("scale", Type::float32, each, p.scale.data(), p.scale.size() * 4);
  }
  // One or four bytes each; the low ones are right.
  const std::size_t size = dmlref::size_of(p.zero_point_type());
  std::vector<std::uint8_t> zeros(p.scale.size() * size);
  if (p.scales == "tensor") std::memcpy(zeros.data(), &p.zero_point, size);
  model.constant("zero", type(p.zero_point_type()), each, zeros.data(), zeros.size());
  onnx::Node node{p.quantizes() ? "QuantizeLinear" : "DequantizeLinear", "", {"x", "scale", "zero"}, {"y"}};
  if (p.scales != "tensor") node.integer("axis", p.scales == "rows" ? 0 : 1);
  model.nodes.push_back(node);
  Runners runners;
  add(
      runners, p.quantizes() ? "QuantizeLinear" : "DequantizeLinear", true,
      [&] {
        return std::make_shared<Session>(model, ORT_ENABLE_ALL, threads, only(copy_of(p.input.data(), p.input.size())),
                                         p.expected.size());
      },
      [&p](const Memory& y) { return p.compare(y.span()); });
  return runners;
}

Runners onnxruntime_slice(const SliceProblem& p, unsigned threads) {
  using onnx::Type;
  Runners runners;
  const Type type = p.element_size == 1   ? Type::uint8
                    : p.element_size == 2 ? Type::float16
                    : p.element_size == 4 ? Type::float32
                                          : Type::float64;
  onnx::Model model;
  model.inputs = {{"x", type, wide(p.window.sizes)}};
  model.output = {"y", type, wide(p.output_sizes)};
  std::vector<std::int64_t> starts, ends, axes, steps;
  for (std::size_t d = 0; d < p.window.sizes.size(); ++d) {
    const std::int64_t first = p.window.offsets[d], last = first + p.window.window[d] - 1;
    const std::int64_t step = p.window.strides[d];
    axes.push_back(static_cast<std::int64_t>(d));
    steps.push_back(step);
    starts.push_back(step > 0 ? first : last);
    // A negative end counts from the back: "before the first element" is written as the least number.
    ends.push_back(step > 0 ? last + 1 : first > 0 ? first - 1 : INT64_MIN + 1);
  }
  const auto rank = static_cast<std::int64_t>(axes.size());
  const std::pair<const char*, const std::vector<std::int64_t>*> lists[] = {
      {"starts", &starts}, {"ends", &ends}, {"axes", &axes}, {"steps", &steps}};
  for (const auto& [name, values] : lists) {
    model.constant(name, Type::int64, {rank}, values->data(), values->size() * 8);
  }
  model.nodes.push_back({"Slice", "", {"x", "starts", "ends", "axes", "steps"}, {"y"}});
  add(
      runners, "Slice", true,
      [&] {
        return std::make_shared<Session>(model, ORT_ENABLE_ALL, threads, only(copy_of(p.input.data(), p.input.size())),
                                         p.expected.size());
      },
      [&p](const Memory& y) { return p.compare(y.span()); });
  return runners;
}

Runners onnxruntime_normalization(const NormalizationProblem& p, unsigned threads) {
  using onnx::Type;
  Runners runners;
  const Type type = p.half ? Type::float16 : Type::float32;
  const std::vector<std::int64_t> sizes = wide(p.tensor.sizes);
  const bool activation = p.activation != "none", mean = p.tensor.use_mean;
  const auto build = [&](const char* how, onnx::Node node, const std::vector<std::int64_t>& scale_sizes, bool scaled) {
    onnx::Model model;
    model.inputs = {{"x", type, sizes}};
    model.output = {"y", type, sizes};
    std::size_t count = 1;
    for (const std::int64_t s : scale_sizes) count *= static_cast<std::size_t>(s);
    if (scaled) {
      // Ones and zeros where the case has neither: the operator cannot be told to do without.
      Memory scale(count * p.element_size()), bias(count * p.element_size());
      if (p.scale_bias) {
        std::memcpy(scale.data(), p.scale.data(), scale.size());
        std::memcpy(bias.data(), p.bias.data(), bias.size());
      } else {
        for (std::size_t i = 0; i < count; ++i) {
          if (p.half) {
            scale.as<std::uint16_t>()[i] = 0x3C00;
          } else {
            scale.as<float>()[i] = 1;
          }
        }
      }
      model.constant("scale", type, scale_sizes, scale.data(), scale.size());
      node.inputs = {"x", "scale"};
      if (mean || p.scale_bias) model.constant("bias", type, scale_sizes, bias.data(), bias.size());
      if (mean) node.inputs.push_back("bias");
    }
    const bool adds = !mean && p.scale_bias;
    node.outputs = {adds ? "scaled" : activation ? "normalized" : "y"};
    model.nodes.push_back(std::move(node));
    if (adds) model.nodes.push_back({"Add", "", {"scaled", "bias"}, {activation ? "normalized" : "y"}});
    if (activation) model.nodes.push_back({p.activation == "relu" ? "Relu" : "Tanh", "", {"normalized"}, {"y"}});
    add(
        runners, how, true,
        [&] {
          return std::make_shared<Session>(model, ORT_ENABLE_ALL, threads,
                                           only(copy_of(p.input.data(), p.input.size())), p.bytes());
        },
        [&p](const Memory& y) { return p.compare(y.span()); });
  };

  if (mean && !p.scale_bias && !p.half) {
    onnx::Node node{"MeanVarianceNormalization", "", {"x"}, {}};
    node.integers("axes", wide(p.tensor.axes));
    build("MVN, without epsilon", node, {}, false);
  }
  const Rows rows = trailing_rows(p.tensor);
  const auto first_axis = static_cast<std::int64_t>(sizes.size() - p.tensor.axes.size());
  if (rows.columns > 1 && (!p.scale_bias || p.scale_count() == rows.columns)) {
    onnx::Node node{mean ? "LayerNormalization" : "SimplifiedLayerNormalization", "", {}, {}};
    node.integer("axis", first_axis);
    node.real("epsilon", p.epsilon);
    build(mean           ? "LayerNormalization"
          : p.scale_bias ? "SimplifiedLayerNormalization, Add"
                         : "SimplifiedLayerNormalization",
          node, {sizes.begin() + first_axis, sizes.end()}, true);
  }
  const bool planes = mean && p.tensor.axes == Sizes{2, 3} && sizes.size() == 4;
  const bool items = mean && p.tensor.axes == Sizes{1, 2, 3} && sizes.size() == 4;
  if (planes) {
    onnx::Node node{"InstanceNormalization", "", {}, {}};
    node.real("epsilon", p.epsilon);
    build("InstanceNormalization", node, {sizes[1]}, true);
  }
  if (planes || items) {
    onnx::Node node{"GroupNormalization", "", {}, {}};
    node.integer("num_groups", planes ? sizes[1] : 1);
    node.real("epsilon", p.epsilon);
    build("GroupNormalization", node, {sizes[1]}, true);
  }
  if (runners.ready.empty() && runners.refused.empty()) {
    runners.refused.push_back({"ONNX Runtime", "no operator for this case"});
  }
  return runners;
}

}  // namespace bench
