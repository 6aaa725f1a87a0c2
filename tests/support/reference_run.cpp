#include "support/reference_run.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include "dmlref/desc/half.hpp"
#include "dmlref/operators/calls.hpp"
#include "dmlref/operators/quantized_linear_convolution/plan.hpp"
#include "dmlref/reference.hpp"
#include "dmlref/run/one_operator.hpp"
#include "dmlref/view/bind.hpp"

namespace dmlref_test {
namespace {

/// One execution: buffers in the order of the desc's tensors, absent ones empty.
class ReferenceRun {
 public:
  ReferenceRun(std::span<const dmlref::InputBuffer> inputs, dmlref::OutputBuffer output)
      : inputs_(inputs), output_(output) {}

  void operator()(const dmlref::SliceDesc& desc) const {
    copy(desc.output, dmlref::reference::slice_layout(layout_of(desc.input), layout_of(desc.output).shape, desc.offsets,
                                                      desc.strides));
  }
  void operator()(const dmlref::Slice1Desc& desc) const {
    copy(desc.output, dmlref::reference::slice1_layout(layout_of(desc.input), layout_of(desc.output).shape,
                                                       desc.window_offsets, desc.window_sizes, desc.window_strides));
  }
  void operator()(const dmlref::MeanVarianceNormalizationDesc& desc) const {
    normalize(desc, dmlref::reference::cross_channel_axes(desc.cross_channel));
  }
  void operator()(const dmlref::MeanVarianceNormalization1Desc& desc) const {
    normalize(desc, dmlref::reference::axis_set(desc.axes));
  }
  void operator()(const dmlref::MeanVarianceNormalization2Desc& desc) const {
    normalize(desc, dmlref::reference::axis_set(desc.axes));
  }
  void operator()(const dmlref::QuantizedLinearConvolutionDesc& desc) const {
    with_sign(desc.input, [&]<class In>(In) {
      with_sign(desc.filter, [&]<class Filter>(Filter) {
        with_sign(desc.output, [&]<class Out>(Out) { convolve<In, Filter, Out>(desc); });
      });
    });
  }
  void operator()(const dmlref::ConvolutionIntegerDesc& desc) const {
    with_sign(desc.input, [&]<class In>(In) {
      with_sign(desc.filter, [&]<class Filter>(Filter) {
        dmlref::reference::convolution_integer(
            dmlref::ConvolutionIntegerTensors<In, Filter, View>{
                input<In>(0, desc.input), input<In>(1, desc.input_zero_point), input<Filter>(2, desc.filter),
                input<Filter>(3, desc.filter_zero_point), output<std::int32_t>(desc.output)},
            geometry_of(desc));
      });
    });
  }
  void operator()(const dmlref::MatrixMultiplyIntegerDesc& desc) const {
    with_sign(desc.a, [&]<class A>(A) {
      with_sign(desc.b, [&]<class B>(B) {
        dmlref::reference::matrix_multiply_integer(dmlref::MatrixMultiplyIntegerTensors<A, B, View>{
            input<A>(0, desc.a), input<A>(1, desc.a_zero_point), input<B>(2, desc.b), input<B>(3, desc.b_zero_point),
            output<std::int32_t>(desc.output)});
      });
    });
  }
  void operator()(const dmlref::QuantizedLinearMatrixMultiplyDesc& desc) const {
    with_sign(desc.a, [&]<class A>(A) {
      with_sign(desc.b, [&]<class B>(B) {
        with_sign(desc.output, [&]<class Out>(Out) {
          dmlref::reference::quantized_linear_matrix_multiply(
              dmlref::QuantizedLinearMatrixMultiplyTensors<A, B, Out, View>{
                  input<A>(0, desc.a), input<float>(1, desc.a_scale), input<A>(2, desc.a_zero_point),
                  input<B>(3, desc.b), input<float>(4, desc.b_scale), input<B>(5, desc.b_zero_point),
                  input<float>(6, desc.output_scale), input<Out>(7, desc.output_zero_point), output<Out>(desc.output)});
        });
      });
    });
  }
  void operator()(const dmlref::ElementWiseQuantizeLinearDesc& desc) const {
    with_sign(desc.output, [&]<class Out>(Out) {
      switch (desc.input.data_type) {
        case dmlref::DataType::float16: return quantize<dmlref::half, dmlref::half, Out>(desc);
        case dmlref::DataType::int32: return quantize<std::int32_t, float, Out>(desc);
        default: return quantize<float, float, Out>(desc);
      }
    });
  }
  void operator()(const dmlref::ElementWiseDequantizeLinearDesc& desc) const {
    switch (desc.input.data_type) {
      case dmlref::DataType::int8: return dequantize<std::int8_t>(desc);
      case dmlref::DataType::uint8: return dequantize<std::uint8_t>(desc);
      case dmlref::DataType::int16: return dequantize<std::int16_t>(desc);
      case dmlref::DataType::uint16: return dequantize<std::uint16_t>(desc);
      case dmlref::DataType::int32: return dequantize<std::int32_t>(desc);
      default: return dequantize<std::uint32_t>(desc);
    }
  }

 private:
  template <class T>
  using View = dmlref::ByteTensorView<T>;

  template <class In, class Scale, class Out>
  void quantize(const dmlref::ElementWiseQuantizeLinearDesc& desc) const {
    dmlref::reference::element_wise_quantize_linear(input<In>(0, desc.input), input<Scale>(1, desc.scale),
                                                    input<Out>(2, desc.zero_point), output<Out>(desc.output));
  }
  template <class In>
  void dequantize(const dmlref::ElementWiseDequantizeLinearDesc& desc) const {
    const auto as = [&]<class Out>(Out) {
      dmlref::reference::element_wise_dequantize_linear(input<In>(0, desc.input), input<Out>(1, desc.scale),
                                                        input<In>(2, desc.zero_point), output<Out>(desc.output));
    };
    if (desc.output.data_type == dmlref::DataType::float16) return as(dmlref::half{});
    as(float{});
  }

  template <class T>
  View<const T> input(std::size_t index, const dmlref::TensorDesc& tensor) const {
    return dmlref::bind<const T>(inputs_[index].data(), layout_of(tensor));
  }
  template <class T>
  std::optional<View<const T>> input(std::size_t index, const std::optional<dmlref::TensorDesc>& tensor) const {
    return tensor ? std::optional(input<T>(index, *tensor)) : std::nullopt;
  }
  template <class T>
  View<T> output(const dmlref::TensorDesc& tensor) const {
    return dmlref::bind<T>(output_.data(), layout_of(tensor));
  }

  void copy(const dmlref::TensorDesc& to, const dmlref::Layout& window) const {
    switch (size_of(to.data_type)) {
      case 1: return copy_as<std::uint8_t>(to, window);
      case 2: return copy_as<std::uint16_t>(to, window);
      case 4: return copy_as<std::uint32_t>(to, window);
      default: return copy_as<std::uint64_t>(to, window);
    }
  }
  template <class T>
  void copy_as(const dmlref::TensorDesc& to, const dmlref::Layout& window) const {
    dmlref::reference::copy(dmlref::bind<const T>(inputs_[0].data(), window), output<T>(to));
  }

  template <class Desc>
  void normalize(const Desc& desc, dmlref::reference::AxisSet axes) const {
    if (desc.input.data_type == dmlref::DataType::float16) return normalize_as<dmlref::half>(desc, axes);
    normalize_as<float>(desc, axes);
  }
  template <class T, class Desc>
  void normalize_as(const Desc& desc, dmlref::reference::AxisSet axes) const {
    dmlref::reference::mean_variance_normalization(input<T>(0, desc.input), input<T>(1, desc.scale),
                                                   input<T>(2, desc.bias), output<T>(desc.output), axes,
                                                   dmlref::reference::NormalizationParameters::of(desc));
  }

  template <class F>
  static void with_sign(const dmlref::TensorDesc& tensor, const F& f) {
    if (tensor.data_type == dmlref::DataType::int8) return f(std::int8_t{});
    f(std::uint8_t{});
  }
  template <class In, class Filter, class Out>
  void convolve(const dmlref::QuantizedLinearConvolutionDesc& desc) const {
    const dmlref::QuantizedLinearConvolutionTensors<In, Filter, Out, View> tensors{
        input<In>(0, desc.input),          input<float>(1, desc.input_scale),  input<In>(2, desc.input_zero_point),
        input<Filter>(3, desc.filter),     input<float>(4, desc.filter_scale), input<Filter>(5, desc.filter_zero_point),
        input<std::int32_t>(6, desc.bias), input<float>(7, desc.output_scale), input<Out>(8, desc.output_zero_point),
        output<Out>(desc.output)};
    dmlref::reference::quantized_linear_convolution(tensors, geometry_of(desc));
  }
  template <class Desc>
  static dmlref::reference::ConvolutionGeometry geometry_of(const Desc& desc) {
    using dmlref::Shape;
    using dmlref::Strides;
    return {Strides::from<std::uint32_t>(desc.strides), Strides::from<std::uint32_t>(desc.dilations),
            Shape::from<std::uint32_t>(desc.start_padding), static_cast<dmlref::Index>(desc.group_count)};
  }

  std::span<const dmlref::InputBuffer> inputs_;
  dmlref::OutputBuffer output_;
};

}  // namespace

void run_reference(const dmlref::OperatorDesc& desc, std::span<const dmlref::InputBuffer> inputs,
                   dmlref::OutputBuffer output) {
  std::visit(
      [&]<class Desc>(const Desc& known) {
        if constexpr (std::is_invocable_v<const ReferenceRun, const Desc&>) {
          ReferenceRun(inputs, output)(known);
        } else {  // an operator that is new: the library's own kernels in plain C++
          static_cast<void>(run(known, dmlref::latest_feature_level, inputs, {&output, 1}, {dmlref::Isa::scalar}));
        }
      },
      desc);
}

std::shared_ptr<const dmlref::detail::Plan> reference_plan(const dmlref::fast::qlc::Problem& problem) {
  return dmlref::detail::reference_qlc_plan(problem);
}

}  // namespace dmlref_test
