// onednn.cpp: oneDNN 2.x, used as its users do: weights reordered once, primitives created once.
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "operators/convolution_integer/cases.hpp"
#include "operators/element_wise_quantize_linear/cases.hpp"
#include "operators/matrix_multiply_integer/cases.hpp"
#include "operators/mean_variance_normalization/cases.hpp"
#include "operators/quantized_linear_convolution/cases.hpp"
#include "operators/slice/cases.hpp"
#include "peers/layout_change.hpp"
#include "peers/versions.hpp"

namespace bench {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::primitive_attr;
using dnnl::prop_kind;
using Dims = memory::dims;
using Tag = memory::format_tag;
using Type = memory::data_type;

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// A sequence of primitives with their arguments.
struct Program {
  dnnl::stream stream{engine()};
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, memory>>> steps;
  std::vector<Memory> storage;
  Memory output;
  unsigned threads = 1;

  void run() {
    // Also per calling thread: OpenMP's setting belongs to the thread that opens the region.
    omp_set_num_threads(static_cast<int>(threads));
    for (auto& [primitive, arguments] : steps) primitive.execute(stream, arguments);
    stream.wait();
  }
  memory make(const memory::desc& desc) {
    storage.emplace_back(desc.get_size());
    return memory(desc, engine(), storage.back().data());
  }
  memory make(const memory::desc& desc, const void* from, std::size_t bytes) {
    memory result = make(desc);
    std::memcpy(result.get_data_handle(), from, bytes);
    return result;
  }
  void reorder(const memory& from, const memory& to) {
    steps.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
  }
};

memory::dim dim(std::size_t value) { return static_cast<memory::dim>(value); }

Runner runner_of(std::shared_ptr<Program> program, std::string how, bool rival, std::function<Outcome()> compare) {
  return {"oneDNN", std::move(how), rival, [program] { program->run(); }, std::move(compare)};
}

/// Of QUANTIZED_LINEAR_CONVOLUTION, or the sums of CONVOLUTION_INTEGER.
enum class ConvolutionOutput { quantized, sums };

std::shared_ptr<Program> convolution_program(const ConvolutionProblem& p, ConvolutionOutput output, bool nhwc,
                                             unsigned threads) {
  auto program = std::make_shared<Program>();
  program->threads = threads;
  omp_set_num_threads(static_cast<int>(threads));
  const Layer& l = p.layer;
  const Type type = p.type.input_signed ? Type::s8 : Type::u8;
  const Dims in{dim(p.batch()), dim(p.channels()), dim(p.height()), dim(p.width())};
  const Dims out{dim(p.batch()), dim(l.output_channels), dim(p.output_h), dim(p.output_w)};
  const bool grouped = l.groups > 1;
  const Dims weights =
      grouped ? Dims{l.groups, l.output_channels / l.groups, p.channels() / l.groups, l.kernel_h, l.kernel_w}
              : Dims{l.output_channels, p.channels(), l.kernel_h, l.kernel_w};
  const bool quantized = output == ConvolutionOutput::quantized;
  const Type out_type = quantized ? type : Type::s32;
  const memory::desc source(in, type, Tag::nhwc), destination(out, out_type, Tag::nhwc);
  const memory::desc bias({dim(l.output_channels)}, Type::s32, Tag::x);

  primitive_attr attributes;
  attributes.set_zero_points(DNNL_ARG_SRC, 0, {p.input_zero_point});
  if (quantized) {
    std::vector<float> scales(p.filter_scale.size());
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = p.input_scale * p.filter_scale[i] / p.output_scale;
    attributes.set_output_scales(scales.size() > 1 ? 2 : 0, scales);
    attributes.set_zero_points(DNNL_ARG_DST, 0, {p.output_zero_point});
  }
  const dnnl::convolution_forward::desc desc(prop_kind::forward_inference, algorithm::convolution_direct, source,
                                             memory::desc(weights, Type::s8, Tag::any),
                                             quantized ? bias : memory::desc(), destination, {l.stride, l.stride},
                                             {l.dilation - 1, l.dilation - 1}, {l.pad_h, l.pad_w}, {l.pad_h, l.pad_w});
  const dnnl::convolution_forward::primitive_desc primitive(desc, attributes, engine());

  memory plain_weights = program->make(memory::desc(weights, Type::s8, grouped ? Tag::goihw : Tag::oihw),
                                       p.filter.data(), p.filter.size());
  memory packed = program->make(primitive.weights_desc());
  dnnl::reorder(plain_weights, packed).execute(program->stream, plain_weights, packed);
  program->stream.wait();
  const memory bias_memory = program->make(bias, p.bias.data(), p.bias.size() * 4);
  program->output = Memory(p.output_count() * (quantized ? 1 : sizeof(std::int32_t)));

  memory from, to;
  if (nhwc) {
    from = program->make(source, p.input_nhwc.data(), p.input_nhwc.size());
    to = memory(destination, engine(), program->output.data());
  } else {
    const memory given = program->make(memory::desc(in, type, Tag::nchw), p.input_nchw.data(), p.input_nchw.size());
    from = program->make(source);
    to = program->make(destination);
    program->reorder(given, from);
  }
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, to}};
  if (quantized) arguments.emplace(DNNL_ARG_BIAS, bias_memory);
  program->steps.push_back({dnnl::convolution_forward(primitive), arguments});
  if (!nhwc) program->reorder(to, memory(memory::desc(out, out_type, Tag::nchw), engine(), program->output.data()));
  return program;
}

}  // namespace

std::string onednn_version() {
  const dnnl_version_t* v = dnnl::version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

std::function<void()> change_layout(const void* from, void* to, std::size_t n, std::size_t c, std::size_t h,
                                    std::size_t w, bool to_nhwc, unsigned threads) {
  const auto program = std::make_shared<Program>();
  program->threads = threads;
  omp_set_num_threads(static_cast<int>(threads));
  const Dims sizes{dim(n), dim(c), dim(h), dim(w)};
  const memory::desc nchw(sizes, Type::u8, Tag::nchw), nhwc(sizes, Type::u8, Tag::nhwc);
  program->reorder(memory(to_nhwc ? nchw : nhwc, engine(), const_cast<void*>(from)),
                   memory(to_nhwc ? nhwc : nchw, engine(), to));
  return [program] { program->run(); };
}

namespace {

/// `compare(output, nhwc)`: of the bytes in that layout.
template <class Compare>
Runners convolution_runners(const ConvolutionProblem& p, ConvolutionOutput output, bool nhwc, unsigned threads,
                            Compare compare) {
  Runners runners;
  if (!p.type.filter_signed || p.has_filter_zero_point()) {
    runners.refused.push_back({"oneDNN", "filters are INT8 without a zero point"});
    return runners;
  }
  try {
    for (const bool layout : {false, true}) {
      const auto program = convolution_program(p, output, layout, threads);
      runners.ready.push_back(runner_of(program, layout ? "nhwc" : "nchw, reorders timed", layout == nhwc,
                                        [program, compare, layout] { return compare(program->output, layout); }));
    }
  } catch (const dnnl::error& error) {
    runners.refused.push_back({"oneDNN", error.what()});
  }
  return runners;
}

}  // namespace

Runners onednn_convolution(const ConvolutionProblem& p, bool nhwc, unsigned threads) {
  return convolution_runners(p, ConvolutionOutput::quantized, nhwc, threads, [&p](const Memory& output, bool layout) {
    return p.compare({output.as<std::uint8_t>(), output.size()}, layout);
  });
}

Runners onednn_convolution_integer(const ConvolutionIntegerProblem& p, bool nhwc, unsigned threads) {
  return convolution_runners(p.layer, ConvolutionOutput::sums, nhwc, threads,
                             [&p](const Memory& output, bool layout) { return p.compare(output.span(), layout); });
}

Runners onednn_matrix_multiply(const MatrixMultiplyProblem& p, bool owned, unsigned threads) {
  Runners runners;
  if (p.type.row_scales) {
    runners.refused.push_back({"oneDNN", "no scales of rows"});
    return runners;
  }
  try {
    auto program = std::make_shared<Program>();
    program->threads = threads;
    omp_set_num_threads(static_cast<int>(threads));
    const bool batched = p.shape.products > 1;
    const auto sizes = [&](std::size_t rows, std::size_t columns) {
      return batched ? Dims{dim(p.shape.products), dim(rows), dim(columns)} : Dims{dim(rows), dim(columns)};
    };
    const Tag plain = batched ? Tag::abc : Tag::ab;
    const Type a_type = p.type.a_signed ? Type::s8 : Type::u8, b_type = p.type.b_signed ? Type::s8 : Type::u8;
    const memory::desc a(sizes(p.shape.m, p.shape.k), a_type, plain), b(sizes(p.shape.k, p.shape.n), b_type, plain);
    const memory::desc output(sizes(p.shape.m, p.shape.n), p.type.quantized ? a_type : Type::s32, plain);
    primitive_attr attributes;
    attributes.set_zero_points(DNNL_ARG_SRC, 0, {p.a_zero_point});
    if (p.type.has_b_zero_point) attributes.set_zero_points(DNNL_ARG_WEIGHTS, 0, {p.b_zero_point});
    if (p.type.quantized) {
      std::vector<float> scales(p.b_scale.size());
      for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(p.ratio(0, i));
      attributes.set_output_scales(scales.size() > 1 ? (batched ? 4 : 2) : 0, scales);
      attributes.set_zero_points(DNNL_ARG_DST, 0, {p.output_zero_point});
    }
    const memory::desc given = owned ? memory::desc(sizes(p.shape.k, p.shape.n), b_type, Tag::any) : b;
    const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(a, given, output), attributes, engine());
    memory of_b = program->make(b, p.b.data(), p.b.size());
    memory packed = of_b;
    if (primitive.weights_desc() != b) {
      packed = program->make(primitive.weights_desc());
      dnnl::reorder(of_b, packed).execute(program->stream, of_b, packed);
      program->stream.wait();
    }
    program->output = Memory(p.output_bytes());
    const memory of_a = program->make(a, p.a.data(), p.a.size());
    program->steps.push_back({dnnl::matmul(primitive),
                              {{DNNL_ARG_SRC, of_a},
                               {DNNL_ARG_WEIGHTS, packed},
                               {DNNL_ARG_DST, memory(output, engine(), program->output.data())}}});
    runners.ready.push_back(
        runner_of(program, "matmul", true, [program, &p] { return p.compare(program->output.span()); }));
  } catch (const dnnl::error& error) {
    runners.refused.push_back({"oneDNN", error.what()});
  }
  return runners;
}

Runners onednn_quantize_linear(const QuantizeLinearProblem& p, unsigned threads) {
  Runners runners;
  using dmlref::DataType;
  if (p.from == DataType::float16 || p.to == DataType::float16) {
    runners.refused.push_back({"oneDNN", "no FLOAT16 reorder with scales"});
    return runners;
  }
  try {
    auto program = std::make_shared<Program>();
    program->threads = threads;
    omp_set_num_threads(static_cast<int>(threads));
    const auto type = [](DataType of) {
      switch (of) {
        case DataType::float32: return Type::f32;
        case DataType::int32: return Type::s32;
        case DataType::int8: return Type::s8;
        default: return Type::u8;
      }
    };
    const Dims sizes{dim(p.matrix.rows), dim(p.matrix.columns)};
    const memory from(memory::desc(sizes, type(p.from), Tag::ab), engine(), p.input.data());
    program->output = Memory(p.expected.size());
    const memory to(memory::desc(sizes, type(p.to), Tag::ab), engine(), program->output.data());
    primitive_attr attributes;
    std::vector<float> scales = p.scale;
    for (float& s : scales) s = p.quantizes() ? 1 / s : s;
    attributes.set_output_scales(p.scales == "tensor" ? 0 : p.scales == "rows" ? 1 : 2, scales);
    if (p.scales == "tensor") {
      attributes.set_zero_points(p.quantizes() ? DNNL_ARG_DST : DNNL_ARG_SRC, 0, {p.zero_point});
    }
    program->steps.push_back({dnnl::reorder(dnnl::reorder::primitive_desc(from, to, attributes)),
                              {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
    runners.ready.push_back(
        runner_of(program, "reorder", true, [program, &p] { return p.compare(program->output.span()); }));
  } catch (const dnnl::error& error) {
    runners.refused.push_back({"oneDNN", error.what()});
  }
  return runners;
}

namespace {

std::shared_ptr<Program> layer_normalization(const NormalizationProblem& p, Rows rows, unsigned threads) {
  auto program = std::make_shared<Program>();
  program->threads = threads;
  omp_set_num_threads(static_cast<int>(threads));
  const memory::desc data({dim(rows.rows), dim(rows.columns)}, Type::f32, Tag::ab);
  const auto flags = p.scale_bias ? dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift
                                  : dnnl::normalization_flags::none;
  const dnnl::layer_normalization_forward::desc desc(prop_kind::forward_inference, data, p.epsilon, flags);
  const dnnl::layer_normalization_forward::primitive_desc primitive(desc, engine());
  program->output = Memory(p.bytes());
  const memory from(data, engine(), p.input.data());
  const memory to(data, engine(), program->output.data());
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
  if (p.scale_bias) {
    const memory::desc row({dim(rows.columns)}, Type::f32, Tag::x);
    arguments.emplace(DNNL_ARG_SCALE, memory(row, engine(), p.scale.data()));
    arguments.emplace(DNNL_ARG_SHIFT, memory(row, engine(), p.bias.data()));
  }
  program->steps.push_back({dnnl::layer_normalization_forward(primitive), arguments});
  return program;
}

// Statistics of each channel over batch and space; one item per batch entry where they are per plane.
std::shared_ptr<Program> batch_normalization(const NormalizationProblem& p, Channels c, unsigned threads) {
  auto program = std::make_shared<Program>();
  program->threads = threads;
  omp_set_num_threads(static_cast<int>(threads));
  const memory::desc data({dim(c.batch), dim(c.channels), dim(c.spatial), 1}, Type::f32,
                          c.channels_last ? Tag::nhwc : Tag::nchw);
  const auto flags = p.scale_bias ? dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift
                                  : dnnl::normalization_flags::none;
  const dnnl::batch_normalization_forward::desc desc(prop_kind::forward_training, data, p.epsilon, flags);
  const dnnl::batch_normalization_forward::primitive_desc primitive(desc, engine());
  program->output = Memory(p.bytes());
  const memory from(data, engine(), p.input.data());
  const memory to(data, engine(), program->output.data());
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, from},
                                            {DNNL_ARG_DST, to},
                                            {DNNL_ARG_MEAN, program->make(primitive.mean_desc())},
                                            {DNNL_ARG_VARIANCE, program->make(primitive.variance_desc())}};
  if (p.scale_bias) {
    const memory::desc row({dim(c.channels)}, Type::f32, Tag::x);
    arguments.emplace(DNNL_ARG_SCALE, memory(row, engine(), p.scale.data()));
    arguments.emplace(DNNL_ARG_SHIFT, memory(row, engine(), p.bias.data()));
  }
  program->steps.push_back({dnnl::batch_normalization_forward(primitive), arguments});
  return program;
}

// The activation follows in place, as a user would chain it.
void append_activation(Program& program, const NormalizationProblem& p) {
  if (p.activation == "none") return;
  const memory::desc data({dim(p.count())}, Type::f32, Tag::x);
  const algorithm kind = p.activation == "relu" ? algorithm::eltwise_relu : algorithm::eltwise_tanh;
  const dnnl::eltwise_forward::desc desc(prop_kind::forward_inference, kind, data, 0.0f, 0.0f);
  const memory in_place(data, engine(), program.output.data());
  program.steps.push_back(
      {dnnl::eltwise_forward({desc, engine()}), {{DNNL_ARG_SRC, in_place}, {DNNL_ARG_DST, in_place}}});
}

}  // namespace

Runners onednn_normalization(const NormalizationProblem& p, unsigned threads) {
  Runners runners;
  if (!p.tensor.use_mean) {
    runners.refused.push_back({"oneDNN", "no normalization without the mean"});
    return runners;
  }
  if (p.half) {
    runners.refused.push_back({"oneDNN", "no FLOAT16 normalization on the CPU"});
    return runners;
  }
  const auto add = [&](const std::shared_ptr<Program>& program, const char* how) {
    append_activation(*program, p);
    runners.ready.push_back(runner_of(program, how, true, [program, &p] { return p.compare(program->output.span()); }));
  };
  try {
    const Rows rows = trailing_rows(p.tensor);
    const Channels channels = as_channels(p.tensor);
    // layer_normalization scales along the normalized axis alone.
    if (rows.columns > 1 && (!p.scale_bias || p.scale_count() == rows.columns)) {
      add(layer_normalization(p, rows, threads), "layer_normalization");
    }
    if (channels.channels > 0 && (!channels.per_item || channels.batch == 1) &&
        (!p.scale_bias || p.scale_count() == channels.channels)) {
      add(batch_normalization(p, channels, threads), "batch_normalization");
    }
    if (runners.ready.empty()) runners.refused.push_back({"oneDNN", "no primitive for these axes"});
  } catch (const dnnl::error& error) {
    runners.refused.push_back({"oneDNN", error.what()});
  }
  return runners;
}

Runners onednn_slice(const SliceProblem& p, unsigned threads) {
  Runners runners;
  const std::vector<std::int64_t> steps = p.steps();
  if (std::any_of(steps.begin(), steps.end(), [](std::int64_t s) { return s < 0; })) {
    runners.refused.push_back({"oneDNN", "strides are positive"});
    return runners;
  }
  try {
    auto program = std::make_shared<Program>();
    program->threads = threads;
    omp_set_num_threads(static_cast<int>(threads));
    program->output = Memory(p.expected.size());
    Dims sizes(p.output_sizes.begin(), p.output_sizes.end());
    Dims from(steps.begin(), steps.end());
    Dims to(sizes.size(), 1);
    for (std::size_t d = sizes.size() - 1; d-- > 0;) to[d] = to[d + 1] * sizes[d + 1];
    // f16 goes through arithmetic on CPUs without its own (a hundred times slower, subnormals lost): bf16 copies bits.
    const Type type = p.element_size == 1 ? Type::u8 : p.element_size == 2 ? Type::bf16 : Type::f32;
    if (p.element_size == 8) {
      // No 64-bit type: a pair of 32-bit ones.
      for (auto* strides : {&from, &to}) {
        for (memory::dim& s : *strides) s *= 2;
        strides->push_back(1);
      }
      sizes.push_back(2);
    }
    std::byte* const first = p.input.data() + static_cast<std::size_t>(p.first()) * p.element_size;
    program->reorder(memory(memory::desc(sizes, type, from), engine(), first),
                     memory(memory::desc(sizes, type, to), engine(), program->output.data()));
    runners.ready.push_back(
        runner_of(program, "reorder", true, [program, &p] { return p.compare(program->output.span()); }));
  } catch (const dnnl::error& error) {
    runners.refused.push_back({"oneDNN", error.what()});
  }
  return runners;
}

}  // namespace bench
