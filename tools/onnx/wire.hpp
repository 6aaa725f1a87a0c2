// wire.hpp: checks a serialized protocol buffer before protobuf allocates anything for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace google::protobuf {
class Descriptor;
}

namespace dmlref::tool::onnx {

/// Walks `bytes` as a message of type `descriptor`. Throws FileError with the place (`graph.node[3]`, byte) where the
/// bytes end early, are no protocol buffer, nest too deeply, or have more parts than a program should hold in memory.
/// The result is how many bytes protobuf takes for the message at most.
std::uint64_t check_wire(std::span<const std::byte> bytes, const google::protobuf::Descriptor& descriptor);

}  // namespace dmlref::tool::onnx
