// run_everywhere.hpp: a desc compiled for every instruction set that this CPU runs and, where memory and time allow,
// executed between pages that must not be touched: all give the reference's bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dmlref/directml.hpp"
#include "support/guarded_buffer.hpp"
#include "support/reference_run.hpp"

namespace dmlref_test {

/// What one execution may cost.
struct RunLimits {
  std::uint64_t elements = 1u << 12;      // of the output, and of an input that is read whole
  std::uint64_t products = 1u << 16;      // of a convolution
  std::uint64_t tensor_bytes = 1u << 20;  // of one tensor; with sparse memory most of them are never touched
  std::uint64_t working_bytes = 1u << 24;
};
/// The same for tensors that reach 2^32 - 1 elements by their strides.
inline constexpr RunLimits sparse_limits{1u << 12, 1u << 16, std::uint64_t{1} << 36, 1u << 24};

/// Elements of inputs, from bytes that repeat. Real numbers are random bits, or eight bits times a power of two.
class RunData {
 public:
  explicit RunData(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) return state_ += 77;
    if (at_ == bytes_.size()) at_ = 0, ++state_;  // (no period is that of the data)
    return static_cast<std::uint8_t>(bytes_[at_++] + state_);
  }
  /// `size` bytes of an element of that type.
  void element(dmlref::DataType type, int exponent, std::byte* to) {
    if (exponent != random_bits && type == dmlref::DataType::float32) return put(scaled(exponent), to);
    if (exponent != random_bits && type == dmlref::DataType::float16) return put(dmlref::half(scaled(exponent)), to);
    for (std::size_t i = 0; i < size_of(type); ++i) to[i] = std::byte{byte()};
  }
  static constexpr int random_bits = 16;
  int exponent() {
    const int kind = byte() % 32;
    return kind < 16 ? kind - 12 : random_bits;
  }

 private:
  float scaled(int exponent) {
    float power = 1;
    for (; exponent > 0; --exponent) power *= 2.0f;
    for (; exponent < 0; ++exponent) power *= 0.5f;
    return power * static_cast<float>(static_cast<std::int8_t>(byte()));
  }
  template <class T>
  static void put(T value, std::byte* to) {
    std::memcpy(to, &value, sizeof(value));
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::uint8_t state_ = 0;
};

/// Calls f(byte offset) for the first elements, `most` of them where there are more.
template <class F>
void for_each_element(const dmlref::TensorDesc& tensor, std::size_t most, F f) {
  const dmlref::Layout layout = layout_of(tensor);
  auto at = dmlref::Coordinates::filled(layout.rank(), 0);
  const auto element = static_cast<dmlref::Index>(size_of(tensor.data_type));
  std::size_t done = 0;
  do {
    f(static_cast<std::size_t>(layout(at) * element));
  } while (++done < most && advance(at, layout.shape));
}

/// Three threads, so it says; the tasks run here, the last one first.
class BackwardsExecutor final : public dmlref::Executor {
 public:
  std::size_t concurrency() const noexcept override { return 3; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    while (count-- > 0) task(context, count);
  }
};

/// The tensors of a valid desc with memory for one execution.
class RunBuffers {
 public:
  explicit RunBuffers(const dmlref::OperatorDesc& desc) : desc_(desc) {
    std::visit([&](const auto& d) { add_all(d); }, desc);
  }

  bool affordable(const RunLimits& limits) const {
    const auto fits = [&](const dmlref::TensorDesc* tensor) {
      return tensor == nullptr || tensor->total_size_in_bytes <= limits.tensor_bytes;
    };
    if (!fits(output_) || !std::all_of(inputs_.begin(), inputs_.end(), fits)) return false;
    const std::uint64_t elements = count(*output_);
    if (elements > limits.elements) return false;
    return std::visit(
        [&](const auto& d) {
          if constexpr (requires { d.filter; }) {
            return count(d.input) <= limits.elements &&
                   count(d.filter) / d.filter.sizes[0] <= limits.products / elements;
          } else if constexpr (requires { d.b; }) {
            return count(d.a) <= limits.elements && d.a.sizes.back() <= limits.products / elements;
          } else {
            return true;
          }
        },
        desc_);
  }

  /// Makes the memory and the expected bytes.
  void prepare(RunData& data) {
    const auto side = data.byte() % 2 == 0 ? GuardedBuffer::Side::end : GuardedBuffer::Side::begin;
    for (const dmlref::TensorDesc* tensor : inputs_) {
      bound_.emplace_back();
      if (tensor == nullptr) continue;
      memory_.push_back(std::make_unique<GuardedBuffer>(bytes_of(*tensor), side));
      const std::span<std::byte> to = memory_.back()->span();
      bound_.back() = to;
      const int exponent = data.exponent();
      if (to.size() <= whole) {
        for (std::size_t i = 0; i + size_of(tensor->data_type) <= to.size(); i += size_of(tensor->data_type)) {
          data.element(tensor->data_type, exponent, &to[i]);
        }
      } else {
        for_each_element(*tensor, whole, [&](std::size_t at) { data.element(tensor->data_type, exponent, &to[at]); });
      }
    }
    expected_ = std::make_unique<GuardedBuffer>(bytes_of(*output_), side);
    got_ = std::make_unique<GuardedBuffer>(bytes_of(*output_), side);
    wipe(*expected_);
    run_reference(desc_, bound_, expected_->span());
  }

  /// The output before an execution: a pattern.
  dmlref::OutputBuffer fresh_output() const {
    wipe(*got_);
    return got_->span();
  }
  /// All inputs, or only those that are owned by DML, or only the others.
  std::vector<dmlref::InputBuffer> bound(std::optional<bool> owned = std::nullopt) const {
    std::vector<dmlref::InputBuffer> some(bound_.size());
    for (std::size_t i = 0; i < bound_.size(); ++i) {
      if (inputs_[i] != nullptr && inputs_[i]->owned_by_dml == owned.value_or(inputs_[i]->owned_by_dml)) {
        some[i] = bound_[i];
      }
    }
    return some;
  }
  /// Where the output differs; empty: nowhere. Of large tensors only the elements are compared.
  std::string difference() const {
    const std::span<const std::byte> got = got_->span(), expected = expected_->span();
    std::size_t wrong = got.size();
    if (got.size() <= whole) {
      wrong = static_cast<std::size_t>(std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin());
    } else {
      const std::size_t element = size_of(output_->data_type);
      for_each_element(*output_, whole, [&](std::size_t at) {
        if (std::memcmp(&got[at], &expected[at], element) != 0) wrong = std::min(wrong, at);
      });
    }
    if (wrong == got.size()) return {};
    return "byte " + std::to_string(wrong) + " is " + std::to_string(std::to_integer<int>(got[wrong])) + ", expected " +
           std::to_string(std::to_integer<int>(expected[wrong]));
  }

 private:
  static constexpr std::size_t whole = 1u << 14;  // bytes that are written and compared from the first to the last

  static std::uint64_t count(const dmlref::TensorDesc& tensor) {
    return dmlref::spanned_elements(tensor.sizes, {}).value_or(0);
  }
  static std::size_t bytes_of(const dmlref::TensorDesc& tensor) {
    return static_cast<std::size_t>(tensor.total_size_in_bytes);
  }
  void wipe(const GuardedBuffer& buffer) const {
    const std::span<std::byte> bytes = buffer.span();
    if (bytes.size() <= whole) return static_cast<void>(std::memset(bytes.data(), 0xA5, bytes.size()));
    for_each_element(*output_, whole, [&](std::size_t at) { bytes[at] = std::byte{0xA5}; });
  }

  void add(const dmlref::FieldInfo& field, const dmlref::TensorDesc& tensor) {
    if (is_input(field.kind)) return inputs_.push_back(&tensor);
    output_ = &tensor;
  }
  void add(const dmlref::FieldInfo&, const std::optional<dmlref::TensorDesc>& tensor) {
    inputs_.push_back(tensor ? &*tensor : nullptr);
  }
  template <class Other>
  void add(const dmlref::FieldInfo&, const Other&) {}
  template <class Desc>
  void add_all(const Desc& desc) {
    dmlref::schema::for_each_member(desc,
                                    [&](const dmlref::FieldInfo& field, const auto& member) { add(field, member); });
  }

  const dmlref::OperatorDesc& desc_;
  std::vector<const dmlref::TensorDesc*> inputs_;
  const dmlref::TensorDesc* output_ = nullptr;
  std::vector<std::unique_ptr<GuardedBuffer>> memory_;
  std::vector<dmlref::InputBuffer> bound_;
  std::unique_ptr<GuardedBuffer> expected_, got_;
};

/// What came of one desc: `fault` is empty where nothing is wrong.
struct RunEverywhere {
  bool valid = false;
  bool executed = false;
  std::string fault;
};

/// Validates at `level`, compiles for every instruction set and executes within `limits`.
inline RunEverywhere run_everywhere(const DML_OPERATOR_DESC& desc, dmlref::FeatureLevel level, RunData data,
                                    const RunLimits& limits = {}) {
  using namespace dmlref;
  RunEverywhere result;
  result.valid = validate(desc, level).ok();
  if (!result.valid) {
    if (compile(desc, level)) result.fault = "compiles what validate refuses";
    if (run(desc, level, {}, {})) result.fault = "runs what validate refuses";
    return result;
  }
  const std::optional<OperatorDesc> value = detail::read_directml(desc);
  if (!value) {
    result.fault = "is valid and cannot be read";
    return result;
  }
  RunBuffers buffers(*value);
  result.executed = buffers.affordable(limits);
  if (result.executed) buffers.prepare(data);

  BackwardsExecutor backwards;
  for (const IsaName& row : isa_table) {
    if (!supported(row.isa)) continue;
    const CompileResult compiled = compile(desc, level, CompileOptions{row.isa});
    if (!compiled) {
      if (row.isa == Isa::amx_int8) continue;  // a system may refuse tiles
      result.fault = std::string(row.name) + " does not compile: " + compiled.report().to_string();
      return result;
    }
    const BindingProperties needs = compiled.value().binding_properties();
    if (!result.executed || needs.persistent_bytes > limits.working_bytes ||
        needs.temporary_bytes > limits.working_bytes) {
      continue;
    }
    const auto region = [](std::uint64_t bytes) {  // ends at the guard, begins at a multiple of 256
      return std::make_unique<GuardedBuffer>(static_cast<std::size_t>((bytes + 255) / 256 * 256),
                                             GuardedBuffer::Side::end);
    };
    const auto persistent = region(needs.persistent_bytes), temporary = region(needs.temporary_bytes);
    for (Executor* executor : {&sequential(), static_cast<Executor*>(&backwards)}) {
      std::memset(temporary->data(), 0xCD, std::min<std::size_t>(temporary->span().size(), 1u << 16));
      Report report = compiled.value().initialize(buffers.bound(true), persistent->span(), temporary->span());
      const OutputBuffer outputs[] = {buffers.fresh_output()};
      if (report) {
        report =
            compiled.value().execute(buffers.bound(false), outputs, persistent->span(), temporary->span(), *executor);
      }
      const std::string wrong = report ? buffers.difference() : report.to_string();
      if (wrong.empty()) continue;
      result.fault = std::string(row.name) + ", strategy " + std::string(compiled.value().strategy_name()) +
                     (executor == &backwards ? ", in tasks: " : ": ") + wrong;
      return result;
    }
  }
  return result;
}

}  // namespace dmlref_test
