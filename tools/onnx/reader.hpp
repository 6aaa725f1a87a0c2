// reader.hpp: from .onnx and .pb files to plain values. Protobuf's classes are used in reader.cpp alone.
#pragma once

#include <filesystem>

#include "onnx/graph.hpp"

namespace dmlref::tool::onnx {

/// Reads a ModelProto. Throws Failure with file, place and expectation where its form is broken: truncated, sizes that
/// do not fit, a name given twice, data outside the file.
Graph read_graph(const std::filesystem::path& path);

/// Reads a TensorProto, as ONNX's input_0.pb, which `memory` accounts for. Throws Failure.
Tensor read_tensor_file(const std::filesystem::path& path, Reservation& memory);

}  // namespace dmlref::tool::onnx
