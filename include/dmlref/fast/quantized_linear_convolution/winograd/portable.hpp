// portable.hpp: staging in plain C++, for what vectors leave over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/winograd/kernels.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd::portable {

inline void stage_pixels(const std::uint8_t* src, std::ptrdiff_t count, std::uint8_t flip, std::int32_t zero,
                         std::int16_t* dst) noexcept {
  for (std::ptrdiff_t i = 0; i < count; ++i) dst[i] = static_cast<std::int16_t>((src[i] ^ flip) - zero);
}

inline void stage_planes(const std::uint8_t* const* rows, std::ptrdiff_t count, std::uint8_t flip, std::int32_t zero,
                         std::int16_t* dst, std::ptrdiff_t pitch) noexcept {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    for (std::ptrdiff_t c = 0; c < block; ++c) {
      dst[i * pitch + c] = static_cast<std::int16_t>((rows[c][i] ^ flip) - zero);
    }
  }
}

}  // namespace fast::qlc::winograd::portable
DMLREF_END
