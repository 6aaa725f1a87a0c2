// mean_variance_normalization.hpp: MEAN_VARIANCE_NORMALIZATION and MEAN_VARIANCE_NORMALIZATION1 as values.
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
  TensorDesc input;
  std::optional<TensorDesc> scale;
  std::optional<TensorDesc> bias;
  TensorDesc output;
  bool cross_channel = false;
  bool normalize_variance = true;
  float epsilon = 0.00001f;
  std::optional<Activation> fused_activation;
};

/// DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC: the same with statistics over `axes`.
struct MeanVarianceNormalization1Desc {
  TensorDesc input;
  std::optional<TensorDesc> scale;
  std::optional<TensorDesc> bias;
  TensorDesc output;
  Dimensions axes;
  bool normalize_variance = true;
  float epsilon = 0.00001f;
  std::optional<Activation> fused_activation;
};

DMLREF_END
