// plain.cpp: what a user would write by hand, compiled for this very machine.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

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
  runners.ready.push_back({"loops", "-O3 -march=native", true, run, [&p, output] { return p.judge(output->span()); }});
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
      const float mean = sum / static_cast<float>(rows.columns);
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
  runners.ready.push_back({"loops", "-O3 -march=native", true, run, [&p, output] { return p.judge(output->span()); }});
  return runners;
}

}  // namespace bench
