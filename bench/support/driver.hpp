// driver.hpp: the two faces of every benchmark executable: Google Benchmark, and --side-by-side with the peers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/isa/cpu.hpp"
#include "support/case.hpp"
#include "support/workloads.hpp"

namespace bench {

/// A peer library: what it is called, and what it makes of the open case.
struct Peer {
  std::string who;
  std::function<Runners(unsigned threads)> make;
};

/// One case with its data.
class OpenCase {
 public:
  virtual ~OpenCase() = default;
  virtual dmlref::OperatorDesc desc() const = 0;
  virtual std::vector<std::span<const std::byte>> inputs() const = 0;
  virtual std::size_t output_bytes() const = 0;
  virtual Outcome compare(std::span<const std::byte> output) const = 0;
  virtual std::vector<Peer> peers() const = 0;

  /// Seconds that the limit of the machine allows: for QLC the nominal multiply-accumulates at the int8 peak of `isa`,
  /// else the unavoidable bytes at the copy bandwidth of their footprint.
  virtual double limit(dmlref::Isa isa, unsigned threads) const = 0;
  virtual double macs() const { return 0; }
  virtual double bytes() const { return 0; }
  virtual double elements() const = 0;
};

struct Operator {
  std::string name;
  std::vector<std::string> without;  ///< peers that have nothing for this operator
  std::vector<CaseName> cases;
  std::vector<Regime> regimes;
  /// `regime` empty: the data that speed is measured on.
  std::function<std::unique_ptr<OpenCase>(const CaseName& name, const std::string& regime)> open;
};

/// main of every benchmark executable. See docs/benchmarks.md, or --help.
int drive(int argc, char** argv, const Operator& op);

}  // namespace bench
