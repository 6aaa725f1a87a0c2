// constants.hpp: what depends on a Winograd convolution's data but not on its pixels.
//
// With the activations a' as they are staged, unsigned, the weights w' as they are packed, signed, and zero points with
// them:
//   sum (a - za)(w - zw) + bias = sum a' w'  +  (bias - za' sum w' + K za' zw')  -  zw' sum a'
// Padding holds za', so K counts every tap. Where the result may exceed 32 bits (`needs_int64`), the products do not,
// and all else is done in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/buffers.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/constants.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/filter.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/winograd/plan.hpp"

DMLREF_BEGIN
namespace fast::qlc::winograd {

/// What one execute knows.
struct Run : Constants {
  const std::int32_t* offset = nullptr;  // what sums start from
};

/// The tables in `memory`, of constants and the packed filter.
inline void precompute_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                 std::byte* memory) noexcept {
  const ChannelBounds bounds = precompute_tables(inputs, p.g, p.tensors, p.constants_at, p.packed_channels(), memory);
  precompute_offsets(inputs, p.g, p.tensors, p.constants_at, bounds, packed + p.filter_sums_at(), p.packed_channels(),
                     0, memory);
}

inline void precompute_owned_constants(const Plan& p, const std::byte* const* inputs, const std::byte* packed,
                                       std::byte* memory) noexcept {
  precompute_constants(p, inputs, packed, memory);
}

/// What an execute knows of them.
inline void bind_constants(const Plan& p, const Buffers& b, const std::byte* packed, const std::byte* memory,
                           Run& run) noexcept {
  bind_tables(b, p.g, p.tensors, p.constants_at, packed, memory, p.packed_channels(), false, run);
  run.offset = reinterpret_cast<const std::int32_t*>(memory + p.constants_at.offset);
}

}  // namespace fast::qlc::winograd
DMLREF_END
