// import.hpp: `dmlref import`: from ONNX files to a folder with a DxDispatch model.
#pragma once

#include <string>

namespace dmlref::tool::onnx {

struct ImportOptions {
  std::string model;
  std::string data;  ///< empty: inputs are zeros
  std::string out;
  bool relative = false;  ///< outputs are written to the folder where the model runs, not to `out`
};

/// Writes `out`; the lines that say what was written and what to know of it. Throws Failure, and then nothing was
/// written.
std::string import_model(const ImportOptions& options);

}  // namespace dmlref::tool::onnx
