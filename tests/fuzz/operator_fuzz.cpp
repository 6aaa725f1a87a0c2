// operator_fuzz.cpp: bytes as a DML_OPERATOR_DESC: validated at every level, compiled for every instruction set,
// executed between guard pages. Nothing crashes, every Report keeps its promises, and all results are the reference's.
#include <span>

#include "dmlref/directml.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/operator_bytes.hpp"
#include "support/report_claims.hpp"
#include "support/run_everywhere.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dmlref_test;
  ByteReader reader(std::span(data, size));
  const dmlref::FeatureLevel level = dmlref::feature_levels[reader.byte() % dmlref::feature_levels.size()].level;
  const bool sparse = reader.byte() % 16 == 15;
  const OperatorFromBytes op(reader);
  expect_none(broken_claim(op.desc(), level));
  expect_none(native_difference(op.desc(), level));
  expect_none(run_everywhere(op.desc(), level, RunData(reader.rest()), sparse ? sparse_limits : RunLimits{}).fault);
  return 0;
}
