// activation.hpp: the seventeen activations that MVN and MVN1 may fuse.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dmlref/config.hpp"

DMLREF_BEGIN

/// A fusable activation; the values are those of DML_OPERATOR_TYPE.
enum class ActivationType : std::uint32_t {
  elu = 35,
  hard_sigmoid = 37,
  identity = 38,
  leaky_relu = 39,
  linear = 40,
  parametric_softplus = 43,
  relu = 44,
  scaled_elu = 45,
  scaled_tanh = 46,
  sigmoid = 47,
  softplus = 49,
  softsign = 50,
  tanh = 51,
  thresholded_relu = 52,
  shrink = 90,
  celu = 128,
  gelu = 157,
};

/// An activation and its parameters, in the order of DirectML's struct.
struct Activation {
  ActivationType type = ActivationType::identity;  ///< which function
  std::array<float, 2> parameters{};               ///< e.g. {Alpha, Beta}; see `activation_table`
};

/// One row per activation: what it is called, what its parameters are called and default to, and since which level.
struct ActivationInfo {
  ActivationType type;                              ///< which function
  std::string_view name;                            ///< DirectML's, without DML_OPERATOR_ACTIVATION_
  std::array<std::string_view, 2> parameter_names;  ///< DirectML's, in the order of its struct; "": no parameter
  std::array<float, 2> defaults;                    ///< of the documents
  std::uint32_t introduced;                         ///< value of the first DML_FEATURE_LEVEL that has it
};

/// All fusable activations (docs/decisions/0006-fused-activations.md).
inline constexpr auto activation_table = std::to_array<ActivationInfo>({
    {ActivationType::elu, "ELU", {"Alpha", ""}, {1.0f, 0.0f}, 0x1000},
    {ActivationType::hard_sigmoid, "HARD_SIGMOID", {"Alpha", "Beta"}, {0.2f, 0.5f}, 0x1000},
    {ActivationType::identity, "IDENTITY", {"", ""}, {0.0f, 0.0f}, 0x1000},
    {ActivationType::leaky_relu, "LEAKY_RELU", {"Alpha", ""}, {0.01f, 0.0f}, 0x1000},
    {ActivationType::linear, "LINEAR", {"Alpha", "Beta"}, {1.0f, 0.0f}, 0x1000},
    {ActivationType::parametric_softplus, "PARAMETRIC_SOFTPLUS", {"Alpha", "Beta"}, {1.0f, 1.0f}, 0x1000},
    {ActivationType::relu, "RELU", {"", ""}, {0.0f, 0.0f}, 0x1000},
    {ActivationType::scaled_elu,
     "SCALED_ELU",
     {"Alpha", "Gamma"},
     {1.67326319217681884765625f, 1.05070102214813232421875f},
     0x1000},
    {ActivationType::scaled_tanh, "SCALED_TANH", {"Alpha", "Beta"}, {1.0f, 0.5f}, 0x1000},
    {ActivationType::sigmoid, "SIGMOID", {"", ""}, {0.0f, 0.0f}, 0x1000},
    {ActivationType::softplus, "SOFTPLUS", {"Steepness", ""}, {1.0f, 0.0f}, 0x1000},
    {ActivationType::softsign, "SOFTSIGN", {"", ""}, {0.0f, 0.0f}, 0x1000},
    {ActivationType::tanh, "TANH", {"", ""}, {0.0f, 0.0f}, 0x1000},
    {ActivationType::thresholded_relu, "THRESHOLDED_RELU", {"Alpha", ""}, {1.0f, 0.0f}, 0x1000},
    {ActivationType::shrink, "SHRINK", {"Bias", "Threshold"}, {0.0f, 0.5f}, 0x2000},
    {ActivationType::celu, "CELU", {"Alpha", ""}, {1.0f, 0.0f}, 0x3000},
    {ActivationType::gelu, "GELU", {"", ""}, {0.0f, 0.0f}, 0x5100},
});

/// The row of `type`; null where it is no fusable activation.
constexpr const ActivationInfo* find_activation(ActivationType type) noexcept {
  for (const ActivationInfo& row : activation_table) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

/// `type` with its default parameters.
constexpr Activation default_activation(ActivationType type) noexcept {
  const ActivationInfo* info = find_activation(type);
  return Activation{type, info != nullptr ? info->defaults : std::array<float, 2>{}};
}

DMLREF_END
