// problem.hpp: a descriptor with the bytes of its inputs and those that must come out, found by the plainest loops that
// visit what exists.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dmlref/desc/half.hpp"
#include "dmlref/desc/operator_desc.hpp"
#include "limits/sparse_tensor.hpp"
#include "limits/work.hpp"
#include "support/exact_quantize_linear.hpp"
#include "support/exact_quotient.hpp"
#include "support/extreme_numbers.hpp"
#include "support/normalization_case.hpp"
#include "support/normalization_oracle.hpp"
#include "support/quantize_linear_values.hpp"
#include "support/reference_run.hpp"

namespace dmlref_test::limits {

using dmlref::DataType;
using dmlref::TensorDesc;

/// A desc is valid. What the data is like depends on `seed` alone, so that a smaller descriptor gets the same kind.
class Problem {
 public:
  Problem(const dmlref::OperatorDesc& desc, std::uint64_t seed) : desc_(desc), random_(seed), elements_(~seed) {
    const auto tensors = tensors_of(desc_);
    side_ = random_.one_in(2) ? GuardedBuffer::Side::end : GuardedBuffer::Side::begin;
    for (const TensorDesc* tensor : tensors.inputs) {
      inputs_.push_back(
          tensor == nullptr ? nullptr : std::make_unique<SparseInput>(*tensor, side_, random_.from(0, largest_number)));
    }
    std::vector<std::uint64_t> indices;
    limits::for_each_element(*tensors.output, [&](std::uint64_t index) { indices.push_back(index); });
    expected_.resize(indices.size() * size_of(tensors.output->data_type));
    output_ = std::make_unique<SparseOutput>(*tensors.output, side_, std::move(indices));
    std::visit([&](const auto& d) { solve(d); }, desc_);
  }

  const SparseOutput& output() const { return *output_; }
  std::span<const std::byte> expected() const { return expected_; }
  /// All inputs, or only those that are owned by DML, or only the others.
  std::vector<dmlref::InputBuffer> bound(std::optional<bool> owned = std::nullopt) const {
    const auto tensors = tensors_of(desc_);
    std::vector<dmlref::InputBuffer> some(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == nullptr) continue;
      if (owned.value_or(tensors.inputs[i]->owned_by_dml) == tensors.inputs[i]->owned_by_dml) {
        some[i] = inputs_[i]->span();
      }
    }
    return some;
  }
  /// What is wrong with what is expected itself; empty: nothing.
  const std::string& doubt() const { return doubt_; }
  /// In a few words, what the data is like.
  const std::string& data() const { return data_; }

 private:
  using Strides = std::vector<std::uint64_t>;

  template <class Desc>
  void solve(const Desc&) {}  // an operator that draw.hpp does not draw yet

  // ---- slices: element c of the output is element first + step * c of the input ----

  template <class Start, class Step>
  void gather(const TensorDesc& in, const TensorDesc& out, Start start, Step step) {
    const Strides strides = strides_of(in);
    const std::size_t element = size_of(in.data_type);
    std::vector<std::uint32_t> at(out.rank(), 0);
    std::size_t place = 0;
    for (;;) {
      std::uint64_t index = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        index += static_cast<std::uint64_t>(start(d) + step(d) * std::int64_t{at[d]}) * strides[d];
      }
      std::byte* const from = inputs_[0]->at(index);
      std::memcpy(&expected_[place], from, element);
      place += element;
      std::size_t d = at.size();
      while (d > 0 && ++at[d - 1] == out.sizes[d - 1]) at[--d] = 0;
      if (d == 0) return;
    }
  }
  void solve(const dmlref::SliceDesc& d) {
    gather(
        d.input, d.output, [&](std::size_t i) { return std::int64_t{d.offsets[i]}; },
        [&](std::size_t i) { return d.output.sizes[i] == 1 ? 0 : std::int64_t{d.strides[i]}; });
  }
  void solve(const dmlref::Slice1Desc& d) {
    gather(
        d.input, d.output,
        [&](std::size_t i) {
          const std::int64_t first = d.window_offsets[i];
          return d.window_strides[i] > 0 ? first : first + d.window_sizes[i] - 1;
        },
        [&](std::size_t i) { return std::int64_t{d.window_strides[i]}; });
  }

  // ---- normalizations: the reference, which visits elements only, and for a few 512 bits ----

  template <class T>
  std::vector<T> draw_numbers(const TensorDesc& tensor, Regime regime) {
    std::vector<T> values(static_cast<std::size_t>(element_count(tensor)));
    fill(values, regime, elements_.engine());
    return values;
  }
  template <class T>
  void put_all(std::size_t input, const TensorDesc& tensor, const std::vector<T>& values) {
    std::size_t i = 0;
    limits::for_each_element(tensor, [&](std::uint64_t index) { inputs_[input]->put(index, values[i++]); });
  }
  template <class Desc>
  void normalize(const Desc& d, dmlref::reference::AxisSet axes) {
    if (d.input.data_type == DataType::float16) return normalize_as<dmlref::half>(d, axes);
    normalize_as<float>(d, axes);
  }
  template <class T, class Desc>
  void normalize_as(const Desc& d, dmlref::reference::AxisSet axes) {
    const auto regime = [&] { return static_cast<Regime>(random_.from(0, static_cast<int>(Regime::count) - 1)); };
    const Regime of_input = regime();
    data_ = name_of(of_input);
    put_all(0, d.input, draw_numbers<T>(d.input, of_input));
    const bool plain = random_.one_in(2);
    if (d.scale) put_all(1, *d.scale, draw_numbers<T>(*d.scale, plain ? Regime::mean_0 : regime()));
    if (d.bias) put_all(2, *d.bias, draw_numbers<T>(*d.bias, plain ? Regime::mean_0 : regime()));

    const auto inputs = bound_all();
    run_reference(desc_, inputs, output_->span());
    for (std::size_t i = 0; i < output_->size(); ++i) {
      std::memcpy(&expected_[i * sizeof(T)], output_->element(i), sizeof(T));
    }
    const bool tame = !d.fused_activation ||
                      d.fused_activation->parameters == dmlref::default_activation(d.fused_activation->type).parameters;
    if (tame && output_->size() <= 64 && d.epsilon > 0 && d.epsilon <= 1) check<T>(d, axes);
  }
  /// Within one unit in the last place of the formula.
  template <class T, class Desc>
  void check(const Desc& d, dmlref::reference::AxisSet axes) {
    // Elements in the order of the output, each with its scale, its bias, and the number of its group.
    struct Element {
      double x, scale = 1, bias = 0;
      std::size_t group;
    };
    std::vector<Element> elements;
    const auto number = [](T value) { return static_cast<double>(static_cast<float>(value)); };
    const auto strides = [&](const std::optional<TensorDesc>& tensor) {
      Strides s = tensor ? strides_of(*tensor) : Strides();
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = tensor->sizes[i] == 1 ? 0 : s[i];
      return s;
    };
    const Strides in = strides_of(d.input), by = strides(d.scale), plus = strides(d.bias);
    std::vector<std::uint32_t> at(d.input.rank(), 0);
    for (bool more = true; more;) {
      std::uint64_t index = 0, scale = 0, bias = 0, group = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        index += at[i] * in[i];
        if (d.scale) scale += at[i] * by[i];
        if (d.bias) bias += at[i] * plus[i];
        group = (axes >> i & 1u) != 0 ? group : group * d.input.sizes[i] + at[i];
      }
      Element e{number(inputs_[0]->get<T>(index)), 1, 0, static_cast<std::size_t>(group)};
      if (d.scale) e.scale = number(inputs_[1]->get<T>(scale));
      if (d.bias) e.bias = number(inputs_[2]->get<T>(bias));
      elements.push_back(e);
      std::size_t k = at.size();
      while (k > 0 && ++at[k - 1] == d.input.sizes[k - 1]) at[--k] = 0;
      more = k != 0;
    }
    std::vector<std::vector<double>> groups;
    for (const Element& e : elements) {
      if (groups.size() <= e.group) groups.resize(e.group + 1);
      groups[e.group].push_back(e.x);
    }
    const auto parameters = dmlref::reference::NormalizationParameters::of(d);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Element& e = elements[i];
      const WideGroup group(groups[e.group], parameters.normalize_variance, d.epsilon,
                            parameters.center == dmlref::reference::Center::mean);
      const Wide exact = group.result(e.x, e.scale, e.bias, d.fused_activation.value_or(dmlref::Activation{}));
      T result;
      std::memcpy(&result, &expected_[i * sizeof(T)], sizeof(T));
      const double error = error_in_ulp(result, exact);
      // (what becomes of infinite scales and biases depends on how the reference computes the element)
      if (error <= 1 || !doubt_.empty() || !std::isfinite(e.scale) || !std::isfinite(e.bias)) continue;
      doubt_ = "the reference's element " + std::to_string(i) + " is " + text_of(number(result)) +
               ", the formula gives " + text_of(exact.to_double()) + " for " + text_of(e.x) + " * " + text_of(e.scale) +
               " + " + text_of(e.bias) + " with mean " + text_of(group.mean.to_double());
    }
  }
  static std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.17g", value);
    return text;
  }
  void solve(const dmlref::MeanVarianceNormalizationDesc& d) {
    normalize(d, dmlref::reference::cross_channel_axes(d.cross_channel));
  }
  void solve(const dmlref::MeanVarianceNormalization1Desc& d) { normalize(d, dmlref::reference::axis_set(d.axes)); }
  void solve(const dmlref::MeanVarianceNormalization2Desc& d) { normalize(d, dmlref::reference::axis_set(d.axes)); }

  // ---- quantized and dequantized elements: rational numbers ----

  /// Values by the kind of data that each tensor has, and what the exact result is of each element:
  /// exact(x, scale, zero point), which are of types In, Scale and Zero.
  template <class In, class Scale, class Zero, class Desc, class Exact>
  void element_wise(const Desc& d, Exact exact) {
    const auto put_values = [&](SparseInput& to, const TensorDesc& tensor, auto value) {
      limits::for_each_element(tensor, [&](std::uint64_t index) { to.put(index, value()); });
    };
    const ValueKind kind = value_kind(random_.engine()), scale_kind = value_kind(random_.engine());
    data_ =
        "data " + std::to_string(static_cast<int>(kind)) + ", scales " + std::to_string(static_cast<int>(scale_kind));
    put_values(input<&Desc::input>(), d.input, [&] { return data_value<In>(kind, elements_.engine()); });
    put_values(input<&Desc::scale>(), d.scale, [&] { return scale_value<Scale>(scale_kind, elements_.engine()); });
    if (d.zero_point) {
      put_values(input<&Desc::zero_point>(), *d.zero_point, [&] { return data_value<Zero>(kind, elements_.engine()); });
    }
    if constexpr (std::is_same_v<In, std::uint32_t> && std::is_same_v<Scale, float>) {
      if (random_.one_in(4)) {
        const std::uint32_t scale = random_.number(1u << 23, (1u << 24) - 1) | 1u;
        data_ = "near ties by " + std::to_string(scale);
        put_values(input<&Desc::scale>(), d.scale, [&] { return static_cast<float>(scale); });
        put_values(input<&Desc::input>(), d.input, [&] { return nearly_tied_factor(scale, elements_.engine()); });
        if (d.zero_point) put_values(input<&Desc::zero_point>(), *d.zero_point, [] { return Zero{0}; });
      }
    }
    std::vector<std::uint64_t> scales, zeros;
    limits::for_each_element(d.scale, [&](std::uint64_t index) { scales.push_back(index); });
    if (d.zero_point) limits::for_each_element(*d.zero_point, [&](std::uint64_t index) { zeros.push_back(index); });
    std::size_t i = 0;
    limits::for_each_element(d.input, [&](std::uint64_t index) {
      const Zero zero = zeros.empty() ? Zero{0} : input<&Desc::zero_point>().template get<Zero>(zeros[i]);
      const auto result = exact(input<&Desc::input>().template get<In>(index),
                                input<&Desc::scale>().template get<Scale>(scales[i]), zero);
      std::memcpy(&expected_[i * sizeof(result)], &result, sizeof(result));
      ++i;
    });
  }
  /// Calls body(T{}) for a floating-point type.
  template <class Body>
  static void with_real(DataType type, Body body) {
    if (type == DataType::float16) return body(dmlref::half{});
    body(float{});
  }
  /// The same for an integer of at most 32 bits.
  template <class Body>
  static void with_integer(DataType type, Body body) {
    switch (type) {
      case DataType::int32: return body(std::int32_t{});
      case DataType::uint32: return body(std::uint32_t{});
      case DataType::int16: return body(std::int16_t{});
      case DataType::uint16: return body(std::uint16_t{});
      case DataType::int8: return body(std::int8_t{});
      default: return body(std::uint8_t{});
    }
  }
  template <class Out>
  void quantize(const dmlref::ElementWiseQuantizeLinearDesc& d) {
    const auto from = [&]<class In, class Scale>(In, Scale) {
      element_wise<In, Scale, Out>(d, [](In x, Scale scale, Out zero) {
        return static_cast<Out>(exact_quantized<Out>(static_cast<double>(x), static_cast<double>(scale), zero));
      });
    };
    if (d.input.data_type == DataType::int32) return from(std::int32_t{}, float{});
    with_real(d.input.data_type, [&]<class In>(In) { from(In{}, In{}); });
  }
  void solve(const dmlref::ElementWiseQuantizeLinearDesc& d) {
    if (d.output.data_type == DataType::int8) return quantize<std::int8_t>(d);
    quantize<std::uint8_t>(d);
  }
  void solve(const dmlref::ElementWiseDequantizeLinearDesc& d) {
    with_integer(d.input.data_type, [&]<class In>(In) {
      with_real(d.output.data_type, [&]<class Out>(Out) {
        element_wise<In, Out, In>(d, [](In q, Out scale, In zero) {
          return exact_dequantized<Out>(std::int64_t{q} - std::int64_t{zero}, scale);
        });
      });
    });
  }

  // ---- convolutions and matrix products: sums in 64 bits over the products that exist, rounded as rationals ----

  /// The memory of an input by the member of its desc: inputs stand before all other fields.
  template <auto Member>
  SparseInput& input() const {
    return *inputs_[dmlref::schema::index_of(Member)];
  }
  /// Value `i` of a tensor with one element, or one per channel, row or column.
  static std::uint64_t parameter_index(const TensorDesc& tensor, std::uint64_t i) {
    const Strides strides = strides_of(tensor);
    for (std::size_t d = 0; d < tensor.rank(); ++d) {
      if (tensor.sizes[d] > 1) return i * strides[d];
    }
    return 0;
  }
  static std::int64_t value_of(const std::byte* at, DataType type) {
    return type == DataType::uint8 ? std::to_integer<int>(*at) : static_cast<std::int8_t>(*at);
  }
  static std::int64_t lowest_of(DataType type) { return type == DataType::uint8 ? 0 : -128; }
  static std::byte draw_extreme(ExtremeRandom& random, DataType type) {
    switch (random.from(0, 2)) {
      case 0: return static_cast<std::byte>(lowest_of(type));
      case 1: return static_cast<std::byte>(lowest_of(type) + 255);
      default: return static_cast<std::byte>(random.byte());
    }
  }
  /// The zero point of each of `count` channels, rows or columns, written.
  template <auto Member, class Desc>
  std::vector<std::int64_t> draw_zero_points(const Desc& d, DataType type, std::uint64_t count) {
    std::vector<std::int64_t> points(static_cast<std::size_t>(count), 0);
    const std::byte common = draw_extreme(random_, type);
    const bool same = random_.one_in(2);
    const std::optional<TensorDesc>& tensor = d.*Member;
    if (!tensor) return points;
    SparseInput& to = input<Member>();
    limits::for_each_element(
        *tensor, [&](std::uint64_t index) { to.put(index, same ? common : draw_extreme(elements_, type)); });
    for (std::size_t c = 0; c < points.size(); ++c) points[c] = value_of(to.data(parameter_index(*tensor, c)), type);
    return points;
  }

  /// One value for all elements of a tensor that take part, or nothing: random ones.
  std::optional<std::byte> draw_common(DataType type) {
    const std::byte value = draw_extreme(random_, type);
    return random_.one_in(3) ? std::nullopt : std::optional(value);
  }

  static float draw_scale(ExtremeRandom& random) {
    switch (random.from(0, 7)) {
      case 0: return std::ldexp(1.0f, static_cast<int>(random.from(0, 276)) - 149);
      case 1: return std::ldexp(static_cast<float>(random.from(1, 0xFFFF)), -149);  // subnormal
      case 2: return random.one_in(2) ? 1e38f : 3.4e38f;
      case 3: return 1.0f;
      default:
        return std::ldexp(static_cast<float>(random.from(0x800000, 0xFFFFFF)),
                          static_cast<int>(random.from(0, 24)) - 40);
    }
  }
  /// Finite, and not 0.
  static float within_float(double value) {
    return static_cast<float>(std::clamp(value, 0x1p-149, double{(std::numeric_limits<float>::max)()}));
  }

  /// What both factors of a sum's products are: one value each, or any.
  struct Factors {
    std::optional<std::byte> first, second;

    std::string text() const {
      const auto of = [](std::optional<std::byte> value) {
        return value ? std::to_string(std::to_integer<int>(*value)) : std::string("random");
      };
      return of(first) + " by " + of(second);
    }
  };
  Factors draw_factors(DataType first, DataType second, std::uint64_t depth) {
    const bool deep = depth > 100000;
    Factors factors{draw_common(first), draw_common(second)};
    if (!deep && random_.one_in(2)) factors.first.reset();
    if (!deep && random_.one_in(2)) factors.second.reset();
    data_ = factors.text();
    return factors;
  }

  /// The elements that take part, written; the sums in the order of the output's elements, with `biases`.
  template <class Desc>
  std::vector<std::int64_t> convolve(const Desc& d, const std::vector<std::int64_t>& biases) {
    const Axes axes(d);
    const std::uint64_t batch = d.input.sizes[0], channels = d.filter.sizes[1], out_channels = d.filter.sizes[0];
    const std::uint64_t per_group = out_channels / d.group_count;
    const Strides in = four(d.input), filter = four(d.filter);
    SparseInput& of_input = input<&Desc::input>();
    SparseInput& of_filter = input<&Desc::filter>();

    const std::uint64_t meetings = axes.rows.meetings() * axes.columns.meetings();
    const Factors factors = draw_factors(d.input.data_type, d.filter.data_type, channels * meetings);
    std::vector<std::uint32_t> rows, columns;
    if (meetings != 0) rows = axes.rows.positions(), columns = axes.columns.positions();
    for (std::uint64_t n = 0; n < batch; ++n) {
      for (std::uint64_t c = 0; c < d.input.sizes[1]; ++c) {
        for (const std::uint32_t y : rows) {
          for (const std::uint32_t x : columns) {
            std::byte* const to = of_input.at(n * in[0] + c * in[1] + y * in[2] + x * in[3]);
            *to = factors.first ? *factors.first : std::byte{elements_.byte()};
          }
        }
      }
    }
    for (const Range& fys : meetings == 0 ? std::vector<Range>() : axes.rows.live_taps()) {
      for (const Range& fxs : axes.columns.live_taps()) {
        for (std::uint64_t o = 0; o < out_channels; ++o) {
          for (std::uint64_t c = 0; c < channels; ++c) {
            for (auto fy = static_cast<std::uint64_t>(fys.first); fy <= static_cast<std::uint64_t>(fys.last); ++fy) {
              for (auto fx = static_cast<std::uint64_t>(fxs.first); fx <= static_cast<std::uint64_t>(fxs.last); ++fx) {
                std::byte* const to = of_filter.at(o * filter[0] + c * filter[1] + fy * filter[2] + fx * filter[3]);
                *to = factors.second ? *factors.second : std::byte{elements_.byte()};
              }
            }
          }
        }
      }
    }
    const std::int64_t in_zero = draw_zero_points<&Desc::input_zero_point>(d, d.input.data_type, 1)[0];
    const auto filter_zeros = draw_zero_points<&Desc::filter_zero_point>(d, d.filter.data_type, out_channels);

    std::vector<std::int64_t> sums;
    sums.reserve(output_->size());
    for (std::uint64_t n = 0; n < batch; ++n) {
      for (std::uint64_t o = 0; o < out_channels; ++o) {
        const std::uint64_t first = o / per_group * channels;
        const std::int64_t zero = filter_zeros[static_cast<std::size_t>(o)];
        for (std::int64_t oy = 0; oy < axes.rows.out; ++oy) {
          const Range fys = axes.rows.taps(oy);
          for (std::int64_t ox = 0; ox < axes.columns.out; ++ox) {
            const Range fxs = axes.columns.taps(ox);
            std::int64_t sum = biases[static_cast<std::size_t>(o)];
            if (factors.first && factors.second) {
              const auto count = static_cast<std::int64_t>(channels * fys.size() * fxs.size());
              sum += count * (value_of(&*factors.first, d.input.data_type) - in_zero) *
                     (value_of(&*factors.second, d.filter.data_type) - zero);
            } else if (fxs.size() != 0) {  // else no row has a product, however many there are
              for (std::int64_t fy = fys.first; fy <= fys.last; ++fy) {
                const auto y = static_cast<std::uint64_t>(axes.rows.position(oy, fy));
                for (std::int64_t fx = fxs.first; fx <= fxs.last; ++fx) {
                  const auto x = static_cast<std::uint64_t>(axes.columns.position(ox, fx));
                  const std::byte* a = of_input.data(n * in[0] + first * in[1] + y * in[2] + x * in[3]);
                  const std::byte* w = of_filter.data(o * filter[0] + static_cast<std::uint64_t>(fy) * filter[2] +
                                                      static_cast<std::uint64_t>(fx) * filter[3]);
                  for (std::uint64_t c = 0; c < channels; ++c, a += in[1], w += filter[1]) {
                    sum += (value_of(a, d.input.data_type) - in_zero) * (value_of(w, d.filter.data_type) - zero);
                  }
                }
              }
            }
            sums.push_back(sum);
          }
        }
      }
    }
    return sums;
  }
  void solve(const dmlref::ConvolutionIntegerDesc& d) {
    store(convolve(d, std::vector<std::int64_t>(d.filter.sizes[0], 0)));
  }
  void solve(const dmlref::QuantizedLinearConvolutionDesc& d) {
    using Desc = dmlref::QuantizedLinearConvolutionDesc;
    const std::uint64_t out_channels = d.filter.sizes[0];
    std::vector<std::int64_t> biases(static_cast<std::size_t>(out_channels), 0);
    const std::uint64_t kind = random_.from(0, 3);
    if (d.bias) {
      SparseInput& to = input<&Desc::bias>();
      limits::for_each_element(*d.bias, [&](std::uint64_t index) {
        constexpr std::int32_t low = (std::numeric_limits<std::int32_t>::min)();
        const auto small = static_cast<std::int32_t>(elements_.from(0, 2000)) - 1000;
        const bool far = kind == 0 || (kind == 1 && elements_.one_in(4));
        const std::int32_t any = elements_.one_in(2) ? (elements_.one_in(2) ? low : ~low)
                                                     : static_cast<std::int32_t>(elements_.number(0, largest_number));
        to.put(index, far ? any : small);
      });
      for (std::size_t c = 0; c < biases.size(); ++c) biases[c] = to.get<std::int32_t>(parameter_index(*d.bias, c));
    }
    const std::vector<std::int64_t> sums = convolve(d, biases);
    const std::uint64_t pixels = sums.size() / (out_channels * d.input.sizes[0]);
    quantize<&Desc::input_scale, &Desc::filter_scale, &Desc::output_scale, &Desc::output_zero_point>(
        d, sums, 1, [&](std::uint64_t i) {
          return Place{0, i / pixels % out_channels};
        });
  }

  /// The elements of A and B, written; the sums in the order of the output's elements.
  template <class Desc>
  std::vector<std::int64_t> multiply(const Desc& d) {
    const std::size_t rank = d.a.rank();
    const std::uint64_t m = d.a.sizes[rank - 2], depth = d.a.sizes[rank - 1], n = d.b.sizes[rank - 1];
    const Factors factors = draw_factors(d.a.data_type, d.b.data_type, depth);
    const auto put_all = [&](SparseInput& to, const TensorDesc& tensor, std::optional<std::byte> common) {
      limits::for_each_element(
          tensor, [&](std::uint64_t index) { *to.at(index) = common ? *common : std::byte{elements_.byte()}; });
    };
    const SparseInput& of_a = input<&Desc::a>();
    const SparseInput& of_b = input<&Desc::b>();
    put_all(input<&Desc::a>(), d.a, factors.first);
    put_all(input<&Desc::b>(), d.b, factors.second);
    const auto a_zeros = draw_zero_points<&Desc::a_zero_point>(d, d.a.data_type, m);
    const auto b_zeros = draw_zero_points<&Desc::b_zero_point>(d, d.b.data_type, n);
    const Strides a_strides = strides_of(d.a), b_strides = strides_of(d.b);

    std::vector<std::int64_t> sums;
    sums.reserve(output_->size());
    TensorDesc first_elements(d.output.data_type, d.output.sizes);  // of each product
    first_elements.sizes[rank - 2] = first_elements.sizes[rank - 1] = 1;
    std::vector<std::uint64_t> a_firsts, b_firsts;
    for (const auto& [strides, firsts] : {std::pair(&a_strides, &a_firsts), std::pair(&b_strides, &b_firsts)}) {
      first_elements.strides.emplace(strides->begin(), strides->end());
      limits::for_each_element(first_elements, [to = firsts](std::uint64_t index) { to->push_back(index); });
    }
    for (std::size_t product = 0; product < a_firsts.size(); ++product) {
      for (std::uint64_t row = 0; row < m; ++row) {
        const std::int64_t a_zero = a_zeros[static_cast<std::size_t>(row)];
        for (std::uint64_t column = 0; column < n; ++column) {
          const std::int64_t b_zero = b_zeros[static_cast<std::size_t>(column)];
          const std::byte* a = of_a.data(a_firsts[product] + row * a_strides[rank - 2]);
          const std::byte* b = of_b.data(b_firsts[product] + column * b_strides[rank - 1]);
          std::int64_t sum = 0;
          for (std::uint64_t k = 0; k < depth; ++k, a += a_strides[rank - 1], b += b_strides[rank - 2]) {
            sum += (value_of(a, d.a.data_type) - a_zero) * (value_of(b, d.b.data_type) - b_zero);
          }
          sums.push_back(sum);
        }
      }
    }
    return sums;
  }
  void solve(const dmlref::MatrixMultiplyIntegerDesc& d) { store(multiply(d)); }
  void solve(const dmlref::QuantizedLinearMatrixMultiplyDesc& d) {
    using Desc = dmlref::QuantizedLinearMatrixMultiplyDesc;
    const std::vector<std::int64_t> sums = multiply(d);
    const std::uint64_t m = d.a.sizes[d.a.rank() - 2], n = d.b.sizes.back();
    quantize<&Desc::a_scale, &Desc::b_scale, &Desc::output_scale, &Desc::output_zero_point>(
        d, sums, m, [&](std::uint64_t i) {
          return Place{i / n % m, i % n};
        });
  }

  /// Modulo 2^32.
  void store(const std::vector<std::int64_t>& sums) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto low = static_cast<std::uint32_t>(static_cast<std::uint64_t>(sums[i]) & 0xFFFFFFFFu);
      std::memcpy(&expected_[i * sizeof(low)], &low, sizeof(low));
    }
  }

  /// Where an element of the output finds its scales: the first factor's and the output's by row, the second factor's
  /// by column. A convolution has one row; its channels are columns.
  struct Place {
    std::uint64_t row, column;
  };
  /// Scales that suit the sums, or any, and what they make of the sums.
  template <auto A, auto B, auto Out, auto OutZero, class Desc, class PlaceOf>
  void quantize(const Desc& d, const std::vector<std::int64_t>& sums, std::uint64_t rows, PlaceOf place_of) {
    const auto out_zeros = draw_zero_points<OutZero>(d, d.output.data_type, rows);
    // To 5: in range; 6, 7: any; 8: powers of two; 9: one is 0 or not finite.
    const std::uint64_t kind = random_.from(0, 9);
    const auto any = [&](ExtremeRandom& random) { return draw_scale(random) * (random.one_in(20) ? -1.0f : 1.0f); };
    float a = any(random_), out = any(random_), b = any(random_);
    const bool outliers = random_.one_in(3);
    std::int64_t largest = 1;
    for (const std::int64_t sum : sums) largest = std::max(largest, std::abs(sum));
    const double highest_output = random_.one_in(2) ? 200 : 3;
    if (kind < 6) out = within_float(std::abs(double{a} * b) * static_cast<double>(largest) / highest_output);
    if (kind == 8) a = b = 1.0f, out = std::ldexp(1.0f, static_cast<int>(random_.from(0, 1)) + std::ilogb(largest));
    if (kind == 9) {
      constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
      constexpr float values[] = {0.0f, -0.0f, inf, -inf, nan};
      (random_.one_in(2) ? a : out) = values[random_.from(0, 4)];
    }
    // Of a tensor with more than one element each is up to `spread` powers of two greater, and as many less.
    const auto put_scales = [&](SparseInput& to, const TensorDesc& tensor, float common, std::uint64_t spread) {
      const bool many = element_count(tensor) > 1;
      limits::for_each_element(tensor, [&](std::uint64_t index) {
        float scale = common;
        if (many && kind < 6) {
          const double power = static_cast<double>(elements_.from(0, 2 * spread)) - static_cast<double>(spread);
          scale = within_float(std::abs(double{common}) * std::exp2(power));
        }
        if (many && (kind == 6 || (kind < 6 && outliers && elements_.one_in(8)))) scale = any(elements_);
        if (many && kind == 8) scale = std::ldexp(1.0f, static_cast<int>(elements_.from(0, 2)));
        to.put(index, scale);
      });
    };
    put_scales(input<A>(), d.*A, a, 1);
    put_scales(input<B>(), d.*B, b, 5);
    put_scales(input<Out>(), d.*Out, out, 1);
    data_ += ", scales " + std::to_string(kind);

    const int lowest = static_cast<int>(lowest_of(d.output.data_type)), highest = lowest + 255;
    std::array<float, 3> last{};
    std::optional<ExactQuotient> quotient;  // of `last`
    double ratio = 0;                       // (its kind is exact, its value is not used)
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Place at = place_of(i);
      const std::array<float, 3> scales{input<A>().template get<float>(parameter_index(d.*A, at.row)),
                                        input<B>().template get<float>(parameter_index(d.*B, at.column)),
                                        input<Out>().template get<float>(parameter_index(d.*Out, at.row))};
      if (i == 0 || std::memcmp(&scales, &last, sizeof(last)) != 0) {
        last = scales;
        ratio = double{scales[0]} * double{scales[1]} / double{scales[2]};
        quotient.reset();
        const auto usual = [](float scale) { return std::isfinite(scale) && scale != 0; };
        if (std::all_of(scales.begin(), scales.end(), usual)) quotient.emplace(scales[0], scales[1], scales[2]);
      }
      const auto out_zero = static_cast<int>(out_zeros[static_cast<std::size_t>(at.row)]);
      int value = 0;
      if (quotient) {
        value = quotient->quantized(sums[i], out_zero, lowest, highest);
      } else if (sums[i] == 0 || std::isnan(ratio) || std::isfinite(ratio)) {
        value = out_zero;
      } else {
        value = (ratio > 0) == (sums[i] > 0) ? highest : lowest;
      }
      expected_[i] = static_cast<std::byte>(value);
    }
  }

  static Strides four(const TensorDesc& tensor) {
    Strides strides = strides_of(tensor);
    if (strides.size() == 3) strides.insert(strides.begin() + 2, 0);
    return strides;
  }
  std::vector<dmlref::InputBuffer> bound_all() const {
    std::vector<dmlref::InputBuffer> all(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] != nullptr) all[i] = inputs_[i]->span();
    }
    return all;
  }

  const dmlref::OperatorDesc& desc_;
  ExtremeRandom random_;    // what the data is like
  ExtremeRandom elements_;  // its elements, of which a smaller descriptor takes fewer
  GuardedBuffer::Side side_{};
  std::vector<std::unique_ptr<SparseInput>> inputs_;
  std::unique_ptr<SparseOutput> output_;
  std::vector<std::byte> expected_;
  std::string doubt_, data_;
};

}  // namespace dmlref_test::limits
