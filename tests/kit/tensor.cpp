#include <cstring>

#include "dmlref/desc/half.hpp"
#include "kernels.hpp"
#include "support/element.hpp"

namespace dmlref::test::kit {

namespace {

List packed(const List& sizes) {
  List strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

}  // namespace

Tensor::Tensor(const Case& one, const std::string& name) {
  if (!one.desc.contains(name)) return;
  for (const tool::kit::Input& input : one.inputs) {
    if (input.tensor == name) bytes_ = &input.bytes;
  }
  const Json& json = one.desc[name];
  type_ = *tool::data_type_from_name(json["DataType"].get<std::string>());
  element_bytes_ = size_of(type_);
  sizes_ = json["Sizes"].get<List>();
  strides_ = json.contains("Strides") ? json["Strides"].get<List>() : packed(sizes_);
}

Tensor Tensor::output(const Case& one, std::vector<std::byte>& bytes) {
  Tensor tensor;
  tensor.bytes_ = &bytes;
  tensor.writable_ = &bytes;
  tensor.type_ = one.output.type;
  tensor.element_bytes_ = size_of(tensor.type_);
  tensor.sizes_ = one.output.sizes;
  tensor.strides_ = one.output.strides.empty() ? packed(tensor.sizes_) : one.output.strides;
  return tensor;
}

std::int64_t Tensor::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes_) product *= size;
  return product;
}

void Tensor::ignore_strides() { strides_ = packed(sizes_); }

void Tensor::insert_height() {
  if (rank() != 3) return;
  sizes_.insert(sizes_.begin() + 2, 1);
  strides_.insert(strides_.begin() + 2, 0);
}

std::int64_t Tensor::address(const List& at) const {
  std::int64_t index = 0;
  for (std::size_t d = 0; d < at.size(); ++d) index += at[d] * strides_[d];
  return index;
}

std::uint64_t Tensor::load(std::int64_t index) const {
  const auto begin = static_cast<std::uint64_t>(index) * element_bytes_;
  std::uint64_t bits = 0;
  if (index < 0 || begin + element_bytes_ > bytes_->size()) return bits;
  std::memcpy(&bits, bytes_->data() + begin, element_bytes_);
  return bits;
}

std::uint64_t Tensor::bits(const List& at) const { return load(address(at)); }

std::int64_t Tensor::integer(const List& at) const {
  const std::uint64_t value = bits(at);
  if (type_ == DataType::int8) return static_cast<std::int8_t>(value);
  if (type_ == DataType::int16) return static_cast<std::int16_t>(value);
  if (type_ == DataType::int32) return static_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value);
}

std::int64_t Tensor::integer_of_other_sign(const List& at) const {
  const std::uint64_t value = bits(at);
  return type_ == DataType::int8 ? static_cast<std::int64_t>(value) : static_cast<std::int8_t>(value);
}

float Tensor::real(const List& at) const {
  const std::uint64_t value = bits(at);
  if (is_half()) return static_cast<float>(half::from_bits(static_cast<std::uint16_t>(value)));
  float number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

void Tensor::set_bits(const List& at, std::uint64_t bits) {
  const std::int64_t index = address(at);
  const auto begin = static_cast<std::uint64_t>(index) * element_bytes_;
  if (index < 0 || begin + element_bytes_ > writable_->size()) return;
  std::memcpy(writable_->data() + begin, &bits, element_bytes_);
}

bool next(List& at, const List& sizes) {
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (++at[d] < sizes[d]) return true;
    at[d] = 0;
  }
  return false;
}

std::vector<std::byte> run(const Case& one, Fault fault) {
  if (one.op.starts_with("SLICE")) return run_slice(one, fault);
  if (one.op.ends_with("MATRIX_MULTIPLY") || one.op.starts_with("MATRIX")) return run_matrix_multiply(one, fault);
  if (one.op.find("CONVOLUTION") != std::string::npos) return run_convolution(one, fault);
  if (one.op.starts_with("ELEMENT_WISE")) return run_quantize_linear(one, fault);
  return run_normalization(one, fault);
}

}  // namespace dmlref::test::kit
