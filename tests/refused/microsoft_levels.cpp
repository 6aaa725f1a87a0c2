// Microsoft's level where <DirectML.h> declares it, but without directml.hpp.
#include <DirectML.h>

#include <dmlref/slice.hpp>
#include <dmlref/validate.hpp>

using namespace dmlref;

int main() {
  const SliceDesc desc;
  Report report = validate(desc, FeatureLevel::level_6_2);
#if REFUSED  // no matching function
  report = validate(desc, DML_FEATURE_LEVEL_2_1);
#endif
#if REFUSED  // no matching function
  const CompileResult compiled = compile(desc, DML_FEATURE_LEVEL_2_1);
#endif
  return report ? 0 : 1;
}
