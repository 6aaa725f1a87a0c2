// Microsoft's names without directml.hpp.
#include <dmlref/mean_variance_normalization.hpp>
#include <dmlref/quantized_linear_convolution.hpp>
#include <dmlref/slice.hpp>
#include <dmlref/validate.hpp>

using namespace dmlref;

int main() {
  const SliceDesc desc;
  Report report = validate(desc, FeatureLevel::level_6_4);
#if REFUSED  // DML_FEATURE_LEVEL_6_4. was not declared|undeclared identifier .DML_FEATURE_LEVEL_6_4
  report = validate(desc, DML_FEATURE_LEVEL_6_4);
#endif
#if REFUSED  // no matching function|cannot convert
  report = validate(desc, 0x6400);
#endif
  return report ? 0 : 1;
}
