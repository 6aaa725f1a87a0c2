// expected.cpp: what the library's validator and reference say of a case. Never the fast kernels.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

#include "dmlref/directml.hpp"
#include "dmlref/operators/convolution_integer/reference.hpp"
#include "dmlref/operators/element_wise_quantize_linear/reference.hpp"
#include "dmlref/operators/matrix_multiply_integer/reference.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"
#include "dmlref/operators/quantized_linear_convolution/reference.hpp"
#include "dmlref/operators/slice/reference.hpp"
#include "kit/build.hpp"
#include "model/operator_parser.hpp"
#include "support/element.hpp"

namespace dmlref::tool::kit {
namespace {

/// Elements of a buffer, or of a sequence that no memory holds.
template <class T>
struct BufferAccess {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  using Value = std::remove_const_t<T>;
  Byte* data = nullptr;
  const Sequence* sequence = nullptr;

  Value load(Index index) const noexcept {
    if (sequence != nullptr) return counted(index);
    Value value;
    std::memcpy(&value, data + index * static_cast<Index>(sizeof(T)), sizeof(T));
    return value;
  }
  void store(Index index, Value value) const noexcept requires(!std::is_const_v<T>) {
    std::memcpy(data + index * static_cast<Index>(sizeof(T)), &value, sizeof(T));
  }

 private:
  Value counted(Index index) const noexcept {
    if constexpr (std::is_integral_v<Value>) {
      return static_cast<Value>(sequence->start + sequence->delta * index);
    } else {  // from 0 by 1: where 1 is added without effect, it stays
      constexpr Index last = Index{1} << (std::is_same_v<Value, double> ? 53 : std::is_same_v<Value, float> ? 24 : 11);
      return static_cast<Value>(static_cast<float>(std::min(index, last)));
    }
  }
};

template <class T>
using BufferView = TensorView<T, BufferAccess<T>>;

class Evaluation {
 public:
  explicit Evaluation(Case& one) : case_(one) {}

  void operator()(const SliceDesc& desc) {
    copy(desc.input, desc.output,
         [&](const auto& input, const auto& output) { reference::slice(input, output, desc.offsets, desc.strides); });
  }
  void operator()(const Slice1Desc& desc) {
    copy(desc.input, desc.output, [&](const auto& input, const auto& output) {
      reference::slice1(input, output, desc.window_offsets, desc.window_sizes, desc.window_strides);
    });
  }

  void operator()(const QuantizedLinearConvolutionDesc& desc) {
    with_byte_type(desc.input.data_type, [&](auto in) {
      with_byte_type(desc.filter.data_type, [&](auto filter) {
        with_byte_type(desc.output.data_type, [&](auto out) {
          convolve<typename decltype(in)::type, typename decltype(filter)::type, typename decltype(out)::type>(desc);
        });
      });
    });
    case_.tolerance.source = "reading: the exact real number is rounded once";
  }

  void operator()(const ElementWiseQuantizeLinearDesc& desc) {
    with_byte_type(desc.output.data_type, [&](auto out) {
      using Out = typename decltype(out)::type;
      switch (desc.input.data_type) {
        case DataType::float16: quantize<half, half, Out>(desc); break;
        case DataType::int32: quantize<std::int32_t, float, Out>(desc); break;
        default: quantize<float, float, Out>(desc); break;
      }
    });
    case_.tolerance.source = "reading: the exact real number is rounded once";
  }
  void operator()(const ElementWiseDequantizeLinearDesc& desc) {
    visit_type(desc.input.data_type, [&](auto in) {
      using In = typename decltype(in)::type;
      if constexpr (std::is_integral_v<In> && sizeof(In) <= 4) {
        if (desc.output.data_type == DataType::float16) {
          dequantize<In, half>(desc);
        } else {
          dequantize<In, float>(desc);
        }
      }
    });
    // A product of up to 16 bits by FLOAT32 is rounded once in float32, too; of more, and by FLOAT16, maybe twice.
    const bool once = size_of(desc.input.data_type) <= (desc.output.data_type == DataType::float16 ? 1u : 2u);
    case_.tolerance.ulp = once ? 0 : 1;
    case_.tolerance.source = once ? "reading: the exact real number is rounded once"
                                  : "reading: the exact real number is rounded once, a device may round twice";
  }

  void operator()(const ConvolutionIntegerDesc& desc) {
    with_byte_type(desc.input.data_type, [&]<class In>(TypeTag<In>) {
      with_byte_type(desc.filter.data_type, [&]<class Filter>(TypeTag<Filter>) {
        reference::convolution_integer(
            reference::ConvolutionIntegerTensors<In, Filter, BufferView>{
                input<In>("InputTensor", desc.input), input<In>("InputZeroPointTensor", desc.input_zero_point),
                input<Filter>("FilterTensor", desc.filter),
                input<Filter>("FilterZeroPointTensor", desc.filter_zero_point), output<std::int32_t>(desc.output)},
            {Strides::from<std::uint32_t>(desc.strides), Strides::from<std::uint32_t>(desc.dilations),
             Shape::from<std::uint32_t>(desc.start_padding), desc.group_count});
      });
    });
    case_.tolerance.source = modulo;
  }
  void operator()(const MatrixMultiplyIntegerDesc& desc) {
    with_byte_type(desc.a.data_type, [&]<class A>(TypeTag<A>) {
      with_byte_type(desc.b.data_type, [&]<class B>(TypeTag<B>) {
        reference::matrix_multiply_integer(reference::MatrixMultiplyIntegerTensors<A, B, BufferView>{
            input<A>("ATensor", desc.a), input<A>("AZeroPointTensor", desc.a_zero_point), input<B>("BTensor", desc.b),
            input<B>("BZeroPointTensor", desc.b_zero_point), output<std::int32_t>(desc.output)});
      });
    });
    case_.tolerance.source = modulo;
  }
  void operator()(const QuantizedLinearMatrixMultiplyDesc& desc) {
    with_byte_type(desc.a.data_type, [&]<class A>(TypeTag<A>) {
      with_byte_type(desc.b.data_type, [&]<class B>(TypeTag<B>) {
        with_byte_type(desc.output.data_type, [&]<class Out>(TypeTag<Out>) {
          reference::quantized_linear_matrix_multiply(
              reference::QuantizedLinearMatrixMultiplyTensors<A, B, Out, BufferView>{
                  input<A>("ATensor", desc.a), input<float>("AScaleTensor", desc.a_scale),
                  input<A>("AZeroPointTensor", desc.a_zero_point), input<B>("BTensor", desc.b),
                  input<float>("BScaleTensor", desc.b_scale), input<B>("BZeroPointTensor", desc.b_zero_point),
                  input<float>("OutputScaleTensor", desc.output_scale),
                  input<Out>("OutputZeroPointTensor", desc.output_zero_point), output<Out>(desc.output)});
        });
      });
    });
    case_.tolerance.source = "reading: the exact real number is rounded once";
  }

  void operator()(const MeanVarianceNormalizationDesc& desc) {
    normalize(desc, reference::cross_channel_axes(desc.cross_channel));
  }
  void operator()(const MeanVarianceNormalization1Desc& desc) { normalize(desc, reference::axis_set(desc.axes)); }
  void operator()(const MeanVarianceNormalization2Desc& desc) { normalize(desc, reference::axis_set(desc.axes)); }

 private:
  static constexpr const char* modulo = "sums are integers, exact modulo 2^32";

  template <class F>
  static void with_byte_type(DataType type, F f) {
    if (type == DataType::int8) {
      f(TypeTag<std::int8_t>{});
    } else {
      f(TypeTag<std::uint8_t>{});
    }
  }

  template <class T>
  BufferView<const T> input(const char* name, const TensorDesc& desc) const {
    const auto found =
        std::find_if(case_.inputs.begin(), case_.inputs.end(), [name](const Input& one) { return one.tensor == name; });
    const Layout layout = layout_of(desc);
    if (found->sequence) return {BufferAccess<const T>{nullptr, &*found->sequence}, layout};
    return {BufferAccess<const T>{found->bytes.data(), nullptr}, layout};
  }
  template <class T>
  std::optional<BufferView<const T>> input(const char* name, const std::optional<TensorDesc>& desc) const {
    return desc ? std::optional(input<T>(name, *desc)) : std::nullopt;
  }
  template <class T>
  BufferView<T> output(const TensorDesc& desc) {
    return {BufferAccess<T>{case_.output.bytes.data(), nullptr}, layout_of(desc)};
  }

  template <class Slice>
  void copy(const TensorDesc& from, const TensorDesc& to, Slice slice) {
    const auto run = [&]<class T>(TypeTag<T>) { slice(input<T>("InputTensor", from), output<T>(to)); };
    switch (size_of(from.data_type)) {
      case 1: run(TypeTag<std::uint8_t>{}); break;
      case 2: run(TypeTag<std::uint16_t>{}); break;
      case 4:
        // A counted sequence depends on the type.
        if (from.data_type == DataType::float32) {
          run(TypeTag<float>{});
        } else {
          run(TypeTag<std::uint32_t>{});
        }
        break;
      default: run(TypeTag<std::uint64_t>{}); break;
    }
    case_.tolerance.bits = true;
    case_.tolerance.source = "bits are copied";
  }

  template <class In, class Filter, class Out>
  void convolve(const QuantizedLinearConvolutionDesc& desc) {
    const reference::QuantizedLinearConvolutionTensors<In, Filter, Out, BufferView> tensors{
        input<In>("InputTensor", desc.input),
        input<float>("InputScaleTensor", desc.input_scale),
        input<In>("InputZeroPointTensor", desc.input_zero_point),
        input<Filter>("FilterTensor", desc.filter),
        input<float>("FilterScaleTensor", desc.filter_scale),
        input<Filter>("FilterZeroPointTensor", desc.filter_zero_point),
        input<std::int32_t>("BiasTensor", desc.bias),
        input<float>("OutputScaleTensor", desc.output_scale),
        input<Out>("OutputZeroPointTensor", desc.output_zero_point),
        output<Out>(desc.output)};
    reference::quantized_linear_convolution(
        tensors, {Strides::from<std::uint32_t>(desc.strides), Strides::from<std::uint32_t>(desc.dilations),
                  Shape::from<std::uint32_t>(desc.start_padding), desc.group_count});
  }

  template <class In, class Scale, class Out>
  void quantize(const ElementWiseQuantizeLinearDesc& desc) {
    reference::element_wise_quantize_linear(input<In>("InputTensor", desc.input),
                                            input<Scale>("ScaleTensor", desc.scale),
                                            input<Out>("ZeroPointTensor", desc.zero_point), output<Out>(desc.output));
  }
  template <class In, class Out>
  void dequantize(const ElementWiseDequantizeLinearDesc& desc) {
    reference::element_wise_dequantize_linear(input<In>("InputTensor", desc.input),
                                              input<Out>("ScaleTensor", desc.scale),
                                              input<In>("ZeroPointTensor", desc.zero_point), output<Out>(desc.output));
  }

  template <class Desc>
  void normalize(const Desc& desc, reference::AxisSet axes) {
    if (desc.input.data_type == DataType::float16) {
      normalize_as<half>(desc, axes);
    } else {
      normalize_as<float>(desc, axes);
    }
  }

  template <class T, class Desc>
  void normalize_as(const Desc& desc, reference::AxisSet axes) {
    const auto in = input<T>("InputTensor", desc.input);
    const auto scale = input<T>("ScaleTensor", desc.scale);
    const auto bias = input<T>("BiasTensor", desc.bias);
    const auto parameters = reference::NormalizationParameters::of(desc);
    reference::mean_variance_normalization(in, scale, bias, output<T>(desc.output), axes, parameters);
    set_tolerance(in, scale, bias, axes, parameters);
  }

  template <class View>
  static double largest(const std::optional<View>& view, double otherwise) {
    return view ? largest(*view) : otherwise;
  }
  template <class View>
  static double largest(const View& view) {
    double most = 0;
    auto at = Coordinates::filled(view.rank(), 0);
    do {
      most = std::max(most, std::fabs(static_cast<double>(view.load(at))));
    } while (advance(at, view.shape()));
    return most;
  }

  static double largest_slope(ActivationType type, double a, double b) {
    switch (type) {
      case ActivationType::linear:
      case ActivationType::hard_sigmoid: return a;
      case ActivationType::parametric_softplus:
      case ActivationType::scaled_tanh: return a * b;
      case ActivationType::scaled_elu: return b * std::max(1.0, a);
      default: return std::max(1.2, a);
    }
  }

  /// What two passes in float32 may be off: the sum of each of 256 lanes, then a tree (README.md of the kit).
  template <class View>
  void set_tolerance(const View& in, const std::optional<View>& scale, const std::optional<View>& bias,
                     reference::AxisSet axes, const reference::NormalizationParameters& parameters) {
    const Activation& activation = parameters.activation;
    const Shape groups = reference::shape_over(in.shape(), axes, false);
    const Shape group = reference::shape_over(in.shape(), axes, true);
    const auto n = static_cast<double>(element_count(group));
    double rate = parameters.normalize_variance ? 0 : 1;
    double deviation = 0;  // the largest of (x - mean) * rate
    auto base = Coordinates::filled(in.rank(), 0);
    do {
      double sum = 0;
      double squares = 0;
      double furthest = 0;
      const auto each = [&](auto visit) {
        auto within = Coordinates::filled(in.rank(), 0);
        do {
          Coordinates at = base;
          for (std::size_t d = 0; d < at.size(); ++d) at[d] += within[d];
          visit(static_cast<double>(in.load(at)));
        } while (advance(within, group));
      };
      each([&](double x) { sum += x; });
      const double mean = parameters.center == reference::Center::mean ? sum / n : 0;
      each([&](double x) {
        squares += (x - mean) * (x - mean);
        furthest = std::max(furthest, std::fabs(x - mean));
      });
      const double variance = squares / n + static_cast<double>(parameters.epsilon);
      const double here = parameters.normalize_variance ? 1 / std::sqrt(variance) : 1;
      rate = std::max(rate, here);
      deviation = std::max(deviation, furthest * here);
    } while (advance(base, groups));

    constexpr double unit = 0x1p-24;
    const double terms = 8 + n / 256;
    const double largest_scale = largest(scale, 1);
    const double value = deviation * largest_scale + largest(bias, 0);
    double error = unit * (terms * largest(in) * rate * largest_scale + (terms + 6) * value);
    if (activation.type != ActivationType::identity) {
      const double a = std::fabs(activation.parameters[0]);
      const double b = std::fabs(activation.parameters[1]);
      const double slope = largest_slope(activation.type, a, b);
      error = slope * error + 0x1p-20 * std::max(1.0, slope * value + a + b);
    }
    case_.tolerance.absolute = 2 * error;
    case_.tolerance.ulp = std::is_same_v<typename View::value_type, half> ? 1 : 2;
    case_.tolerance.source = "error bound of two passes in float32 and one rounding: README.md";
  }

  Case& case_;
};

List list_of(const Json& json) { return json.get<List>(); }

void set_output(Case& one, DataType type) {
  const Json& tensor = one.desc["OutputTensor"];
  one.output.type = type;
  one.output.sizes = list_of(tensor["Sizes"]);
  if (tensor.contains("Strides")) one.output.strides = list_of(tensor["Strides"]);
  const std::uint64_t count = spanned(one.output.sizes, one.output.strides);
  one.output.bytes.assign((static_cast<std::size_t>(count) * size_of(type) + 3) / 4 * 4, std::byte{0});
  // What the model's resource holds before: memory between elements stays so.
  visit_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < count; ++i) store_element(one.output.bytes, i, static_cast<T>(output_filler));
  });
}

std::vector<std::string> rules_of(const Report& report) {
  std::vector<std::string> rules;
  for (const Violation& violation : report.violations()) {
    std::string name(to_string(violation.rule));
    if (std::find(rules.begin(), rules.end(), name) == rules.end()) rules.push_back(std::move(name));
  }
  return rules;
}

}  // namespace

void finish(Case& one) {
  const nlohmann::json model =
      nlohmann::json::parse(Json{{"type", "DML_OPERATOR_" + one.op}, {"desc", one.desc}}.dump());
  const std::string where = "case " + one.name;
  const ParsedOperator op(Node(where, model, "$"), {});
  const std::vector<std::string> meant = one.rules;
  one.rules.clear();
  for (const FeatureLevelName& row : feature_levels) {
    const Report report = validate(op.desc(), row.level);
    if (report) {
      one.accepted_from = row.level;
      break;
    }
    one.rules = rules_of(report);
  }
  const bool refused = !meant.empty();
  if (refused == one.accepted_from.has_value())
    throw std::logic_error(where + ": accepted or refused against its table");
  for (const std::string& rule : meant) {
    if (std::find(one.rules.begin(), one.rules.end(), rule) == one.rules.end()) {
      throw std::logic_error(where + ": does not break " + rule);
    }
  }
  if (refused) return;
  const OperatorDesc desc = *detail::read_directml(op.desc());
  std::visit([&](const auto& d) { set_output(one, d.output.data_type); }, desc);
  std::visit(
      [&]<class Desc>(const Desc& d) {
        if constexpr (std::is_invocable_v<Evaluation, const Desc&>) {
          Evaluation{one}(d);
        } else {  // an operator that is new: the kit has none of its cases yet
          throw std::logic_error(where + ": the kit does not evaluate " + std::string(Schema<Desc>::info.name));
        }
      },
      desc);
}

}  // namespace dmlref::tool::kit
