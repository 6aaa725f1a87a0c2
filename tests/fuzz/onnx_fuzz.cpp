// onnx_fuzz.cpp: bytes as an ONNX file: a model of DxDispatch's format that the command's parser takes and whose
// operators the latest feature level accepts, or one line that says why not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/onnx_claims.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  dmlref_test::lowered_operators(bytes);
  return 0;
}
