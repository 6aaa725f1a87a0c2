// One operator.
#include <dmlref/dmlref.hpp>

dmlref::Report call(const dmlref::MatrixMultiplyIntegerDesc& desc, std::span<const dmlref::InputBuffer> inputs,
                    std::span<const dmlref::OutputBuffer> outputs) {
  return dmlref::run(desc, dmlref::latest_feature_level, inputs, outputs);
}
