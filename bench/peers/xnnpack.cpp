// xnnpack.cpp: XNNPACK, used as its users do: operators created (weights packed) once, run many times.
#include <xnnpack.h>

#include <memory>
#include <utility>

#include "operators/element_wise_quantize_linear/cases.hpp"
#include "operators/matrix_multiply_integer/cases.hpp"
#include "operators/quantized_linear_convolution/cases.hpp"
#include "operators/slice/cases.hpp"
#include "peers/layout_change.hpp"
#include "peers/versions.hpp"

namespace bench {
namespace {

// Operators run one after the other on one pool.
struct Program {
  explicit Program(unsigned threads) : pool(threads > 1 ? pthreadpool_create(threads) : nullptr) {}
  ~Program() {
    for (const xnn_operator_t op : operators) xnn_delete_operator(op);
    if (pool != nullptr) pthreadpool_destroy(pool);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void run() {
    if (before) before();
    for (const xnn_operator_t op : operators) xnn_run_operator(op, pool);
    if (after) after();
  }

  pthreadpool_t pool;
  std::vector<xnn_operator_t> operators;
  std::function<void()> before, after;
  Memory input, between, output;
};

bool initialized() {
  static const bool done = xnn_initialize(nullptr) == xnn_status_success;
  return done;
}

const std::uint8_t* unsigned_bytes(const Memory& m) { return m.as<const std::uint8_t>(); }
const std::int8_t* signed_bytes(const Memory& m) { return m.as<const std::int8_t>(); }

// Creates and sets up the convolution from `from` to `to`, both NHWC.
bool add_convolution(Program& program, const ConvolutionProblem& p, const Memory& from, const Memory& to) {
  const Layer& l = p.layer;
  const std::size_t group_in = p.channels() / l.groups, taps = std::size_t{l.kernel_h} * l.kernel_w;
  Memory filter(p.filter.size());  // {OutC, KH, KW, InC / groups}
  for (std::size_t o = 0; o < l.output_channels; ++o) {
    for (std::size_t c = 0; c < group_in; ++c) {
      for (std::size_t k = 0; k < taps; ++k) {
        filter.as<std::uint8_t>()[(o * taps + k) * group_in + c] = p.filter[(o * group_in + c) * taps + k];
      }
    }
  }
  const std::size_t group_out = l.output_channels / l.groups;
  xnn_operator_t op = nullptr;
  xnn_status status = xnn_status_success;
  if (p.type.input_signed) {
    status = xnn_create_convolution2d_nhwc_qc8(
        l.pad_h, l.pad_w, l.pad_h, l.pad_w, l.kernel_h, l.kernel_w, l.stride, l.stride, l.dilation, l.dilation,
        l.groups, group_in, group_out, p.channels(), l.output_channels, static_cast<std::int8_t>(p.input_zero_point),
        p.input_scale, p.filter_scale.data(), signed_bytes(filter), p.bias.data(),
        static_cast<std::int8_t>(p.output_zero_point), p.output_scale, -128, 127, 0, &op);
  } else {
    status = xnn_create_convolution2d_nhwc_qu8(
        l.pad_h, l.pad_w, l.pad_h, l.pad_w, l.kernel_h, l.kernel_w, l.stride, l.stride, l.dilation, l.dilation,
        l.groups, group_in, group_out, p.channels(), l.output_channels, static_cast<std::uint8_t>(p.input_zero_point),
        p.input_scale, static_cast<std::uint8_t>(p.filter_zero_point[0]), p.filter_scale[0], unsigned_bytes(filter),
        p.bias.data(), static_cast<std::uint8_t>(p.output_zero_point), p.output_scale, 0, 255, 0, &op);
  }
  if (status != xnn_status_success) return false;
  program.operators.push_back(op);
  status = p.type.input_signed
               ? xnn_setup_convolution2d_nhwc_qc8(op, p.batch(), p.height(), p.width(), signed_bytes(from),
                                                  to.as<std::int8_t>(), program.pool)
               : xnn_setup_convolution2d_nhwc_qu8(op, p.batch(), p.height(), p.width(), unsigned_bytes(from),
                                                  to.as<std::uint8_t>(), program.pool);
  return status == xnn_status_success;
}

}  // namespace

std::string xnnpack_version() { return "(says no version)"; }

Runners xnnpack_convolution(const ConvolutionProblem& p, bool nhwc, unsigned threads) {
  Runners runners;
  const auto refuse = [&](const char* why) {
    runners.refused.push_back({"XNNPACK", why});
    return runners;
  };
  if (!initialized()) return refuse("does not run on this CPU");
  if (p.type.input_signed != p.type.filter_signed) return refuse("no mixed signs");
  if (p.type.input_signed && p.has_filter_zero_point()) return refuse("INT8 filters have no zero point");
  if (!p.type.input_signed && p.filter_scale.size() > 1) return refuse("UINT8 filters are per tensor");

  for (const bool layout : {false, true}) {
    const auto program = std::make_shared<Program>(threads);
    program->output = Memory(p.output_count());
    if (layout) {
      program->input = Memory(p.input_nhwc.size());
      std::memcpy(program->input.data(), p.input_nhwc.data(), p.input_nhwc.size());
      if (!add_convolution(*program, p, program->input, program->output)) return refuse("refused the layer");
    } else {
      program->input = Memory(p.input_nchw.size());
      program->between = Memory(p.output_count());
      if (!add_convolution(*program, p, program->input, program->between)) return refuse("refused the layer");
      program->before = change_layout(p.input_nchw.data(), program->input.data(), p.batch(), p.channels(), p.height(),
                                      p.width(), true, threads);
      program->after = change_layout(program->between.data(), program->output.data(), p.batch(),
                                     p.layer.output_channels, p.output_h, p.output_w, false, threads);
      if (!program->before || !program->after) continue;
    }
    runners.ready.push_back({"XNNPACK", layout ? "nhwc" : "nchw, oneDNN reorders", layout == nhwc,
                             [program] { program->run(); },
                             [program, &p, layout] {
                               return p.compare({program->output.as<std::uint8_t>(), program->output.size()}, layout);
                             }});
  }
  return runners;
}

Runners xnnpack_matrix_multiply(const MatrixMultiplyProblem& p, bool owned, unsigned threads) {
  Runners runners;
  const auto refuse = [&](const char* why) {
    runners.refused.push_back({"XNNPACK", why});
    return runners;
  };
  if (!initialized()) return refuse("does not run on this CPU");
  if (!owned || p.shape.products > 1) return refuse("B is packed, and one matrix");
  if (!p.type.quantized || p.type.row_scales || p.type.column_scales || p.type.a_signed != p.type.b_signed) {
    return refuse("quantized, of one sign, per tensor");
  }
  const std::size_t m = p.shape.m, k = p.shape.k, n = p.shape.n;
  Memory kernel(p.b.size());  // {N, K}
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < n; ++j) kernel.as<std::uint8_t>()[j * k + i] = p.b[i * n + j];
  }
  const auto program = std::make_shared<Program>(threads);
  program->input = copy_of(p.a);
  program->output = Memory(p.output_bytes());
  const std::vector<std::int32_t> bias(n, 0);
  xnn_operator_t op = nullptr;
  xnn_status status = xnn_status_success;
  if (p.type.a_signed) {
    status = xnn_create_fully_connected_nc_qs8(
        k, n, k, n, static_cast<std::int8_t>(p.a_zero_point), p.a_scale[0], p.b_scale[0], signed_bytes(kernel),
        bias.data(), static_cast<std::int8_t>(p.output_zero_point), p.output_scale, -128, 127, 0, &op);
  } else {
    status = xnn_create_fully_connected_nc_qu8(
        k, n, k, n, static_cast<std::uint8_t>(p.a_zero_point), p.a_scale[0], static_cast<std::uint8_t>(p.b_zero_point),
        p.b_scale[0], unsigned_bytes(kernel), bias.data(), static_cast<std::uint8_t>(p.output_zero_point),
        p.output_scale, 0, 255, 0, &op);
  }
  if (status != xnn_status_success) return refuse("refused the product");
  program->operators.push_back(op);
  status = p.type.a_signed ? xnn_setup_fully_connected_nc_qs8(op, m, signed_bytes(program->input),
                                                              program->output.as<std::int8_t>(), program->pool)
                           : xnn_setup_fully_connected_nc_qu8(op, m, unsigned_bytes(program->input),
                                                              program->output.as<std::uint8_t>(), program->pool);
  if (status != xnn_status_success) return refuse("refused the product");
  runners.ready.push_back({"XNNPACK", "fully_connected_nc", true, [program] { program->run(); },
                           [program, &p] { return p.compare(program->output.span()); }});
  return runners;
}

Runners xnnpack_quantize_linear(const QuantizeLinearProblem& p, unsigned threads) {
  using dmlref::DataType;
  Runners runners;
  const auto refuse = [&](const char* why) {
    runners.refused.push_back({"XNNPACK", why});
    return runners;
  };
  if (!initialized()) return refuse("does not run on this CPU");
  if (p.scales != "tensor") return refuse("converts per tensor");
  const auto program = std::make_shared<Program>(threads);
  program->output = Memory(p.expected.size());
  const std::size_t rows = p.matrix.rows, columns = p.matrix.columns;
  const auto small = static_cast<std::int8_t>(p.zero_point);
  const auto byte = static_cast<std::uint8_t>(p.zero_point);
  const float s = p.scale[0];
  xnn_operator_t op = nullptr;
  xnn_status status = xnn_status_unsupported_parameter;
  const auto created = [&](xnn_status of) {
    status = of;
    if (of == xnn_status_success) program->operators.push_back(op);
    return of == xnn_status_success;
  };
  if (p.from == DataType::float32 && p.to == DataType::int8) {
    if (created(xnn_create_convert_nc_f32_qs8(columns, columns, columns, s, small, -128, 127, 0, &op))) {
      status =
          xnn_setup_convert_nc_f32_qs8(op, rows, p.input.as<float>(), program->output.as<std::int8_t>(), program->pool);
    }
  } else if (p.from == DataType::float32) {
    if (created(xnn_create_convert_nc_f32_qu8(columns, columns, columns, s, byte, 0, 255, 0, &op))) {
      status = xnn_setup_convert_nc_f32_qu8(op, rows, p.input.as<float>(), program->output.as<std::uint8_t>(),
                                            program->pool);
    }
  } else if (p.from == DataType::int8 && p.to == DataType::float32) {
    if (created(xnn_create_convert_nc_qs8_f32(columns, columns, columns, s, small, 0, &op))) {
      status =
          xnn_setup_convert_nc_qs8_f32(op, rows, signed_bytes(p.input), program->output.as<float>(), program->pool);
    }
  } else if (p.from == DataType::uint8 && p.to == DataType::float32) {
    if (created(xnn_create_convert_nc_qu8_f32(columns, columns, columns, s, byte, 0, &op))) {
      status =
          xnn_setup_convert_nc_qu8_f32(op, rows, unsigned_bytes(p.input), program->output.as<float>(), program->pool);
    }
  }
  if (status != xnn_status_success) return refuse("converts between FLOAT32 and bytes");
  runners.ready.push_back({"XNNPACK", "convert_nc", true, [program] { program->run(); },
                           [program, &p] { return p.compare(program->output.span()); }});
  return runners;
}

Runners xnnpack_slice(const SliceProblem& p, unsigned threads) {
  Runners runners;
  const auto refuse = [&](const char* why) {
    runners.refused.push_back({"XNNPACK", why});
    return runners;
  };
  if (!initialized()) return refuse("does not run on this CPU");
  // copy_nc copies rows of one plane; what lies outside is one operator per plane.
  const std::vector<std::int64_t> steps = p.steps();
  const std::size_t rank = steps.size();
  if (steps.back() != 1) return refuse("no strides along the rows");
  if (p.element_size == 8) return refuse("no 64-bit elements");
  const std::size_t columns = p.output_sizes[rank - 1], rows = rank > 1 ? p.output_sizes[rank - 2] : 1;
  const std::int64_t row_step = rank > 1 ? steps[rank - 2] : static_cast<std::int64_t>(columns);
  const std::size_t planes = p.count() / (rows * columns);
  if (row_step < 0 || planes > 8) return refuse("rows of one plane, going forward");

  const auto program = std::make_shared<Program>(threads);
  program->output = Memory(p.expected.size());
  std::vector<std::uint32_t> at(rank, 0);
  std::int64_t from = p.first();
  for (std::size_t plane = 0; plane < planes; ++plane) {
    const void* source = p.input.data() + static_cast<std::size_t>(from) * p.element_size;
    void* target = program->output.data() + plane * rows * columns * p.element_size;
    const auto stride = static_cast<std::size_t>(row_step);
    xnn_operator_t op = nullptr;
    xnn_status status = xnn_status_success;
    if (p.element_size == 1) {
      status = xnn_create_copy_nc_x8(columns, stride, columns, 0, &op);
    } else if (p.element_size == 2) {
      status = xnn_create_copy_nc_x16(columns, stride, columns, 0, &op);
    } else {
      status = xnn_create_copy_nc_x32(columns, stride, columns, 0, &op);
    }
    if (status != xnn_status_success) return refuse("refused the copy");
    program->operators.push_back(op);
    if (p.element_size == 1) {
      status = xnn_setup_copy_nc_x8(op, rows, source, target, program->pool);
    } else if (p.element_size == 2) {
      status = xnn_setup_copy_nc_x16(op, rows, source, target, program->pool);
    } else {
      status = xnn_setup_copy_nc_x32(op, rows, source, target, program->pool);
    }
    if (status != xnn_status_success) return refuse("refused the copy");
    for (std::size_t d = rank > 2 ? rank - 2 : 0; d-- > 0;) {
      from += steps[d];
      if (++at[d] < p.output_sizes[d]) break;
      from -= steps[d] * p.output_sizes[d];
      at[d] = 0;
    }
  }
  runners.ready.push_back({"XNNPACK", "copy_nc", true, [program] { program->run(); },
                           [program, &p] { return p.compare(program->output.span()); }});
  return runners;
}

}  // namespace bench
