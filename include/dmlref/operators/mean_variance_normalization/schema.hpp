// schema.hpp: the fields of MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and
// MEAN_VARIANCE_NORMALIZATION2.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/desc.hpp"
#include "dmlref/schema/schema.hpp"

DMLREF_BEGIN
namespace support {

inline constexpr TensorSupport mean_variance_normalization[] = {{level_1_0, 4, 4, floats}};
inline constexpr TensorSupport mean_variance_normalization1[] = {{level_2_1, 4, 4, floats}, {level_3_1, 1, 8, floats}};
inline constexpr TensorSupport mean_variance_normalization2[] = {{level_6_3, 1, 8, floats}};

}  // namespace support

/// The fields of MEAN_VARIANCE_NORMALIZATION.
template <>
struct Schema<MeanVarianceNormalizationDesc> {
  using Desc = MeanVarianceNormalizationDesc;
  static constexpr OperatorInfo info{OperatorType{73}, "MEAN_VARIANCE_NORMALIZATION", support::level_1_0};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", &Desc::input, support::mean_variance_normalization),
      schema::input("ScaleTensor", &Desc::scale, support::mean_variance_normalization),
      schema::input("BiasTensor", &Desc::bias, support::mean_variance_normalization),
      schema::output("OutputTensor", &Desc::output, support::mean_variance_normalization),
      schema::number("CrossChannel", &Desc::cross_channel),
      schema::number("NormalizeVariance", &Desc::normalize_variance),
      schema::number("Epsilon", &Desc::epsilon),
      schema::activation("FusedActivation", &Desc::fused_activation));
  // clang-format on
};

/// The fields of MEAN_VARIANCE_NORMALIZATION1.
template <>
struct Schema<MeanVarianceNormalization1Desc> {
  using Desc = MeanVarianceNormalization1Desc;
  static constexpr OperatorInfo info{OperatorType{115}, "MEAN_VARIANCE_NORMALIZATION1", support::level_2_1};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", &Desc::input, support::mean_variance_normalization1),
      schema::input("ScaleTensor", &Desc::scale, support::mean_variance_normalization1),
      schema::input("BiasTensor", &Desc::bias, support::mean_variance_normalization1),
      schema::output("OutputTensor", &Desc::output, support::mean_variance_normalization1),
      schema::count("AxisCount"),
      schema::array("Axes", &Desc::axes, "AxisCount"),
      schema::number("NormalizeVariance", &Desc::normalize_variance),
      schema::number("Epsilon", &Desc::epsilon),
      schema::activation("FusedActivation", &Desc::fused_activation));
  // clang-format on
};

/// The fields of MEAN_VARIANCE_NORMALIZATION2.
template <>
struct Schema<MeanVarianceNormalization2Desc> {
  using Desc = MeanVarianceNormalization2Desc;
  static constexpr OperatorInfo info{OperatorType{171}, "MEAN_VARIANCE_NORMALIZATION2", support::level_6_3};
  // clang-format off
  static constexpr auto fields = schema::pack(
      schema::input("InputTensor", &Desc::input, support::mean_variance_normalization2),
      schema::input("ScaleTensor", &Desc::scale, support::mean_variance_normalization2),
      schema::input("BiasTensor", &Desc::bias, support::mean_variance_normalization2),
      schema::output("OutputTensor", &Desc::output, support::mean_variance_normalization2),
      schema::count("AxisCount"),
      schema::array("Axes", &Desc::axes, "AxisCount"),
      schema::number("UseMean", &Desc::use_mean),
      schema::number("UseVariance", &Desc::use_variance),
      schema::number("Epsilon", &Desc::epsilon),
      schema::activation("FusedActivation", &Desc::fused_activation));
  // clang-format on
};

DMLREF_END

#if DMLREF_HAS_KERNELS
#include "dmlref/operators/mean_variance_normalization/rules.hpp"
#endif
