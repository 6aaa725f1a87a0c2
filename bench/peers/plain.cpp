// plain.cpp: what a user would write by hand, compiled for this very machine.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "operators/element_wise_quantize_linear/cases.hpp"
#include "operators/matrix_multiply_integer/cases.hpp"
#include "operators/mean_variance_normalization/cases.hpp"
#include "operators/slice/cases.hpp"

namespace bench {
namespace {

template <class T>
void copy_dimension(const T* from, T*& to, const std::uint32_t* sizes, const std::int64_t* steps, std::size_t rank) {
  if (rank == 1) {
    const std::int64_t step = steps[0];
    if (step == 1) {
      std::memcpy(to, from, sizes[0] * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < sizes[0]; ++i) to[i] = from[i * step];
    }
    to += sizes[0];
    return;
  }
  for (std::int64_t i = 0; i < sizes[0]; ++i) copy_dimension(from + i * steps[0], to, sizes + 1, steps + 1, rank - 1);
}

template <class T>
void copy(const SliceProblem& p, const std::vector<std::int64_t>& steps, std::byte* output) {
  T* to = static_cast<T*>(static_cast<void*>(output));
  copy_dimension(p.input.as<const T>() + p.first(), to, p.output_sizes.data(), steps.data(), steps.size());
}

}  // namespace

Runners plain_slice(const SliceProblem& p, unsigned threads) {
  Runners runners;
  if (threads > 1) {
    runners.refused.push_back({"loops", "one thread"});
    return runners;
  }
  const auto output = std::make_shared<Memory>(p.expected.size());
  const std::vector<std::int64_t> steps = p.steps();
  const auto run = [&p, steps, output] {
    switch (p.element_size) {
      case 1: return copy<std::uint8_t>(p, steps, output->data());
      case 2: return copy<std::uint16_t>(p, steps, output->data());
      case 4: return copy<std::uint32_t>(p, steps, output->data());
      default: return copy<std::uint64_t>(p, steps, output->data());
    }
  };
  runners.ready.push_back(
      {"loops", "-O3 -march=native", true, run, [&p, output] { return p.compare(output->span()); }});
  return runners;
}

namespace {

template <class A, class B>
void multiply(const MatrixMultiplyProblem& p, std::vector<std::int32_t>& sums, std::byte* output) {
  const std::size_t m = p.shape.m, k = p.shape.k, n = p.shape.n;
  for (std::size_t row = 0; row < p.shape.products * m; ++row) {
    const B* const b = reinterpret_cast<const B*>(p.b.data()) + row / m * k * n;
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t i = 0; i < k; ++i) {
      const std::int32_t a = reinterpret_cast<const A*>(p.a.data())[row * k + i] - p.a_zero_point;
      for (std::size_t j = 0; j < n; ++j) sums[j] += a * (b[i * n + j] - p.b_zero_point);
    }
    if (!p.type.quantized) {
      std::memcpy(output + row * n * sizeof(std::int32_t), sums.data(), n * sizeof(std::int32_t));
      continue;
    }
    A* const to = reinterpret_cast<A*>(output) + row * n;
    const float by_row = p.a_scale[p.type.row_scales ? row % m : 0] / p.output_scale;
    for (std::size_t j = 0; j < n; ++j) {
      const float scale = by_row * p.b_scale[p.type.column_scales ? j : 0];
      const float value = std::nearbyint(static_cast<float>(sums[j]) * scale) + static_cast<float>(p.output_zero_point);
      to[j] = static_cast<A>(std::clamp(value, static_cast<float>(std::numeric_limits<A>::min()),
                                        static_cast<float>(std::numeric_limits<A>::max())));
    }
  }
}

template <class From, class To>
void convert(const QuantizeLinearProblem& p, std::byte* output) {
  const std::size_t columns = p.matrix.columns;
  const auto zero = static_cast<float>(p.zero_point);
  for (std::size_t row = 0; row < p.matrix.rows; ++row) {
    const From* const from = p.input.as<From>() + row * columns;
    To* const to = reinterpret_cast<To*>(output) + row * columns;
    const auto run = [&](auto scale_of) {
      for (std::size_t i = 0; i < columns; ++i) {
        const auto x = static_cast<float>(from[i]);
        if constexpr (sizeof(To) == 1) {
          const float value = std::nearbyint(x / scale_of(i)) + zero;
          to[i] = static_cast<To>(std::clamp(value, static_cast<float>(std::numeric_limits<To>::min()),
                                             static_cast<float>(std::numeric_limits<To>::max())));
        } else {
          to[i] = (x - zero) * scale_of(i);
        }
      }
    };
    const float of_row = p.scale[p.scales == "rows" ? row : 0];
    if (p.scales == "columns") {
      run([scales = p.scale.data()](std::size_t i) { return scales[i]; });
    } else {
      run([of_row](std::size_t) { return of_row; });
    }
  }
}

}  // namespace

Runners plain_matrix_multiply(const MatrixMultiplyProblem& p, bool, unsigned threads) {
  Runners runners;
  if (threads > 1) {
    runners.refused.push_back({"loops", "one thread"});
    return runners;
  }
  const auto output = std::make_shared<Memory>(p.output_bytes());
  const auto sums = std::make_shared<std::vector<std::int32_t>>(p.shape.n);
  const auto run = [&p, sums, output] {
    if (p.type.a_signed) return multiply<std::int8_t, std::int8_t>(p, *sums, output->data());
    if (p.type.b_signed) return multiply<std::uint8_t, std::int8_t>(p, *sums, output->data());
    multiply<std::uint8_t, std::uint8_t>(p, *sums, output->data());
  };
  runners.ready.push_back(
      {"loops", "-O3 -march=native", true, run, [&p, output] { return p.compare(output->span()); }});
  return runners;
}

Runners plain_quantize_linear(const QuantizeLinearProblem& p, unsigned threads) {
  using dmlref::DataType;
  Runners runners;
  if (threads > 1 || p.from == DataType::float16 || p.to == DataType::float16) {
    runners.refused.push_back({"loops", "one thread, no FLOAT16"});
    return runners;
  }
  const auto output = std::make_shared<Memory>(p.expected.size());
  const auto run = [&p, output] {
    std::byte* const to = output->data();
    if (p.to == DataType::int8) return convert<float, std::int8_t>(p, to);
    if (p.to == DataType::uint8) return convert<float, std::uint8_t>(p, to);
    if (p.from == DataType::int8) return convert<std::int8_t, float>(p, to);
    if (p.from == DataType::uint8) return convert<std::uint8_t, float>(p, to);
    convert<std::int32_t, float>(p, to);
  };
  runners.ready.push_back(
      {"loops", "-O3 -march=native", true, run, [&p, output] { return p.compare(output->span()); }});
  return runners;
}

Runners plain_normalization(const NormalizationProblem& p, unsigned threads) {
  Runners runners;
  const Rows rows = trailing_rows(p.tensor);
  if (threads > 1 || p.half || rows.columns <= 1 || p.activation == "tanh" ||
      (p.scale_bias && p.scale_count() != rows.columns)) {
    runners.refused.push_back({"loops", "written for one thread, FLOAT32 and trailing axes only"});
    return runners;
  }
  const auto output = std::make_shared<Memory>(p.bytes());
  const auto run = [&p, rows, output] {
    const bool relu = p.activation == "relu";
    for (std::size_t r = 0; r < rows.rows; ++r) {
      const float* x = p.input.as<const float>() + r * rows.columns;
      float* y = output->as<float>() + r * rows.columns;
      float sum = 0, squares = 0;
      for (std::size_t i = 0; i < rows.columns; ++i) sum += x[i];
      const float mean = p.tensor.use_mean ? sum / static_cast<float>(rows.columns) : 0.0f;
      for (std::size_t i = 0; i < rows.columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(rows.columns) + p.epsilon);
      for (std::size_t i = 0; i < rows.columns; ++i) y[i] = (x[i] - mean) * inverse;
      if (p.scale_bias) {
        const float* scale = p.scale.as<const float>();
        const float* bias = p.bias.as<const float>();
        for (std::size_t i = 0; i < rows.columns; ++i) y[i] = y[i] * scale[i] + bias[i];
      }
      if (relu) {
        for (std::size_t i = 0; i < rows.columns; ++i) y[i] = std::max(y[i], 0.0f);
      }
    }
  };
  runners.ready.push_back(
      {"loops", "-O3 -march=native", true, run, [&p, output] { return p.compare(output->span()); }});
  return runners;
}

}  // namespace bench
