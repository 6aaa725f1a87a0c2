// program.cpp: an outside program without a test framework, built under many flags: prints the bytes of its results.
// Those flags, and with them the instruction set, must not show in what it prints, nor the byte order.
#if defined(PROGRAM_AFTER_DIRECTML_H)
#include "support/DirectML.h"
#endif
#if defined(DMLREF_NO_WINDOWS_TYPES)
#include <cstdint>
using UINT = std::uint32_t;
using INT = std::int32_t;
using UINT64 = std::uint64_t;
using FLOAT = float;
using BOOL = int;
#endif

#include "dmlref/directml.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "run/directml_case.hpp"

#if !defined(PROGRAM_AFTER_DIRECTML_H) && defined(DML_TARGET_VERSION)
#error "the library must not define DML_TARGET_VERSION"
#endif

namespace {

using namespace outside;

// By number: an older <DirectML.h> does not name the newest.
constexpr auto level = static_cast<DML_FEATURE_LEVEL>(0x6400);

/// Of results of four bytes; the same on a CPU of either byte order.
std::uint64_t digest(std::span<const std::byte> results) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 0; i + sizeof(std::uint32_t) <= results.size(); i += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, results.data() + i, sizeof(bits));
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((bits >> shift) & 0xFFu)) * 1099511628211u;
  }
  return hash;
}

/// Values whose products and sums fused arithmetic would round otherwise: exact ones from a small generator.
std::vector<float> awkward(std::size_t count) {
  std::vector<float> values(count);
  std::uint32_t state = 12345;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = 1000.0f + static_cast<float>(state >> 8) * 5.9604645e-8f;
  }
  return values;
}

bool print(const Case& c) {
  Memory output(c.output->bytes());
  const dmlref::OutputBuffer outputs[] = {output.span()};
  const dmlref::Report report = dmlref::run(c.desc, level, c.all_buffers(), outputs);
  std::printf("%s %016llx %s\n", c.name.c_str(), static_cast<unsigned long long>(digest(output.span())),
              report.to_string().c_str());
  return report.ok();
}

}  // namespace

int main() {
  bool good = true;
  for (const auto& c : all_cases()) {
    Memory output(c->output->bytes());
    const dmlref::OutputBuffer outputs[] = {output.span()};
    const dmlref::Report report = dmlref::run(c->desc, level, c->all_buffers(), outputs);
    bool same = report.ok();
    for (std::size_t i = 0; i < c->expected.size(); ++i) same = same && output.span()[i] == c->expected[i];
    std::printf("%s: %s\n", c->name.c_str(), same ? "right" : report.to_string().c_str());
    good = good && same;
  }
  for (const bool fused : {false, true}) {
    Case c;
    c.name = fused ? "normalization_fused" : "normalization";
    c.input<float>("InputTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 7, 31, 33}, awkward(7 * 31 * 33));
    c.input<float>("ScaleTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 7, 1, 1}, awkward(7));
    c.input<float>("BiasTensor", DML_TENSOR_DATA_TYPE_FLOAT32, {1, 7, 1, 1}, awkward(7));
    c.result<float>(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 7, 31, 33}, {});
    const DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC tanh{nullptr, nullptr, 1.7f, 0.3f};
    const DML_OPERATOR_DESC activation{DML_OPERATOR_ACTIVATION_SCALED_TANH, &tanh};
    c.normalization = {c.tensor(0), c.tensor(1), c.tensor(2), c.output->desc(),
                       0,           1,           1e-5f,       fused ? &activation : nullptr};
    c.desc = {DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, &c.normalization};
    good = print(c) && good;
  }
  return good ? 0 : 1;
}
