// floating_point.hpp: the floating-point environment that results are computed in, whatever the caller's is: rounding
// to nearest, subnormals as they are, exceptions masked.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"

#if DMLREF_ENVIRONMENT_C
#include <cfenv>
#endif

DMLREF_BEGIN
namespace detail {

#if DMLREF_ENVIRONMENT_X86
/// The thread's environment when this object was made.
///
/// SSE's word decides on our arithmetic. The x87's matters, too: C libraries compute fma with it where the CPU has no
/// instruction, and on 32 bits functions return in its registers. It is hardly ever changed: then a look is all.
class FloatingPointEnvironment {
 public:
  FloatingPointEnvironment() noexcept : sse_(__builtin_ia32_stmxcsr()) {
    std::uint16_t x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    x87_differs_ = (x87 & x87_control) != x87_default;
    if (x87_differs_) store_x87();
  }
  /// From now on the thread has the default.
  void set_default() const noexcept {
    if (x87_differs_) set_x87_default();
    if ((sse_ | sse_flags) != (sse_default | sse_flags)) __builtin_ia32_ldmxcsr(sse_default);
  }
  /// From now on the thread has this one again, with the flags that were raised in it.
  void restore() const noexcept {
    if (x87_differs_) load_x87();
    __builtin_ia32_ldmxcsr(sse_);  // (to read what it replaces would take six times as long)
  }

 private:
  static constexpr std::uint32_t sse_flags = 0x3F;
  static constexpr std::uint32_t sse_default = 0x1F80;
#if defined(_WIN32)  // (whose default precision is another)
  static constexpr std::uint16_t x87_control = 0x0C3F;
  static constexpr std::uint16_t x87_default = 0x003F;
#else
  static constexpr std::uint16_t x87_control = 0x0F3F;
  static constexpr std::uint16_t x87_default = 0x033F;
#endif

  DMLREF_NOINLINE void store_x87() noexcept { __asm__ volatile("fnstenv %0" : "=m"(x87_)); }
  DMLREF_NOINLINE void load_x87() const noexcept { __asm__ volatile("fldenv %0" : : "m"(x87_)); }
  DMLREF_NOINLINE static void set_x87_default() noexcept { __asm__ volatile("fninit"); }

  std::uint32_t sse_;
  bool x87_differs_;
  std::uint32_t x87_[7];  // where it differs
};
#elif DMLREF_ENVIRONMENT_ARM64
/// The thread's environment when this object was made: FPCR has rounding, flushing, default NaNs and traps, FPSR flags.
class FloatingPointEnvironment {
 public:
  FloatingPointEnvironment() noexcept : control_(control()), flags_(flags()) {}
  /// From now on the thread has the default.
  void set_default() const noexcept {
    if (control_ != 0) set_control(0);
  }
  /// From now on the thread has this one again, with the flags that were raised in it.
  void restore() const noexcept {
    if (control_ != 0) set_control(control_);
    if (flags() != flags_) __asm__ volatile("msr fpsr, %0" : : "r"(flags_) : "memory");
  }

 private:
  static std::uint64_t control() noexcept {
    std::uint64_t word = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word) : : "memory");
    return word;
  }
  static std::uint64_t flags() noexcept {
    std::uint64_t word = 0;
    __asm__ volatile("mrs %0, fpsr" : "=r"(word) : : "memory");
    return word;
  }
  static void set_control(std::uint64_t word) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(word) : "memory"); }

  std::uint64_t control_;
  std::uint64_t flags_;
};
#elif DMLREF_ENVIRONMENT_C
/// The thread's environment when this object was made.
class FloatingPointEnvironment {
 public:
  FloatingPointEnvironment() noexcept { std::fegetenv(&environment_); }
  /// From now on the thread has the default.
  void set_default() const noexcept { std::fesetenv(FE_DFL_ENV); }
  /// From now on the thread has this one again, with the flags that were raised in it.
  void restore() const noexcept { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_;
};
#else
/// WebAssembly has no other environment than the default.
class FloatingPointEnvironment {
 public:
  void set_default() const noexcept {}
  void restore() const noexcept {}
};
#endif

/// For as long as it lives its thread has the default environment.
class DefaultEnvironment {
 public:
  DefaultEnvironment() noexcept { callers_.set_default(); }
  ~DefaultEnvironment() { callers_.restore(); }
  DefaultEnvironment(const DefaultEnvironment&) = delete;
  DefaultEnvironment& operator=(const DefaultEnvironment&) = delete;

  /// For as long as it lives the thread has its own environment again: for code that is not the library's.
  class Pause {
   public:
    explicit Pause(DefaultEnvironment& paused) noexcept : paused_(paused) { paused_.callers_.restore(); }
    ~Pause() {
      paused_.callers_ = FloatingPointEnvironment();
      paused_.callers_.set_default();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    DefaultEnvironment& paused_;
  };

 private:
  FloatingPointEnvironment callers_;
};

/// A call that is not inlined: compilers take arithmetic for independent of the environment, and would move it out of
/// the code between two changes.
template <class Stage>
DMLREF_NOINLINE auto call_stage(const Stage& stage) {
  return stage();
}
template <class Stage>
auto switch_and_call(const Stage& stage) {
  const DefaultEnvironment environment;
  return call_stage(stage);
}

/// What `stage()` returns, computed in the default environment. The caller's is as before after that: no flag that the
/// stage raises is seen.
template <class Stage>
constexpr auto in_default_environment(const Stage& stage) {
  if (std::is_constant_evaluated()) return stage();
  return switch_and_call(stage);
}

}  // namespace detail
DMLREF_END
