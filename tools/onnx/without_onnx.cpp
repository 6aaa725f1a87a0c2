// Where libonnx or protobuf is missing, `import` says so.
#include "onnx/import.hpp"
#include "support/failure.hpp"

namespace dmlref::tool::onnx {

std::string import_model(const ImportOptions&) {
  throw Failure("import", "is not in this build, expected one with libonnx-dev and libprotobuf-dev");
}

}  // namespace dmlref::tool::onnx
