// caller_environment.hpp: floating-point environments in which a program may call the library, for tests.
#pragma once

#include <cfenv>
#include <cstdint>
#include <string>
#include <vector>

#include "dmlref/config.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif

namespace dmlref_test {

/// A way to set a thread's environment.
struct EnvironmentKind {
  std::string name;
  int rounding = FE_TONEAREST;
  bool flush = false;      // results that are subnormal
  bool flush_in = false;   // operands that are subnormal
  bool unmasked = false;   // every exception traps
  bool x87_float = false;  // the x87 rounds to 24 bits
};

/// Every rounding mode, with and without flushing and traps.
inline std::vector<EnvironmentKind> environment_kinds() {
  std::vector<EnvironmentKind> kinds;
  struct Mode {
    const char* name;
    int value;
  };
  for (const Mode mode : {
         Mode{"nearest", FE_TONEAREST},
#if defined(FE_UPWARD)
             Mode{"upward", FE_UPWARD}, Mode{"downward", FE_DOWNWARD}, Mode {
           "to zero", FE_TOWARDZERO
         }
#endif
       }) {
    kinds.push_back({mode.name, mode.value});
#if DMLREF_ENVIRONMENT_X86 || DMLREF_ENVIRONMENT_ARM64
    kinds.push_back({std::string(mode.name) + ", FTZ", mode.value, true, false});
    kinds.push_back({std::string(mode.name) + ", DAZ", mode.value, false, true});
    kinds.push_back({std::string(mode.name) + ", FTZ, DAZ", mode.value, true, true});
    kinds.push_back({std::string(mode.name) + ", traps", mode.value, false, false, true});
#endif
  }
#if DMLREF_ENVIRONMENT_X86
  kinds.push_back({"x87 of 24 bits", FE_TONEAREST, false, false, false, true});
  kinds.push_back({"all at once", FE_DOWNWARD, true, true, true, true});
#endif
  return kinds;
}

/// The control words and flags of this thread, to be compared.
struct EnvironmentWords {
  std::uint64_t control = 0;
  std::uint64_t more = 0;
  int rounding = 0;
  friend bool operator==(const EnvironmentWords&, const EnvironmentWords&) = default;

  static EnvironmentWords now() {
    EnvironmentWords words;
    words.rounding = std::fegetround();
#if DMLREF_ENVIRONMENT_X86
    std::uint16_t x87 = 0, status = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    __asm__ volatile("fnstsw %0" : "=m"(status));
    words.control = __builtin_ia32_stmxcsr();
    words.more = (std::uint64_t{status} << 16) | x87;
#elif DMLREF_ENVIRONMENT_ARM64
    __asm__ volatile("mrs %0, fpcr" : "=r"(words.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(words.more));
#else
    words.control = static_cast<std::uint64_t>(std::fetestexcept(FE_ALL_EXCEPT));
#endif
    return words;
  }
};

/// What vector code may leave behind on this thread: the upper halves of registers, which slow down code without AVX,
/// and AMX's tiles, which the system saves at each switch. Empty where the CPU does not tell.
inline std::string left_in_use() {
  std::string names;
#if DMLREF_ARCH_X86_64
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(13, 1, &a, &b, &c, &d) == 0 || (a & 4u) == 0) return names;
  __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
  if ((a & (1u << 2)) != 0) names += " upper halves of 256 bits";
  if ((a & (1u << 6)) != 0) names += " upper halves of 512 bits";
  if ((a & (3u << 17)) != 0) names += " tiles";
#endif
  return names;
}

/// For as long as it lives this thread has an environment of `kind`, with the flags of inexact and division by zero
/// raised (where they do not trap).
class CallerEnvironment {
 public:
  explicit CallerEnvironment(const EnvironmentKind& kind) {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
    std::fesetround(kind.rounding);
#if DMLREF_ENVIRONMENT_X86
    std::uint32_t sse = __builtin_ia32_stmxcsr();
    if (kind.flush) sse |= 0x8000u;
    if (kind.flush_in) sse |= 0x0040u;
    std::uint16_t x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    if (kind.x87_float) x87 = static_cast<std::uint16_t>(x87 & ~0x0300u);
    if (kind.unmasked) {
      sse &= ~0x1F80u;
      x87 = static_cast<std::uint16_t>(x87 & ~0x3Fu);
    } else {
      sse |= 0x24u;
    }
    __builtin_ia32_ldmxcsr(sse);
    __asm__ volatile("fldcw %0" : : "m"(x87));
#elif DMLREF_ENVIRONMENT_ARM64
    std::uint64_t word = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    if (kind.flush || kind.flush_in) word |= (1u << 24) | (1u << 19);  // FZ, FZ16
    if (kind.flush_in) word |= 1u << 25;                               // DN
    if (kind.unmasked) word |= 0x9F00u;                                // CPUs without traps ignore these
    __asm__ volatile("msr fpcr, %0" : : "r"(word));
    const std::uint64_t flags = 0x12;
    __asm__ volatile("msr fpsr, %0" : : "r"(flags));
#else
    std::feraiseexcept(FE_DIVBYZERO | FE_INEXACT);
#endif
  }
  ~CallerEnvironment() { std::fesetenv(&before_); }
  CallerEnvironment(const CallerEnvironment&) = delete;
  CallerEnvironment& operator=(const CallerEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace dmlref_test
