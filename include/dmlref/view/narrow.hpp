// narrow.hpp: numbers that a smaller type holds. What bounds them is said where they are narrowed.
#pragma once

#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"
#include "dmlref/view/expect.hpp"

DMLREF_BEGIN
namespace detail {

/// `value`, which `To` holds. Where DMLREF_CHECKED is 1, and in constant expressions, one that it does not is a broken
/// precondition.
template <class To, class From>
constexpr To narrow(From value) noexcept {
  if (DMLREF_CHECKED || std::is_constant_evaluated()) {
    expect(std::in_range<To>(value), "narrow: a number beyond the type");
  }
  return static_cast<To>(value);
}

}  // namespace detail
DMLREF_END
