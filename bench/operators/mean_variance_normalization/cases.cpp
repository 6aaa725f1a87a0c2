#include "operators/mean_variance_normalization/cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dmlref/desc/half.hpp"

namespace bench {
namespace {

double load(const Memory& memory, bool half, std::size_t i) {
  return half ? static_cast<double>(memory.as<dmlref::half>()[i]) : static_cast<double>(memory.as<float>()[i]);
}

void store(const Memory& memory, bool half, std::size_t i, double value) {
  if (half) {
    memory.as<dmlref::half>()[i] = dmlref::half(value);
  } else {
    memory.as<float>()[i] = static_cast<float>(value);
  }
}

// Walks the tensor in memory order and keeps an index into something broadcast along with it.
class Walk {
 public:
  Walk(const Sizes& sizes, std::vector<std::size_t> steps)
      : sizes_(sizes), steps_(std::move(steps)), at_(sizes.size()) {}
  std::size_t index() const { return index_; }
  void next() {
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      index_ += steps_[d];
      if (++at_[d] < sizes_[d]) return;
      index_ -= steps_[d] * sizes_[d];
      at_[d] = 0;
    }
  }

 private:
  Sizes sizes_;
  std::vector<std::size_t> steps_;
  std::vector<std::size_t> at_;
  std::size_t index_ = 0;
};

// Packed steps of a tensor that has `kept` dimensions and is broadcast over the others.
std::vector<std::size_t> broadcast_steps(const Sizes& sizes, const std::vector<bool>& kept) {
  std::vector<std::size_t> steps(sizes.size(), 0);
  std::size_t step = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (!kept[d]) continue;
    steps[d] = step;
    step *= sizes[d];
  }
  return steps;
}

}  // namespace

std::size_t NormalizationProblem::scale_count() const {
  std::size_t product = 1;
  for (const std::uint32_t s : *tensor.scale_bias) product *= s;
  return product;
}

NormalizationProblem make_problem(const NormalizedTensor& tensor, bool half, bool scale_bias,
                                  const std::string& activation, double mean, double deviation) {
  NormalizationProblem p;
  p.tensor = tensor;
  p.half = half;
  p.scale_bias = scale_bias;
  p.activation = activation;
  const std::size_t rank = tensor.sizes.size();
  std::size_t count = 1;
  for (const std::uint32_t s : tensor.sizes) count *= s;
  p.expected.resize(count);

  Random random(20261121);
  p.input = Memory(count * p.element_size());
  for (std::size_t i = 0; i < count; ++i) store(p.input, half, i, mean + deviation * random.normal());
  if (scale_bias) {
    p.scale = Memory(p.scale_count() * p.element_size());
    p.bias = Memory(p.scale_count() * p.element_size());
    for (std::size_t i = 0; i < p.scale_count(); ++i) {
      store(p.scale, half, i, 0.5 + random.uniform());
      store(p.bias, half, i, random.uniform() - 0.5);
    }
  }

  std::vector<bool> kept(rank, true);
  std::size_t groups = count;
  for (const std::uint32_t axis : tensor.axes) {
    kept[axis] = false;
    groups /= tensor.sizes[axis];
  }
  const std::vector<std::size_t> group_steps = broadcast_steps(tensor.sizes, kept);
  std::vector<long double> means(groups, 0), variances(groups, 0);
  const auto per_group = static_cast<long double>(count / groups);
  Walk first(tensor.sizes, group_steps);
  if (tensor.use_mean) {
    for (std::size_t i = 0; i < count; ++i, first.next()) means[first.index()] += load(p.input, half, i);
  }
  for (long double& m : means) m /= per_group;
  Walk second(tensor.sizes, group_steps);
  for (std::size_t i = 0; i < count; ++i, second.next()) {
    const long double d = load(p.input, half, i) - means[second.index()];
    variances[second.index()] += d * d;
  }
  std::vector<long double> inverse(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    inverse[g] = 1.0L / std::sqrt(variances[g] / per_group + static_cast<long double>(p.epsilon));
  }

  std::vector<bool> varies(rank, false);
  if (scale_bias) {
    for (std::size_t d = 0; d < rank; ++d) varies[d] = (*tensor.scale_bias)[d] != 1;
  }
  Walk third(tensor.sizes, group_steps);
  Walk affine(tensor.sizes, broadcast_steps(tensor.sizes, varies));
  for (std::size_t i = 0; i < count; ++i, third.next()) {
    long double y = (load(p.input, half, i) - means[third.index()]) * inverse[third.index()];
    if (scale_bias) {
      y = y * load(p.scale, half, affine.index()) + load(p.bias, half, affine.index());
      affine.next();
    }
    auto result = static_cast<double>(y);
    if (activation == "relu") result = std::max(result, 0.0);
    if (activation == "tanh") result = std::tanh(result);
    p.expected[i] = result;
  }
  return p;
}

Outcome NormalizationProblem::compare(std::span<const std::byte> output) const {
  Outcome outcome;
  outcome.outputs = count();
  const int fraction_bits = half ? 10 : 23;
  for (std::size_t i = 0; i < count(); ++i) {
    double got = 0;
    if (half) {
      dmlref::half h;
      std::memcpy(&h, output.data() + 2 * i, 2);
      got = static_cast<double>(h);
    } else {
      float f = 0;
      std::memcpy(&f, output.data() + 4 * i, 4);
      got = static_cast<double>(f);
    }
    if (!std::isfinite(got)) {
      ++outcome.not_finite;
      ++outcome.wrong;
      continue;
    }
    const double right = expected[i];
    const double ulp = std::ldexp(1.0, std::ilogb(std::max(std::fabs(right), 1.0)) - fraction_bits);
    const double distance = std::fabs(got - right) / ulp;
    outcome.worst = std::max(outcome.worst, distance);
    if (distance > 1.0) ++outcome.wrong;
  }
  return outcome;
}

Rows trailing_rows(const NormalizedTensor& tensor) {
  Rows rows{1, 1};
  const std::size_t rank = tensor.sizes.size(), reduced = tensor.axes.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const bool is_axis = std::find(tensor.axes.begin(), tensor.axes.end(), d) != tensor.axes.end();
    // Leading dimensions of extent 1 may be reduced or not: it is the same.
    if (tensor.sizes[d] == 1) continue;
    if (is_axis != (d >= rank - reduced)) return {};
    (is_axis ? rows.columns : rows.rows) *= tensor.sizes[d];
  }
  return rows;
}

Channels as_channels(const NormalizedTensor& tensor) {
  const Sizes& s = tensor.sizes;
  const Sizes& a = tensor.axes;
  if (s.size() != 4) return {};
  if (a == Sizes{0, 2, 3}) return {s[0], s[1], std::size_t{s[2]} * s[3], false, false};
  if (a == Sizes{2, 3}) return {s[0], s[1], std::size_t{s[2]} * s[3], false, true};
  if (a == Sizes{1, 2}) return {s[0], s[3], std::size_t{s[1]} * s[2], true, true};
  if (a == Sizes{1, 2, 3}) return {s[0], 1, std::size_t{s[1]} * s[2] * s[3], false, true};
  return {};
}

}  // namespace bench
