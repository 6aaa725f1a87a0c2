#include "onnx/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "io/file.hpp"
#include "onnx/external_data.hpp"
#include "onnx/wire.hpp"
#include "support/failure.hpp"

namespace dmlref::tool::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little endian and copied as it is");

/// File and place of whatever is read; throws with both.
struct Place {
  const std::string& file;
  std::string path;

  [[noreturn]] void fail(const std::string& what) const { throw Failure(file + ": " + path, what); }
  Place member(std::string_view name) const { return {file, path + (path.empty() ? "" : ".") + std::string(name)}; }
};

/// `memory` gets twice what protobuf takes: the second half is for the values that are made of the message.
template <class Proto>
Proto parse(const std::filesystem::path& path, std::string_view what, Reservation& memory) {
  try {
    Reservation file;
    const std::vector<std::byte> bytes = read_file(path, file);
    std::uint64_t parts = 0;
    try {
      parts = check_wire(bytes, *Proto::descriptor());
    } catch (const FileError& error) {
      throw FileError(fmt::format("is not an ONNX file, or is damaged: {}", error.what()));
    }
    memory.add(2 * parts, "its parts");
    Proto proto;
    google::protobuf::SetLogHandler(nullptr);  // what it has to say is said below
    if (!proto.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      throw FileError(fmt::format("is not an ONNX file: it holds no {}", what));
    }
    return proto;
  } catch (const FileError& error) {
    throw Failure(path.string(), error.what());
  }
}

Shape shape_of(const ::onnx::TensorProto& proto, const Place& place) {
  Shape shape;
  std::uint64_t count = 1;
  if (static_cast<std::size_t>(proto.dims_size()) > max_rank) {
    place.member("dims").fail(fmt::format("has {} extents, expected at most {}", proto.dims_size(), max_rank));
  }
  for (const std::int64_t dim : proto.dims()) {
    const auto extent = static_cast<std::uint64_t>(dim);
    if (dim < 0 || (extent != 0 && count > (std::uint64_t{1} << 60) / extent)) {
      place.member("dims").fail(
          fmt::format("is [{}], expected extents from 0 whose product memory holds", fmt::join(proto.dims(), ", ")));
    }
    count *= extent;
    shape.push_back(extent);
  }
  return shape;
}

/// Checks the number of values of a typed field, and copies them, each converted to T.
template <class T, class Field>
void copy_values(const Field& field, std::string_view name, std::uint64_t count, const Place& place, Tensor& tensor) {
  if (static_cast<std::uint64_t>(field.size()) != count) {
    place.member(name).fail(
        fmt::format("has {} values, expected {} for dims [{}]", field.size(), count, fmt::join(tensor.shape, ", ")));
  }
  tensor.data.resize(static_cast<std::size_t>(count) * sizeof(T));
  std::byte* to = tensor.data.data();
  int i = 0;
  for (const auto value : field) {
    const T converted = static_cast<T>(value);
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value)) {
        place.member(name).fail(fmt::format("[{}] is {}, expected a value of {}", i, value, type_name(tensor.type)));
      }
    }
    std::memcpy(to, &converted, sizeof(T));
    to += sizeof(T);
    ++i;
  }
}

/// From the field that ONNX says holds this type.
void copy_typed(const ::onnx::TensorProto& proto, std::uint64_t count, const Place& place, Tensor& tensor) {
  switch (tensor.type) {
    case ::onnx::TensorProto::FLOAT: return copy_values<float>(proto.float_data(), "float_data", count, place, tensor);
    case ::onnx::TensorProto::DOUBLE:
      return copy_values<double>(proto.double_data(), "double_data", count, place, tensor);
    case ::onnx::TensorProto::INT64:
      return copy_values<std::int64_t>(proto.int64_data(), "int64_data", count, place, tensor);
    case ::onnx::TensorProto::UINT64:
      return copy_values<std::uint64_t>(proto.uint64_data(), "uint64_data", count, place, tensor);
    case ::onnx::TensorProto::UINT32:
      return copy_values<std::uint32_t>(proto.uint64_data(), "uint64_data", count, place, tensor);
    case ::onnx::TensorProto::INT32:
      return copy_values<std::int32_t>(proto.int32_data(), "int32_data", count, place, tensor);
    case ::onnx::TensorProto::INT16:
      return copy_values<std::int16_t>(proto.int32_data(), "int32_data", count, place, tensor);
    case ::onnx::TensorProto::INT8:
      return copy_values<std::int8_t>(proto.int32_data(), "int32_data", count, place, tensor);
    case ::onnx::TensorProto::UINT8:
    case ::onnx::TensorProto::BOOL:
      return copy_values<std::uint8_t>(proto.int32_data(), "int32_data", count, place, tensor);
    default:  // UINT16, and the bits of FLOAT16 and BFLOAT16
      return copy_values<std::uint16_t>(proto.int32_data(), "int32_data", count, place, tensor);
  }
}

/// Where the data of a tensor lies outside of its file.
ExternalRange external_range(const ::onnx::TensorProto& proto, const Place& place) {
  ExternalRange range;
  const auto number = [&](const std::string& key, const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
      place.member("external_data").fail(fmt::format("{} is \"{}\", expected a number of bytes", key, text));
    }
    return value;
  };
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      range.location = entry.value();
    } else if (entry.key() == "offset") {
      range.offset = number(entry.key(), entry.value());
    } else if (entry.key() == "length") {
      range.length = number(entry.key(), entry.value());
    } else if (entry.key() != "checksum") {
      place.member("external_data")
          .fail(fmt::format("has \"{}\", expected location, offset, length and checksum", entry.key()));
    }
  }
  if (range.location.empty()) place.member("external_data").fail("has no location, expected the path of a file");
  return range;
}

Tensor tensor_of(const ::onnx::TensorProto& proto, const Place& place, ExternalData& external) {
  if (proto.has_segment()) place.member("segment").fail("is present, expected a tensor in one piece");
  Tensor tensor;
  tensor.type = proto.data_type();
  tensor.shape = shape_of(proto, place);
  const ElementType* type = find_element_type(tensor.type);
  if (type == nullptr) return tensor;
  const std::uint64_t count = element_count(tensor.shape);
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    try {
      tensor.data = external.read(external_range(proto, place), count * size_of(type->stored));
    } catch (const FileError& error) {
      place.member("external_data").fail(error.what());
    }
    return tensor;
  }
  if (proto.external_data_size() != 0) {
    place.member("external_data").fail("is present, expected data_location EXTERNAL with it");
  }
  if (!proto.has_raw_data()) {
    copy_typed(proto, count, place, tensor);
    return tensor;
  }
  const std::string& raw = proto.raw_data();
  if (raw.size() != count * size_of(type->stored)) {
    place.member("raw_data")
        .fail(fmt::format("has {} bytes, expected {} for dims [{}] of {}", raw.size(), count * size_of(type->stored),
                          fmt::join(tensor.shape, ", "), type->name));
  }
  tensor.data.resize(raw.size());
  if (!raw.empty()) std::memcpy(tensor.data.data(), raw.data(), raw.size());
  return tensor;
}

Attribute attribute_of(const ::onnx::AttributeProto& proto, const Place& place, ExternalData& external) {
  using Kind = Attribute::Kind;
  Attribute attribute;
  attribute.name = proto.name();
  switch (proto.type()) {
    case ::onnx::AttributeProto::FLOAT:
      attribute.kind = Kind::real;
      attribute.real = proto.f();
      break;
    case ::onnx::AttributeProto::INT:
      attribute.kind = Kind::integer;
      attribute.integer = proto.i();
      break;
    case ::onnx::AttributeProto::STRING:
      attribute.kind = Kind::text;
      attribute.text = proto.s();
      break;
    case ::onnx::AttributeProto::FLOATS:
      attribute.kind = Kind::reals;
      attribute.reals.assign(proto.floats().begin(), proto.floats().end());
      break;
    case ::onnx::AttributeProto::INTS:
      attribute.kind = Kind::integers;
      attribute.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case ::onnx::AttributeProto::TENSOR:
      attribute.kind = Kind::tensor;
      attribute.tensor = tensor_of(proto.t(), place.member("t"), external);
      break;
    default: break;
  }
  return attribute;
}

GraphValue graph_value_of(const ::onnx::ValueInfoProto& proto, const Place& place) {
  GraphValue value;
  value.name = proto.name();
  value.is_tensor = proto.type().has_tensor_type();
  if (!value.is_tensor) return value;
  const auto& tensor = proto.type().tensor_type();
  value.type = tensor.elem_type();
  if (!tensor.has_shape()) return value;
  if (static_cast<std::size_t>(tensor.shape().dim_size()) > max_rank) {
    place.member("type.tensor_type.shape")
        .fail(fmt::format("has {} extents, expected at most {}", tensor.shape().dim_size(), max_rank));
  }
  value.shape.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    Dimension& dimension = value.shape->emplace_back();
    if (!dim.has_dim_value()) {
      dimension.symbol = dim.dim_param();
    } else if (dim.dim_value() < 0) {
      place.member("type.tensor_type.shape")
          .fail(fmt::format("has an extent of {}, expected one from 0", dim.dim_value()));
    } else {
      dimension.extent = static_cast<std::uint64_t>(dim.dim_value());
    }
  }
  return value;
}

std::string label_of(int index, const ::onnx::NodeProto& proto) {
  constexpr std::size_t longest = 80;
  const auto cut = [](const std::string& text) {
    return text.size() > longest ? text.substr(0, longest) + "..." : text;
  };
  return proto.name().empty() ? fmt::format("node {} ({})", index, cut(proto.op_type()))
                              : fmt::format("node {} ({} \"{}\")", index, cut(proto.op_type()), cut(proto.name()));
}

/// Names are given once, and before they are used: ONNX's nodes stand in an order in which they can run.
void check_order(const Graph& graph) {
  std::set<std::string, std::less<>> all;
  for (const Node& node : graph.nodes) all.insert(node.outputs.begin(), node.outputs.end());
  std::set<std::string, std::less<>> known;
  for (const GraphValue& input : graph.inputs) known.insert(input.name);
  for (const auto& [name, tensor] : graph.initializers) known.insert(name);
  Faults faults;
  for (const Node& node : graph.nodes) {
    const auto fail = [&](const std::string& what) { faults.add(Failure(graph.file + ": " + node.label, what)); };
    for (const std::string& name : node.inputs) {
      if (name.empty() || known.contains(name)) continue;
      fail(all.contains(name)
               ? fmt::format("takes \"{}\" of itself or of a later node, expected no cycle and nodes in order", name)
               : fmt::format("takes \"{}\", expected an input, an initializer or an earlier node's output", name));
    }
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      if (!known.insert(name).second) fail(fmt::format("gives \"{}\", which is given already", name));
    }
  }
  for (const GraphValue& output : graph.outputs) {
    if (known.contains(output.name)) continue;
    faults.add(Failure(graph.file + ": graph.output",
                       fmt::format("names \"{}\", expected an input, an initializer or a node's output", output.name)));
  }
  faults.raise();
}

}  // namespace

Graph read_graph(const std::filesystem::path& path) {
  Graph graph;
  const auto model = parse<::onnx::ModelProto>(path, "model", graph.memory);
  graph.file = path.string();
  const Place root{graph.file, ""};
  ExternalData external(path.parent_path(), graph.memory);
  if (!model.has_graph()) throw Failure(graph.file, "is not an ONNX file: it has no graph");
  // Opsets came with version 3 of the format; what is older has the operators of opset 1.
  bool has_opset = model.ir_version() < 3 && model.opset_import_size() == 0;
  for (const auto& opset : model.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    graph.opset = opset.version();
    has_opset = true;
  }
  if (!has_opset) {
    root.member("opset_import")
        .fail("names no opset of ONNX's own operators, expected one of domain \"\", which says what the nodes mean");
  }
  const ::onnx::GraphProto& proto = model.graph();
  if (proto.sparse_initializer_size() != 0) root.member("graph.sparse_initializer").fail("is present, expected none");
  for (int i = 0; i < proto.initializer_size(); ++i) {
    const auto& tensor = proto.initializer(i);
    const Place place = root.member(fmt::format("graph.initializer[{}] (\"{}\")", i, tensor.name()));
    if (!graph.initializers.emplace(tensor.name(), tensor_of(tensor, place, external)).second) {
      place.fail("has the name of an earlier one, expected each name once");
    }
  }
  std::set<std::string, std::less<>> names;
  for (int i = 0; i < proto.input_size(); ++i) {
    const Place place = root.member(fmt::format("graph.input[{}] (\"{}\")", i, proto.input(i).name()));
    graph.inputs.push_back(graph_value_of(proto.input(i), place));
    if (!names.insert(graph.inputs.back().name).second) {
      place.fail("has the name of an earlier one, expected each name once");
    }
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    graph.outputs.push_back(graph_value_of(
        proto.output(i), root.member(fmt::format("graph.output[{}] (\"{}\")", i, proto.output(i).name()))));
  }
  for (int i = 0; i < proto.node_size(); ++i) {
    const auto& from = proto.node(i);
    Node node;
    node.label = label_of(i, from);
    node.domain = from.domain() == "ai.onnx" ? "" : from.domain();
    node.type = from.op_type();
    node.inputs.assign(from.input().begin(), from.input().end());
    node.outputs.assign(from.output().begin(), from.output().end());
    for (const auto& attribute : from.attribute()) {
      node.attributes.push_back(attribute_of(
          attribute, {graph.file, fmt::format("{}: attribute {}", node.label, attribute.name())}, external));
    }
    graph.nodes.push_back(std::move(node));
  }
  check_order(graph);
  return graph;
}

Tensor read_tensor_file(const std::filesystem::path& path, Reservation& memory) {
  const auto proto = parse<::onnx::TensorProto>(path, "tensor", memory);
  const std::string file = path.string();
  ExternalData external(path.parent_path(), memory);
  return tensor_of(proto, {file, "tensor"}, external);
}

}  // namespace dmlref::tool::onnx
