// Activations: fused into the normalization before them, whose result nothing else may use.
#include <fmt/format.h>

#include <array>

#include "onnx/operators.hpp"

namespace dmlref::tool::onnx {
namespace {

struct Parameter {
  std::string_view attribute;  ///< ONNX's name; empty: none
  float otherwise = 0;         ///< ONNX's default
};

struct FusedActivation {
  std::string_view type;
  ActivationType fused;
  std::array<Parameter, 2> parameters{};  ///< in the order of DirectML's struct
};

constexpr FusedActivation activations[] = {
    {"Relu", ActivationType::relu},
    {"LeakyRelu", ActivationType::leaky_relu, {{{"alpha", 0.01f}}}},
    {"Elu", ActivationType::elu, {{{"alpha", 1.0f}}}},
    {"Selu",
     ActivationType::scaled_elu,
     {{{"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}}}},
    {"Celu", ActivationType::celu, {{{"alpha", 1.0f}}}},
    {"Sigmoid", ActivationType::sigmoid},
    {"HardSigmoid", ActivationType::hard_sigmoid, {{{"alpha", 0.2f}, {"beta", 0.5f}}}},
    {"Tanh", ActivationType::tanh},
    {"Softplus", ActivationType::softplus, {{{"", 1.0f}}}},
    {"Softsign", ActivationType::softsign},
    {"ThresholdedRelu", ActivationType::thresholded_relu, {{{"alpha", 1.0f}}}},
    {"Shrink", ActivationType::shrink, {{{"bias", 0.0f}, {"lambd", 0.5f}}}},
    {"Gelu", ActivationType::gelu},
};

/// Null where the operator fuses none.
std::optional<Activation>* fused_activation_of(OperatorDesc& desc) {
  return std::visit(
      [](auto& known) -> std::optional<Activation>* {
        if constexpr (requires { known.fused_activation; }) {
          return &known.fused_activation;
        } else {
          return nullptr;
        }
      },
      desc);
}

}  // namespace

void lower_activation(Context& node) {
  const FusedActivation* row = activations;
  while (row->type != node.type()) ++row;
  Activation activation{row->fused, {}};
  for (std::size_t p = 0; p < row->parameters.size(); ++p) {
    const Parameter& parameter = row->parameters[p];
    activation.parameters[p] =
        parameter.attribute.empty() ? parameter.otherwise : node.real(parameter.attribute, parameter.otherwise);
  }
  if (row->fused == ActivationType::gelu && node.text("approximate", "none") != "none") {
    node.fail_attribute("approximate", "is \"tanh\", expected \"none\": DirectML's GELU is the exact one");
  }
  const Value input = node.input(0, "input");
  OperatorDesc* const before = node.sole_dispatch_before(input);
  std::optional<Activation>* const fused = before == nullptr ? nullptr : fused_activation_of(*before);
  if (fused == nullptr || *fused) {
    node.fail(
        fmt::format("takes \"{}\", expected the output of a normalization that nothing else takes: DirectML has this "
                    "operator here only fused",
                    input.name));
  }
  *fused = activation;
  node.check(*before);
  node.define(0, input);
}

}  // namespace dmlref::tool::onnx
