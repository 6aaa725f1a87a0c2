// module.hpp: dmlref of one revision as a shared library, for bench/versus.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/driver.hpp"

namespace bench {

/// What a module exports under the name `dmlref_bench_module`. The library that fills it and the one that reads it
/// share the headers of descs, which are the public boundary; kernels and plans are the module's own.
struct ModuleTable {
  /// One operator, initialized and run once. Null, and `fault` says why, where there is none.
  void* (*open)(const dmlref::OperatorDesc& desc, dmlref::Isa isa,
                const std::vector<std::span<const std::byte>>& inputs, std::span<std::byte> output, unsigned threads,
                std::string& fault);
  void (*execute)(void* opened);
  void (*close)(void* opened);
};

/// Every case by every module in turns: prints the 5th percentile and the median of each, what share of the first
/// one's it is, and whose outputs are wrong. Returns how many there were of those.
int compare_modules(const std::vector<CaseName>& cases, const Operator& op, const std::vector<std::string>& libraries,
                    dmlref::Isa isa, unsigned threads, double budget);

}  // namespace bench
