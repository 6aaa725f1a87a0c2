// environment_portable.cpp: the floating-point environment of callers and of threads on other CPUs, without a
// framework: under qemu. Prints what differs; exit 1 then.
#include <bit>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "dmlref/mean_variance_normalization.hpp"
#include "support/caller_environment.hpp"

namespace {

using namespace dmlref;
using dmlref_test::CallerEnvironment;
using dmlref_test::EnvironmentKind;
using dmlref_test::EnvironmentWords;

int failures = 0;
void expect(bool good, const char* what, const EnvironmentKind& kind) {
  if (good) return;
  std::printf("%s under %s\n", what, kind.name.c_str());
  ++failures;
}

/// Each task on a thread of another environment.
class ForeignThreads final : public Executor {
 public:
  explicit ForeignThreads(const EnvironmentKind& kind) : kind_(kind) {}
  std::size_t concurrency() const noexcept override { return 2; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    for (std::size_t i = 0; i < count; ++i) {
      std::thread([&] {
        const CallerEnvironment environment(kind_);
        const EnvironmentWords before = EnvironmentWords::now();
        task(context, i);
        expect(EnvironmentWords::now() == before, "a thread's environment changes", kind_);
      }).join();
    }
  }

 private:
  const EnvironmentKind& kind_;
};

template <class T>
std::vector<T> normalized(const std::vector<T>& x, Index rows, Index axis, Isa isa, Executor* executor) {
  const Shape shape{rows, static_cast<Index>(x.size()) / rows};
  std::vector<T> y(x.size());
  const Report report = mean_variance_normalization<T>(
      TensorView<const T>(x.data(), shape), std::nullopt, std::nullopt, TensorView<T>(y.data(), shape),
      {.axes = {axis}, .epsilon = 1e-41f, .fused_activation = default_activation(ActivationType::gelu)},
      {.isa = isa, .executor = executor});
  if (!report) {
    std::printf("%s\n", report.to_string().c_str());
    ++failures;
  }
  return y;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
void check(const std::vector<T>& x, const char* what) {
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    for (const Index axis : {0, 1}) {
      const auto expected = bytes_of(normalized(x, 6, axis, row.isa, nullptr));
      for (const EnvironmentKind& kind : dmlref_test::environment_kinds()) {
        const CallerEnvironment environment(kind);
        const EnvironmentWords before = EnvironmentWords::now();
        ForeignThreads threads(kind);
        const bool same = bytes_of(normalized(x, 6, axis, row.isa, nullptr)) == expected;
        const bool same_of_threads = bytes_of(normalized(x, 6, axis, row.isa, &threads)) == expected;
        const bool kept = EnvironmentWords::now() == before;
        expect(same && same_of_threads, what, kind);
        expect(kept, "the environment changes", kind);
      }
    }
  }
}

}  // namespace

int main() {
  std::vector<float> numbers, subnormals;
  std::vector<half> halves, small_halves;
  for (std::uint32_t i = 0; i < 6 * 200; ++i) {
    numbers.push_back(static_cast<float>(i * 7919u % 1000u) * 0.37f + 1000.0f);
    subnormals.push_back(std::bit_cast<float>(i * 65537u % 0x800000u));
    halves.push_back(half(static_cast<float>(i * 7919u % 1000u) * 0.37f));
    small_halves.push_back(half::from_bits(static_cast<std::uint16_t>(i % 0x400u)));
  }
  numbers[7] = std::bit_cast<float>(0x7FA00001u);  // a signaling NaN
  numbers[300] = std::bit_cast<float>(0x7F800000u);
  numbers[900] = std::bit_cast<float>(0x7F7FFFFFu);
  check(numbers, "numbers");
  check(subnormals, "subnormals");
  check(halves, "halves");
  check(small_halves, "subnormal halves");
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
