// pack.hpp: values of different types, in order: what std::tuple is, for a tenth of what that costs to compile.
#pragma once

#include <cstddef>
#include <utility>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace schema {

template <std::size_t I, class T>
struct Leaf {
  T value;
};

template <class Places, class... Ts>
struct PackOf;
template <std::size_t... I, class... Ts>
struct PackOf<std::index_sequence<I...>, Ts...> : Leaf<I, Ts>... {
  using Places = std::index_sequence<I...>;
};

/// Made by braces: each value in its own.
template <class... Ts>
using Pack = PackOf<std::index_sequence_for<Ts...>, Ts...>;

/// The value at place I.
template <std::size_t I, class T>
constexpr T& value_at(Leaf<I, T>& leaf) noexcept {
  return leaf.value;
}
template <std::size_t I, class T>
constexpr const T& value_at(const Leaf<I, T>& leaf) noexcept {
  return leaf.value;
}

template <class... Ts>
constexpr Pack<Ts...> pack(Ts... values) noexcept {
  return {{std::move(values)}...};
}

}  // namespace schema
DMLREF_END
