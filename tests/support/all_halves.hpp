// all_halves.hpp: every float16 there is, and normalizations that leave every finite one as it is.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "dmlref/desc/activation.hpp"
#include "support/normalization_case.hpp"

namespace dmlref_test {

inline std::vector<dmlref::half> all_halves() {
  std::vector<dmlref::half> all(65536);
  for (std::uint32_t bits = 0; bits < all.size(); ++bits) all[bits].bits = static_cast<std::uint16_t>(bits);
  return all;
}

/// The finite ones: x and -x are neighbors, so that every group of an even number has the mean 0, exactly.
inline std::vector<dmlref::half> finite_halves() {
  std::vector<dmlref::half> finite;
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    for (const std::uint32_t sign : {0x0000u, 0x8000u}) {
      finite.emplace_back();
      finite.back().bits = static_cast<std::uint16_t>(bits | sign);
    }
  }
  return finite;
}

/// How the 63,488 finite values are normalized: each is its group's value, since means are 0 and variances left out.
struct WayOfHalves {
  const char* name;
  dmlref::Shape shape;
  dmlref::reference::AxisSet axes;
};
inline std::vector<WayOfHalves> ways_of_halves() {
  return {{"one row", {1, 63488}, 2},
          {"rows of 128", {496, 128}, 2},
          {"rows of 2", {31744, 2}, 2},
          {"columns of 2", {2, 31744}, 1},
          {"columns of 128", {128, 496}, 1}};
}

inline NormalizationCase<dmlref::half> case_of_halves(const WayOfHalves& way, const dmlref::Activation& activation) {
  auto c = plain_case<dmlref::half>(way.shape, way.axes);
  const std::vector<dmlref::half> values = finite_halves();
  const auto rows = static_cast<std::size_t>(way.shape[0]), columns = static_cast<std::size_t>(way.shape[1]);
  const bool by_column = way.axes == 1;  // neighbors x and -x below each other
  for (std::size_t i = 0; i < values.size(); ++i) {
    c.input_data[by_column ? i % rows * columns + i / rows : i] = values[i];
  }
  c.parameters.normalize_variance = false;
  c.parameters.activation = activation;
  return c;
}

/// Every activation with its defaults and with other parameters.
inline std::vector<dmlref::Activation> activations_of_halves() {
  std::vector<dmlref::Activation> all;
  for (const dmlref::ActivationInfo& info : dmlref::activation_table) {
    all.push_back(dmlref::default_activation(info.type));
    if (info.parameter_names[0].empty()) continue;
    all.push_back({info.type, {0.25f, 0.75f}});
    all.push_back({info.type, {-1.5f, 0.75f}});
    all.push_back({info.type, {3.0f, -0.1f}});
  }
  return all;
}

}  // namespace dmlref_test
