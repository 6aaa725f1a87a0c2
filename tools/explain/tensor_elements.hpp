// tensor_elements.hpp: a tensor of any type, read element by element.
#pragma once

#include <optional>
#include <span>

#include "dmlref/directml.hpp"
#include "dmlref/view/bind.hpp"
#include "explain/explanation.hpp"
#include "support/element.hpp"

namespace dmlref::tool {

class TensorElements {
 public:
  TensorElements(const TensorDesc& desc, InputBuffer bytes)
      : type_(desc.data_type), layout_(layout_of(desc)), bytes_(bytes) {}

  DataType type() const noexcept { return type_; }
  const Shape& shape() const noexcept { return layout_.shape; }
  Index byte(const Coordinates& at) const noexcept { return layout_(at) * static_cast<Index>(size_of(type_)); }

  /// Of an integer type.
  std::int64_t integer(const Coordinates& at) const { return as<std::int64_t>(at); }
  /// Of FLOAT32 or FLOAT16.
  float real(const Coordinates& at) const { return as<float>(at); }
  ElementValue value(const Coordinates& at) const {
    const auto index = static_cast<std::size_t>(layout_(at));
    return {Position(at.begin(), at.end()), element_text(type_, bytes_, index), bits_text(type_, bytes_, index)};
  }

  /// Where the element of a channel stands in a tensor of one element, or of one per channel along its only extent
  /// above 1.
  Coordinates channel(Index index) const {
    auto at = Coordinates::filled(layout_.rank(), 0);
    for (std::size_t d = 0; d < layout_.rank(); ++d) {
      if (layout_.shape[d] > 1) at[d] = index;
    }
    return at;
  }
  /// Where an element stands in a tensor that is repeated along extents of 1.
  Coordinates broadcast(const Coordinates& at) const {
    Coordinates own = at;
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (layout_.shape[d] == 1) own[d] = 0;
    }
    return own;
  }

 private:
  template <class To>
  To as(const Coordinates& at) const {
    return visit_type(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T value = load_element<T>(bytes_, static_cast<std::size_t>(layout_(at)));
      if constexpr (is_real<T>) {
        return static_cast<To>(widen(value));
      } else {
        return static_cast<To>(value);
      }
    });
  }

  DataType type_;
  Layout layout_;
  InputBuffer bytes_;
};

/// A value of `type`, which is T's.
template <class T>
ElementValue element_value(DataType type, const Coordinates& at, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {Position(at.begin(), at.end()), element_text(type, bytes, 0), bits_text(type, bytes, 0)};
}

/// `value` clamped to the quantized `type`; `saturated`: it lies outside.
inline ElementValue quantized_value(DataType type, const Coordinates& at, std::int64_t value, bool& saturated) {
  const std::int64_t low = type == DataType::int8 ? -128 : 0, high = low + 255;
  saturated = value < low || value > high;
  const std::int64_t clamped = value < low ? low : value > high ? high : value;
  if (type == DataType::int8) return element_value(type, at, static_cast<std::int8_t>(clamped));
  return element_value(type, at, static_cast<std::uint8_t>(clamped));
}
/// An exact sum as the INT32 that it is modulo 2^32.
inline ElementValue modulo_value(const Coordinates& at, std::int64_t sum) {
  return element_value(DataType::int32, at, static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
}

inline std::optional<TensorElements> optional_elements(const std::optional<TensorDesc>& desc, InputBuffer bytes) {
  return desc ? std::optional<TensorElements>(TensorElements(*desc, bytes)) : std::nullopt;
}

}  // namespace dmlref::tool
