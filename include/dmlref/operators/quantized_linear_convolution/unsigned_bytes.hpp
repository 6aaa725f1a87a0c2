// unsigned_bytes.hpp: bytes of either sign as unsigned ones, for references behind the public API: one for all element
// types, as they are slow and seldom what runs.
//
// With its top bit flipped a signed byte is its value plus 128, and so is its zero point: their difference stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/view/tensor_view.hpp"

DMLREF_BEGIN
namespace detail {

template <class T>
struct UnsignedAccess {
  typename ByteAccess<T>::Byte* data = nullptr;
  std::uint8_t flip = 0;  // 0x80 where they are signed
  std::uint8_t load(Index index) const noexcept {
    return static_cast<std::uint8_t>(ByteAccess<T>{data}.load(index) ^ flip);
  }
  void store(Index index, std::uint8_t value) const noexcept requires(!std::is_const_v<T>) {
    ByteAccess<T>{data}.store(index, static_cast<std::uint8_t>(value ^ flip));
  }
};

/// A bound tensor: of bytes as unsigned ones, of other elements as they are.
template <class T>
using UnsignedView = TensorView<T, std::conditional_t<sizeof(T) == 1, UnsignedAccess<T>, ByteAccess<T>>>;

inline UnsignedView<const std::uint8_t> unsigned_bytes(const std::byte* data,
                                                       const fast::qlc::Operand& tensor) noexcept {
  return {{data, static_cast<std::uint8_t>(tensor.is_signed ? 0x80 : 0)}, tensor.layout};
}
inline UnsignedView<std::uint8_t> unsigned_bytes(std::byte* data, const fast::qlc::Operand& tensor) noexcept {
  return {{data, static_cast<std::uint8_t>(tensor.is_signed ? 0x80 : 0)}, tensor.layout};
}
/// The zero point of the bytes `of`. An absent one is 0, which is 128 where they are signed.
inline UnsignedView<const std::uint8_t> unsigned_zero_point(const std::byte* data, const fast::qlc::Operand& tensor,
                                                            const fast::qlc::Operand& of) noexcept {
  static constexpr std::byte none{0};
  if (tensor.present) return unsigned_bytes(data, tensor);
  return {{&none, static_cast<std::uint8_t>(of.is_signed ? 0x80 : 0)}, Layout(Shape{1})};
}

}  // namespace detail
DMLREF_END
