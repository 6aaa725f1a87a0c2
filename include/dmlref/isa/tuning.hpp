// tuning.hpp: every number that depends on the CPU model, one row per model.
//
// Instruction sets (isa/cpu.hpp) decide what a kernel may use; cache sizes (isa/cache.hpp) are read from the CPU. What
// is left are numbers that were measured on one model and would be a guess on another. They stand here. Plans and
// kernels take a row as an argument, so that a test can run each row on any CPU that has the instruction set. No result
// depends on the row. A new CPU model is a new row and a line in detect_cpu_model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dmlref/config.hpp"
#include "dmlref/isa/cpu.hpp"

#if DMLREF_ARCH_X86_64
#include <cpuid.h>
#endif

DMLREF_BEGIN

struct Tuning {
  /// SLICE and SLICE1.
  struct Slice {
    std::uint64_t task_bytes = 128 * 1024;  ///< of the larger of input and output: less is not worth a task
    /// Non-temporal stores begin where twice the larger of input and output is so much of the last-level cache.
    unsigned stream_eighths_512 = 5, stream_eighths_256 = 3;
    /// Several tasks keep in that cache what is no more than this, input and three times output.
    unsigned kept_sixths = 0;
    std::size_t interleave_from = 0;  ///< bytes of streamed rows of a page and more that go four at a time
    /// Bytes ahead of stores, where these wait for their lines.
    std::optional<std::int64_t> output_prefetch = std::nullopt;
    /// Of rows in L2, whose lines the prefetchers then do not mistake: between so many bytes and so much of L2.
    struct IrregularOrder {
      std::uint64_t from_bytes;
      unsigned to_l2_halves;
    };
    std::optional<IrregularOrder> irregular_order = std::nullopt;
    /// Pieces of rows cut out of longer ones, in columns, beyond whose ends prefetchers read: from so much of L2 on.
    std::optional<unsigned> columns_from_l2_quarters = std::nullopt;
    bool byte_permutations = false;  ///< of 32 bytes, for short rows, where the CPU has them
    std::int64_t panel_step = 64;    ///< bytes between units from which panels are transposed, not gathered by shuffles
  };
  /// MEAN_VARIANCE_NORMALIZATION and MEAN_VARIANCE_NORMALIZATION1.
  struct Normalization {
    /// Which rows of float32 form their results in one loop with the sums of another row, with AVX-512: those whose
    /// results are stored non-temporally and those within `l2_bytes`, or all.
    enum class PipelinedRows { streamed_or_near, always };
    PipelinedRows pipelined_rows = PipelinedRows::streamed_or_near;
    std::int64_t row_prefetch = 4096;                 ///< how many bytes ahead such rows are prefetched,
    std::int64_t prefetch_512 = 4096;                 ///< and long contiguous groups, by vectors of 512 bits,
    std::int64_t prefetch_256 = 1024;                 ///< and of 256 bits
    bool prefetches_kept_rows = true;                 ///< by 512 bits: rows that are converted once and not streamed
    std::uint64_t l2_bytes = std::uint64_t{1} << 20;  ///< input and output of more are prefetched
    std::uint64_t column_stream_percent = 50;         ///< as `stream_percent`, of groups side by side
    /// Percent of a program's share of the last-level cache that input and output may fill before results are stored
    /// non-temporally, and the same for groups of one summation block on several threads.
    std::uint64_t stream_percent = 100, stream_percent_of_rows = 100;
    bool streams_parts_of_lines = true;  ///< non-temporal stores also for rows that share a cache line with the next
  };

  /// QUANTIZED_LINEAR_CONVOLUTION. Bytes, unless they say otherwise.
  struct Convolution {
    std::int64_t tiled_block = 192 * 1024;  ///< of a tiled convolution's staged input
    /// Of the staged input of a 1x1 layer of few channels, and where few output channels read it: what L1d keeps.
    std::int64_t shallow_block = 20 * 1024, shallow_block_of_few = 12 * 1024;
    /// From one task's staged planes to the next one's, at most. Prefetchers follow the step from plane to plane: of
    /// tasks that are near they would take lines from the other core.
    std::int64_t task_distance = 256 * 1024;
    double winograd_share = 0.86;  ///< of the plain products: more cost is not worth Winograd's transforms
    std::int64_t winograd_block = 320 * 1024, winograd_block_strided = 448 * 1024;  ///< of V, which stays in L2
    std::int64_t winograd_near_filter = 1536 * 1024;  ///< of U: a larger one comes from beyond L2 for each block
    std::int64_t winograd_far_filter = 3072 * 1024;   ///< of U: a larger one is not read more often for even shares
    /// Of a tile of 16 channels that is transformed, in multiplications: tiles of 2 and 4, the same with a stride of 2.
    struct WinogradCost {
      std::int64_t input, output;
    };
    std::array<WinogradCost, 4> winograd_costs{{{1200, 1100}, {4000, 4800}, {3500, 1500}, {15000, 9000}}};
    /// Cycles of 64 bytes of a depthwise output, of which vectors of 512 bits hold 1, 2 or 4 planes: with a stride of
    /// 1, and of 2.
    using PlaneCosts = std::array<std::array<std::int64_t, 3>, 2>;
    PlaneCosts plane_costs{{{25, 31, 38}, {32, 38, 48}}};
    std::int64_t amx_planes = 768 * 1024, amx_pixels = 320 * 1024;  ///< of AMX's staged input, in L2
  };

  std::string_view name;
  Slice slice{};
  Normalization normalization{};
  Convolution convolution{};
};

enum class CpuModel : std::size_t { generic, zen3, zen4, zen5, xeon_avx512, xeon_amx };

/// One row per CpuModel. What a row leaves out is as in `generic`.
inline constexpr auto tuning_table = std::to_array<Tuning>({
    {.name = "generic"},
    {.name = "zen3"},
    {.name = "zen4",
     .slice = {.task_bytes = 64 * 1024,
               .stream_eighths_512 = 4,
               .kept_sixths = 8,
               .interleave_from = 32 * 1024,
               .byte_permutations = true},
     .normalization = {.prefetches_kept_rows = false, .stream_percent = 50, .stream_percent_of_rows = 80}},
    {.name = "zen5",
     .slice = {.task_bytes = 64 * 1024,
               .kept_sixths = 8,
               .irregular_order = Tuning::Slice::IrregularOrder{192 * 1024, 3}},
     .normalization = {.pipelined_rows = Tuning::Normalization::PipelinedRows::always,
                       .row_prefetch = 0,
                       .stream_percent = 50,
                       .stream_percent_of_rows = 80}},
    {.name = "xeon_avx512",
     .slice = {.output_prefetch = 256, .columns_from_l2_quarters = 3, .byte_permutations = true},
     .normalization = {.streams_parts_of_lines = false}},
    {.name = "xeon_amx",
     .slice = {.output_prefetch = 256, .columns_from_l2_quarters = 3, .byte_permutations = true},
     .normalization = {.streams_parts_of_lines = false}},
});

constexpr const Tuning& tuning_of(CpuModel model) noexcept { return tuning_table[static_cast<std::size_t>(model)]; }

namespace detail {

// By the family and model that CPUID reports. A hypervisor may report another model; AMX then still tells a Xeon.
inline CpuModel detect_cpu_model() noexcept {
#if DMLREF_ARCH_X86_64
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return CpuModel::generic;
  const bool amd = b == 0x68747541u && d == 0x69746E65u && c == 0x444D4163u;    // AuthenticAMD
  const bool intel = b == 0x756E6547u && d == 0x49656E69u && c == 0x6C65746Eu;  // GenuineIntel
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return CpuModel::generic;
  const unsigned base_family = (a >> 8) & 0xFu;
  const unsigned family = base_family == 0xFu ? base_family + ((a >> 20) & 0xFFu) : base_family;
  const unsigned model = ((a >> 12) & 0xF0u) | ((a >> 4) & 0xFu);
  unsigned features = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) features = d;
  if (amd && family == 25) return cpu_features().avx512vnni ? CpuModel::zen4 : CpuModel::zen3;
  // Models 0x20 to 0x2F and 0x60 to 0x6F of Zen 5 have 256-bit data paths: not the CPU that was measured.
  if (amd && family == 26) return model >> 4 == 2 || model >> 4 == 6 ? CpuModel::generic : CpuModel::zen5;
  if (intel && family == 6) {
    if ((features & (1u << 24)) != 0) return CpuModel::xeon_amx;  // AMX-TILE
    for (const unsigned known : {106u, 108u, 143u, 173u, 174u, 207u}) {
      if (model == known) return CpuModel::xeon_avx512;
    }
  }
#endif
  return CpuModel::generic;
}

}  // namespace detail

/// The row of the CPU that runs this program.
inline const Tuning& this_cpu() noexcept {
  static const CpuModel model = detail::detect_cpu_model();
  return tuning_of(model);
}

DMLREF_END
