// clock.hpp: monotonic seconds, and the seconds that the calling thread really ran.
#pragma once

#include <time.h>

#include <chrono>

namespace bench {
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
#if defined(CLOCK_THREAD_CPUTIME_ID)
/// Does not advance while the system runs another program on our CPU, nor while the thread sleeps.
inline double thread_now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
#else
inline double thread_now() { return now(); }
#endif
}  // namespace bench
