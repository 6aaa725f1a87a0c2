// expect.hpp: preconditions: checked in constant expressions, and at run time where DMLREF_CHECKED is 1.
#pragma once

#include <type_traits>
#include <utility>

#include "dmlref/config.hpp"

DMLREF_BEGIN

/// Called where a unit compiled with DMLREF_CHECKED=1 breaks a precondition; `what` names it. After it returns, the
/// program continues as an unchecked one. It must not throw.
using PreconditionHandler = void (*)(const char* what);

namespace detail {
inline PreconditionHandler precondition_handler = nullptr;

/// Never in a constant expression: a compiler that names this function has found a broken precondition.
DMLREF_NOINLINE inline void precondition_failed(const char* what) noexcept {
  if (precondition_handler == nullptr) DMLREF_TRAP();
  precondition_handler(what);
}

constexpr void expect(bool holds, const char* what) noexcept {
  if (!holds && (DMLREF_CHECKED || std::is_constant_evaluated())) precondition_failed(what);
}
}  // namespace detail

/// Sets the handler of all checked units that have this code tag, before other threads use the library; null, the
/// default, traps. Returns the previous handler.
inline PreconditionHandler set_precondition_handler(PreconditionHandler handler) noexcept {
  return std::exchange(detail::precondition_handler, handler);
}

DMLREF_END
