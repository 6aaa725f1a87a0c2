// Our integers of 128 bits: by constants everywhere, and against the compiler's where it has some.
#include "dmlref/reference/uint128.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "support/seed.hpp"

namespace {

using dmlref::reference::detail::Uint128;

constexpr std::uint64_t ones = ~std::uint64_t{0};
static_assert(Uint128::product(ones, ones) == Uint128{ones - 1, 1});
static_assert(Uint128::product(std::uint64_t{1} << 48, std::uint64_t{1} << 49) == Uint128{std::uint64_t{1} << 33, 0});
static_assert((Uint128{0, 3} << 63) == Uint128{1, std::uint64_t{1} << 63} &&
              (Uint128{0, 3} << 127).high == std::uint64_t{1} << 63);
static_assert((Uint128{3, 0} >> 1) == Uint128{1, std::uint64_t{1} << 63} && (Uint128{3, 0} >> 64) == Uint128{0, 3});
static_assert(Uint128{5, 0} - Uint128{0, 1} == Uint128{4, ones} && Uint128{1, 0} > Uint128{0, ones});

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 Native;

Native native(Uint128 x) { return (Native{x.high} << 64) | x.low; }

TEST(Uint128, EqualsTheCompilers) {
  std::mt19937_64 random(dmlref_test::test_seed());
  // Numbers of all lengths, with long runs of ones and of zeros.
  const auto number = [&] {
    const std::uint64_t bits = random() >> (random() % 64);
    return random() % 2 != 0 ? bits : bits & ~(ones << (random() % 64));
  };
  for (int i = 0; i < 100000; ++i) {
    const Uint128 a{number(), number()}, b{number(), number()};
    const int bits = static_cast<int>(random() % 128);
    ASSERT_TRUE(native(Uint128::product(a.low, b.low)) == Native{a.low} * b.low) << a.low << " * " << b.low;
    ASSERT_TRUE(native(a << bits) == native(a) << bits) << a.high << ":" << a.low << " << " << bits;
    ASSERT_TRUE(native(a >> bits) == native(a) >> bits) << a.high << ":" << a.low << " >> " << bits;
    ASSERT_TRUE(native(a - b) == native(a) - native(b));
    ASSERT_EQ(a < b, native(a) < native(b));
    ASSERT_EQ(a >= b, native(a) >= native(b));
    ASSERT_EQ(a == b, native(a) == native(b));
  }
}
#endif

}  // namespace
