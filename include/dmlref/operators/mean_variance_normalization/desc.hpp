// desc.hpp: MEAN_VARIANCE_NORMALIZATION, MEAN_VARIANCE_NORMALIZATION1 and MEAN_VARIANCE_NORMALIZATION2 as values.
#pragma once

#include <cstdint>
#include <optional>

#include "dmlref/config.hpp"
#include "dmlref/desc/activation.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC: act(scale * (x - mean) / sqrt(variance + epsilon) + bias), statistics
/// over {C, H, W} with cross_channel, over {H, W} without.
struct MeanVarianceNormalizationDesc {
  TensorDesc input;                            ///< FLOAT32 or FLOAT16
  std::optional<TensorDesc> scale;             ///< the input's type; its sizes, or 1, per dimension. Absent: 1
  std::optional<TensorDesc> bias;              ///< the same. Absent: 0
  TensorDesc output;                           ///< type and sizes of the input
  bool cross_channel = false;                  ///< one mean and variance over all channels of a batch
  bool normalize_variance = true;              ///< false: only the mean is subtracted
  float epsilon = 0.00001f;                    ///< added to the variance
  std::optional<Activation> fused_activation;  ///< applied before the one rounding of the result
};

/// DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC: the same with statistics over `axes`.
struct MeanVarianceNormalization1Desc {
  TensorDesc input;                 ///< FLOAT32 or FLOAT16
  std::optional<TensorDesc> scale;  ///< the input's type; its sizes, or 1, per dimension. Absent: 1
  std::optional<TensorDesc> bias;   ///< the same. Absent: 0
  TensorDesc output;                ///< type and sizes of the input
  Dimensions axes;                 ///< of one mean and variance: each below the rank, none twice. Empty: of one element
  bool normalize_variance = true;  ///< false: only the mean is subtracted
  float epsilon = 0.00001f;        ///< added to the variance
  std::optional<Activation> fused_activation;  ///< applied before the one rounding of the result
};

/// DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC: the same, with either statistic or without. Without the mean nothing
/// is subtracted: act(scale * x / sqrt(mean of x * x + epsilon) + bias), which is RMS normalization.
struct MeanVarianceNormalization2Desc {
  TensorDesc input;                 ///< FLOAT32 or FLOAT16
  std::optional<TensorDesc> scale;  ///< the input's type; its sizes, or 1, per dimension. Absent: 1
  std::optional<TensorDesc> bias;   ///< the same. Absent: 0
  TensorDesc output;                ///< type and sizes of the input
  Dimensions axes;                  ///< of the statistics: each below the rank, none twice. Empty: of one element
  bool use_mean = true;             ///< false: the mean is not subtracted, and the variance is about 0
  bool use_variance = true;         ///< false: no division, and no epsilon
  float epsilon = 0.00001f;         ///< added to the variance
  std::optional<Activation> fused_activation;  ///< applied before the one rounding of the result
};

DMLREF_END
