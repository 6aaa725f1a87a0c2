// clock.hpp: monotonic seconds.
#pragma once

#include <chrono>

namespace bench {
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace bench
