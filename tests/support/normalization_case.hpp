// normalization_case.hpp: random MVN cases: any shape, axes, strides, scale and bias, data of every regime.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "dmlref/operators/mean_variance_normalization/desc.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

namespace dmlref_test {

using Random = std::mt19937_64;

inline int pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
inline dmlref::reference::Center any_center(Random& random) {
  return pick(random, 0, 1) == 0 ? dmlref::reference::Center::mean : dmlref::reference::Center::zero;
}

enum class Regime {
  mean_0,
  mean_100,
  mean_1e4,
  mean_1e6_deviation_01,
  constant,
  integers_40000,
  huge,
  tiny,
  outlier,
  cancelling_outliers,
  mixed_magnitudes,
  with_nan,
  with_infinity,
  count
};

inline const char* name_of(Regime regime) {
  constexpr const char* names[] = {
      "mean 0",  "mean 100", "mean 1e4", "mean 1e6, deviation 0.1", "constant",         "40000 to 40003",
      "huge",    "tiny",     "outlier",  "cancelling outliers",     "mixed magnitudes", "NaN",
      "infinity"};
  return names[static_cast<int>(regime)];
}

/// Data of a regime; float16 gets values of its own range.
template <class T>
void fill(std::vector<T>& data, Regime regime, Random& random) {
  constexpr bool is_half = std::is_same_v<T, dmlref::half>;
  std::normal_distribution<double> normal(0, 1);
  const auto put = [&](auto&& value) {
    for (T& x : data) x = static_cast<T>(static_cast<float>(value()));
  };
  const auto somewhere = [&]() -> T& {
    return data[std::uniform_int_distribution<std::size_t>(0, data.size() - 1)(random)];
  };
  const double mean_1e6 = is_half ? 2000 : 1e6;
  const double constants[] = {0.1, 1234, 0, -7.25, 1e-5};
  const double constant = constants[pick(random, 0, 4)];
  switch (regime) {
    case Regime::mean_0: put([&] { return normal(random); }); break;
    case Regime::mean_100: put([&] { return 100 + 5 * normal(random); }); break;
    case Regime::mean_1e4: put([&] { return 1e4 + 3 * normal(random); }); break;
    case Regime::mean_1e6_deviation_01: put([&] { return mean_1e6 + 0.1 * normal(random); }); break;
    case Regime::constant: put([&] { return constant; }); break;
    case Regime::integers_40000: put([&] { return 40000.0 + pick(random, 0, 3) * (is_half ? 32 : 1); }); break;
    case Regime::huge: put([&] { return (is_half ? 2e4 : 1e38) * normal(random); }); break;
    case Regime::tiny: put([&] { return (is_half ? 1e-7 : 1e-42) * normal(random); }); break;
    case Regime::outlier:
      put([&] { return normal(random); });
      somewhere() = static_cast<T>(is_half ? 60000.0f : 1e30f);
      break;
    case Regime::cancelling_outliers:
      put([&] { return normal(random); });
      somewhere() = static_cast<T>(is_half ? 60000.0f : 1e30f);
      somewhere() = static_cast<T>(is_half ? -60000.0f : -1e30f);
      break;
    case Regime::mixed_magnitudes:
      put([&] { return normal(random) * std::exp2(pick(random, is_half ? -20 : -60, is_half ? 13 : 60)); });
      break;
    case Regime::with_nan:
      put([&] { return normal(random); });
      somewhere() = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      break;
    case Regime::with_infinity:
      put([&] { return normal(random); });
      somewhere() = static_cast<T>(std::numeric_limits<float>::infinity() * (pick(random, 0, 1) == 0 ? 1.f : -1.f));
      break;
    case Regime::count: break;
  }
}

inline std::size_t elements_spanned(const dmlref::Layout& layout) {
  dmlref::Index last = 0;
  for (std::size_t d = 0; d < layout.rank(); ++d) last += (layout.shape[d] - 1) * layout.strides[d];
  return static_cast<std::size_t>(last + 1);
}

/// Packed, permuted, padded or (where allowed) repeated along some dimensions.
inline dmlref::Layout random_layout(const dmlref::Shape& shape, bool may_broadcast, Random& random) {
  if (pick(random, 0, 2) == 0) return dmlref::Layout(shape);
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (pick(random, 0, 2) != 0) std::shuffle(order.begin(), order.end(), random);
  auto strides = dmlref::Strides::filled(shape.size(), 0);
  dmlref::Index step = pick(random, 0, 4) == 0 ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (may_broadcast && pick(random, 0, 9) == 0) continue;
    strides[order[i]] = step;
    step *= shape[order[i]];
    if (pick(random, 0, 4) == 0) step += pick(random, 1, 3);
  }
  return dmlref::Layout(shape, strides);
}

template <class T>
struct NormalizationCase {
  dmlref::Layout input;
  dmlref::Layout output;
  std::optional<dmlref::Layout> scale;
  std::optional<dmlref::Layout> bias;
  dmlref::reference::AxisSet axes = 0;
  dmlref::reference::NormalizationParameters parameters;
  std::vector<T> input_data;
  std::vector<T> scale_data;
  std::vector<T> bias_data;

  using View = dmlref::TensorView<const T>;
  static View view(const std::vector<T>& data, const dmlref::Layout& layout) {
    return View(dmlref::DirectAccess<const T>{data.data()}, layout);
  }
  std::optional<View> scale_view() const { return scale ? std::optional(view(scale_data, *scale)) : std::nullopt; }
  std::optional<View> bias_view() const { return bias ? std::optional(view(bias_data, *bias)) : std::nullopt; }

  /// The reference's output memory; what is not written stays 42.
  std::vector<T> reference_output() const {
    std::vector<T> result(elements_spanned(output), static_cast<T>(42.0f));
    dmlref::reference::mean_variance_normalization(
        view(input_data, input), scale_view(), bias_view(),
        dmlref::TensorView<T>(dmlref::DirectAccess<T>{result.data()}, output), axes, parameters);
    return result;
  }

  /// Of MVN1, or of MVN2.
  template <class Desc = dmlref::MeanVarianceNormalization1Desc>
  Desc desc() const {
    const auto tensor = [](const dmlref::Layout& layout) {
      const auto numbers = [](const dmlref::IndexList& list) {
        dmlref::Dimensions all;
        for (const dmlref::Index v : list) all.push_back(static_cast<std::uint32_t>(v));
        return all;
      };
      return dmlref::TensorDesc(dmlref::data_type_of<T>, numbers(layout.shape), numbers(layout.strides));
    };
    Desc d;
    d.input = tensor(input);
    d.output = tensor(output);
    if (scale) d.scale = tensor(*scale);
    if (bias) d.bias = tensor(*bias);
    for (std::uint32_t axis = 0; axis < input.rank(); ++axis) {
      if (((axes >> axis) & 1u) != 0) d.axes.push_back(axis);
    }
    if constexpr (requires { d.use_mean; }) {
      d.use_mean = parameters.center == dmlref::reference::Center::mean;
      d.use_variance = parameters.normalize_variance;
    } else {
      d.normalize_variance = parameters.normalize_variance;
    }
    d.epsilon = parameters.epsilon;
    d.fused_activation = parameters.activation;
    return d;
  }

  /// The same with statistics about 0.
  NormalizationCase about_zero() const {
    NormalizationCase c = *this;
    c.parameters.center = dmlref::reference::Center::zero;
    return c;
  }
  /// Calls f(desc) with that of MVN1, or about 0 of MVN2.
  template <class F>
  auto with_desc(const F& f) const {
    if (parameters.center == dmlref::reference::Center::mean) return f(desc());
    return f(desc<dmlref::MeanVarianceNormalization2Desc>());
  }

  std::string describe() const {
    std::ostringstream text;
    const auto list = [&](const char* name, const dmlref::Layout& layout) {
      text << name << " {";
      for (const dmlref::Index v : layout.shape) text << v << ' ';
      text << "} strides {";
      for (const dmlref::Index v : layout.strides) text << v << ' ';
      text << "} ";
    };
    list("input", input);
    list("output", output);
    if (scale) list("scale", *scale);
    if (bias) list("bias", *bias);
    text << "axes " << axes << (parameters.normalize_variance ? "" : " no variance")
         << (parameters.center == dmlref::reference::Center::mean ? "" : " no mean") << " epsilon "
         << parameters.epsilon << ' ' << dmlref::find_activation(parameters.activation.type)->name << ' '
         << parameters.activation.parameters[0] << ' ' << parameters.activation.parameters[1] << ' '
         << to_string(dmlref::data_type_of<T>);
    return text.str();
  }
};

/// Packed tensors of `shape`, to be filled; neither scale nor bias.
template <class T>
NormalizationCase<T> plain_case(const dmlref::Shape& shape, dmlref::reference::AxisSet axes) {
  NormalizationCase<T> c;
  c.input = dmlref::Layout(shape);
  c.output = dmlref::Layout(shape);
  c.axes = axes;
  c.input_data.resize(static_cast<std::size_t>(dmlref::element_count(shape)));
  return c;
}

/// An activation with random parameters of moderate size.
inline dmlref::Activation random_activation(Random& random) {
  const auto& info = dmlref::activation_table[static_cast<std::size_t>(pick(random, 0, 16))];
  dmlref::Activation activation = dmlref::default_activation(info.type);
  if (pick(random, 0, 1) == 0) {
    for (float& p : activation.parameters) {
      p = static_cast<float>(std::uniform_real_distribution<double>(0.05, 2.5)(random) *
                             (pick(random, 0, 3) == 0 ? -1 : 1));
    }
    if (info.type == dmlref::ActivationType::shrink) activation.parameters[1] = std::fabs(activation.parameters[1]);
  }
  return activation;
}

/// Shape, axes, layouts, scale and bias at random; `elements` is about how many there are. Data of `regime`.
template <class T>
NormalizationCase<T> random_case(Random& random, Regime regime, int elements) {
  NormalizationCase<T> c;
  const int rank = pick(random, 1, 8);
  dmlref::Shape shape;
  double left = elements;
  for (int d = 0; d < rank; ++d) {
    const int most = std::max(
        1,
        static_cast<int>(std::pow(left, d + 1 == rank ? 1.0 : std::uniform_real_distribution<double>(0, 0.8)(random))));
    const int extent = pick(random, 0, 3) == 0 ? pick(random, 1, most) : most;
    shape.push_back(extent);
    left = std::max(1.0, left / extent);
  }
  if (pick(random, 0, 1) == 0) std::shuffle(shape.begin(), shape.end(), random);
  c.axes = static_cast<std::uint32_t>(pick(random, 0, (1 << rank) - 1));
  c.input = random_layout(shape, true, random);
  c.output = random_layout(shape, false, random);
  const auto broadcast = [&] {
    dmlref::Shape part = shape;
    const int kind = pick(random, 0, 3);
    for (std::size_t d = 0; d < part.size(); ++d) {
      const bool reduced = ((c.axes >> d) & 1u) != 0;
      if (kind == 0 || (kind == 1 && reduced) || (kind == 2 && !reduced) || (kind == 3 && pick(random, 0, 1) == 0))
        part[d] = 1;
    }
    return random_layout(part, true, random);
  };
  if (pick(random, 0, 2) != 0) c.scale = broadcast();
  if (pick(random, 0, 2) != 0) c.bias = broadcast();
  c.parameters.normalize_variance = pick(random, 0, 4) != 0;
  const float epsilons[] = {1e-5f, 1e-5f, 1e-12f, 0.0f, 1.0f};
  c.parameters.epsilon = epsilons[pick(random, 0, 4)];
  if (pick(random, 0, 1) == 0) c.parameters.activation = random_activation(random);
  c.input_data.resize(elements_spanned(c.input));
  fill(c.input_data, regime, random);
  const auto modest = [&](const std::optional<dmlref::Layout>& layout, std::vector<T>& data) {
    if (!layout) return;
    data.resize(elements_spanned(*layout));
    std::normal_distribution<double> normal(0, 1);
    for (T& x : data) x = static_cast<T>(static_cast<float>(normal(random)));
  };
  modest(c.scale, c.scale_data);
  modest(c.bias, c.bias_data);
  return c;
}

/// Makes results cancel: elements of few values, many of which equal their group's mean; biases that cancel
/// scale * (x - mean) / deviation; thresholds of activations that are results; here and there a NaN.
template <class T>
void make_hostile(NormalizationCase<T>& c, Random& random) {
  using dmlref::Coordinates;
  using dmlref::Index;
  const dmlref::Shape& shape = c.input.shape;
  const dmlref::Shape groups = dmlref::reference::shape_over(shape, c.axes, false);
  const auto at = [](const dmlref::Layout& layout, const Coordinates& coordinates) {
    Index index = 0;
    for (std::size_t d = 0; d < layout.rank(); ++d) {
      if (layout.shape[d] != 1) index += coordinates[d] * layout.strides[d];
    }
    return static_cast<std::size_t>(index);
  };
  const auto group_of = [&](const Coordinates& coordinates) {
    std::size_t group = 0;
    for (std::size_t d = 0; d < groups.size(); ++d) {
      group =
          group * static_cast<std::size_t>(groups[d]) + static_cast<std::size_t>(groups[d] == 1 ? 0 : coordinates[d]);
    }
    return group;
  };
  const auto each = [&](const auto& body) {
    auto coordinates = Coordinates::filled(shape.size(), 0);
    do body(coordinates);
    while (dmlref::advance(coordinates, shape));
  };
  // Values in pairs m ± v, mostly 0 or the same v; or any of few.
  const double middle = pick(random, 0, 2) == 0 ? 0.0 : pick(random, -40, 40) * 0.25;
  const double size = std::exp2(pick(random, -4, 4));
  const int zeros = pick(random, 0, 2);
  const int kinds = pick(random, 0, 3);
  const auto count = static_cast<std::size_t>(dmlref::element_count(groups));
  std::vector<double> previous(count, 0);
  each([&](const Coordinates& k) {
    double& before = previous[group_of(k)];
    double v = before != 0 ? -before : pick(random, 0, 2) < zeros ? 0.0 : pick(random, 1, kinds + 1) * size;
    before = before != 0 ? 0.0 : v;
    if (pick(random, 0, 9999) == 0) v = pick(random, 0, 1) == 0 ? std::nan("") : (sizeof(T) == 2 ? 6e4 : 1e30);
    c.input_data[at(c.input, k)] = static_cast<T>(static_cast<float>(middle + v));
  });
  const bool use_mean = c.parameters.center == dmlref::reference::Center::mean;
  struct Sums {
    double n = 0, sum = 0, square = 0;
    double mean() const { return sum / n; }
    double variance() const { return square / n - mean() * mean(); }
  };
  std::vector<Sums> sums(count);
  each([&](const Coordinates& k) {
    Sums& group = sums[group_of(k)];
    const auto x = static_cast<double>(static_cast<float>(c.input_data[at(c.input, k)]));
    group.n += 1;
    group.sum += x;
    group.square += x * x;
  });
  const auto product = [&](const Coordinates& k) {
    const Sums& group = sums[group_of(k)];
    const auto x = static_cast<double>(static_cast<float>(c.input_data[at(c.input, k)]));
    const double mean = use_mean ? group.mean() : 0.0;
    const double about = use_mean ? group.variance() : group.square / group.n;
    const double variance = c.parameters.normalize_variance ? about + double{c.parameters.epsilon} : 1.0;
    const double scale = c.scale ? static_cast<double>(static_cast<float>(c.scale_data[at(*c.scale, k)])) : 1.0;
    return scale * (x - mean) / std::sqrt(variance);
  };
  double threshold = 0;
  each([&](const Coordinates& k) {
    if (c.bias && pick(random, 0, 1) == 0) {
      c.bias_data[at(*c.bias, k)] = static_cast<T>(static_cast<float>(-product(k)));
    }
    if (pick(random, 0, 99) == 0) threshold = product(k);
  });
  if (pick(random, 0, 2) == 0 && std::isfinite(threshold)) {
    const auto where = static_cast<float>(threshold);
    c.parameters.activation = pick(random, 0, 1) == 0
                                  ? dmlref::Activation{dmlref::ActivationType::thresholded_relu, {where, 0}}
                                  : dmlref::Activation{dmlref::ActivationType::shrink, {0.25f, std::fabs(where)}};
  }
}

/// The bytes of a result, so that NaN compares equal to itself and -0 differs from 0.
template <class T>
std::vector<std::uint32_t> bits_of(const std::vector<T>& values) {
  std::vector<std::uint32_t> bits(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, dmlref::half>)
      bits[i] = values[i].bits;
    else
      bits[i] = std::bit_cast<std::uint32_t>(values[i]);
  }
  return bits;
}

}  // namespace dmlref_test
