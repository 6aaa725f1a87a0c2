// pack.hpp: values of different types, in order: what std::tuple is, for a tenth of what that costs to compile.
#pragma once

#include <cstddef>
#include <utility>

#include "dmlref/config.hpp"

DMLREF_BEGIN
namespace schema {

template <std::size_t At, class T>
struct Leaf {
  T value;
};

template <class Places, class... Ts>
struct PackOf;
template <std::size_t... At, class... Ts>
struct PackOf<std::index_sequence<At...>, Ts...> : Leaf<At, Ts>... {
  using Places = std::index_sequence<At...>;
};

/// Made by braces: each value in its own.
template <class... Ts>
using Pack = PackOf<std::index_sequence_for<Ts...>, Ts...>;

/// The value at place At.
template <std::size_t At, class T>
constexpr T& value_at(Leaf<At, T>& leaf) noexcept {
  return leaf.value;
}
template <std::size_t At, class T>
constexpr const T& value_at(const Leaf<At, T>& leaf) noexcept {
  return leaf.value;
}

template <class... Ts>
constexpr Pack<Ts...> pack(Ts... values) noexcept {
  return {{std::move(values)}...};
}

}  // namespace schema
DMLREF_END
