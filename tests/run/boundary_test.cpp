// boundary_test.cpp: the public boundary as an outside program meets it, point by point.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "dmlref/directml.hpp"
#include "run/directml_case.hpp"
#include "support/report_fields.hpp"

namespace {

using namespace outside;
using dmlref::BindingProperties;
using dmlref::CompiledOperator;
using dmlref::CompileOptions;
using dmlref::CompileResult;
using dmlref::InputBuffer;
using dmlref::Isa;
using dmlref::OutputBuffer;
using dmlref::Report;
using dmlref::RuleId;
using dmlref::ViolationKind;
using dmlref_test::fields;

constexpr DML_FEATURE_LEVEL level = DML_FEATURE_LEVEL_6_4;

/// Everything one execute needs, ready to be spoilt in one place.
struct Bound {
  explicit Bound(const Case& c, std::size_t past = 0)
      : compiled(dmlref::compile(c.desc, level)),
        op(compiled.value()),
        needs(op.binding_properties()),
        owned(c.buffers(true)),
        inputs(c.buffers(false)),
        persistent(static_cast<std::size_t>(needs.persistent_bytes)),
        temporary(static_cast<std::size_t>(needs.temporary_bytes)),
        output(c.output->bytes(), past) {
    EXPECT_TRUE(compiled) << compiled.report().to_string();
  }
  Report initialize() { return op.initialize(owned, persistent.span(), temporary.span()); }
  Report execute() { return execute(inputs); }
  Report execute(std::span<const InputBuffer> given) {
    const OutputBuffer outputs[] = {output.span()};
    return op.execute(given, outputs, persistent.span(), temporary.span());
  }

  CompileResult compiled;
  const CompiledOperator& op;
  BindingProperties needs;
  std::vector<InputBuffer> owned;
  std::vector<InputBuffer> inputs;
  Memory persistent;
  Memory temporary;
  Memory output;
};

class Boundary : public testing::TestWithParam<std::size_t> {
 protected:
  const std::unique_ptr<Case> case_ = std::move(all_cases()[GetParam()]);
  const Case& c() const { return *case_; }

  /// That a refused call wrote nothing.
  void expect_untouched(const Memory& memory) const {
    EXPECT_TRUE(std::all_of(memory.everything().begin(), memory.everything().end(),
                            [](std::byte b) { return b == std::byte{0xA5}; }));
  }
  void expect_result(const Memory& memory) const {
    const auto span = memory.span();
    // All bytes, those between the elements too: the tensor's padding holds what it held before.
    EXPECT_EQ(std::vector<std::byte>(span.begin(), span.end()), c().expected);
    const auto first = static_cast<std::size_t>(span.data() - memory.everything().data());
    for (std::size_t i = 0; i < memory.everything().size(); ++i) {
      if (i >= first && i < first + span.size()) continue;
      ASSERT_EQ(memory.everything()[i], std::byte{0xA5}) << i;
    }
  }
};

std::string case_name(const testing::TestParamInfo<std::size_t>& info) { return all_cases()[info.param]->name; }

INSTANTIATE_TEST_SUITE_P(, Boundary, testing::Range(std::size_t{0}, all_cases().size()), case_name);

TEST_P(Boundary, ValidateAcceptsAndRunGivesTheResult) {
  const Report verdict = dmlref::validate(c().desc, level);
  EXPECT_TRUE(verdict.ok());
  EXPECT_TRUE(static_cast<bool>(verdict));
  EXPECT_TRUE(verdict.violations().empty());
  Memory output(c().output->bytes());
  const OutputBuffer outputs[] = {output.span()};
  const Report report = dmlref::run(c().desc, level, c().all_buffers(), outputs);
  ASSERT_TRUE(report) << report.to_string();
  expect_result(output);
}

TEST_P(Boundary, CompileInitializeExecute) {
  Bound b(c());
  EXPECT_EQ(c().any_owned(), b.needs.persistent_bytes > 0);
  ASSERT_TRUE(b.initialize());
  const Report report = b.execute();
  ASSERT_TRUE(report) << report.to_string();
  expect_result(b.output);
  ASSERT_TRUE(b.execute()) << "and once more";
  expect_result(b.output);
}

TEST_P(Boundary, OwnedDataMayDieAfterInitialize) {
  Bound b(c());
  std::vector<std::vector<std::byte>> copies = c().data;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!b.owned[i].empty()) b.owned[i] = copies[i];
  }
  ASSERT_TRUE(b.initialize());
  for (auto& copy : copies) std::fill(copy.begin(), copy.end(), std::byte{0xFF});
  const std::vector<std::byte> before(b.persistent.span().begin(), b.persistent.span().end());
  ASSERT_TRUE(b.execute());
  expect_result(b.output);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), b.persistent.span().begin())) << "execute only reads it";
}

TEST_P(Boundary, TheDescMayDieAfterCompile) {
  std::optional<CompileResult> compiled;
  std::unique_ptr<Case> other = std::move(all_cases()[GetParam()]);
  compiled = dmlref::compile(other->desc, level);
  other.reset();
  const CompiledOperator op = compiled->value();  // a copy outlives its result, too
  compiled.reset();
  Memory persistent(static_cast<std::size_t>(op.binding_properties().persistent_bytes));
  Memory temporary(static_cast<std::size_t>(op.binding_properties().temporary_bytes));
  Memory output(c().output->bytes());
  const OutputBuffer outputs[] = {output.span()};
  ASSERT_TRUE(op.initialize(c().buffers(true), persistent.span(), temporary.span()));
  ASSERT_TRUE(op.execute(c().buffers(false), outputs, persistent.span(), temporary.span()));
  expect_result(output);
}

TEST_P(Boundary, TemporaryContentsDoNotMatter) {
  for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
    const auto fill = static_cast<unsigned char>(value);
    Bound b(c());
    std::fill(b.temporary.span().begin(), b.temporary.span().end(), std::byte{fill});
    std::fill(b.persistent.span().begin(), b.persistent.span().end(), std::byte{fill});
    ASSERT_TRUE(b.initialize());
    std::fill(b.temporary.span().begin(), b.temporary.span().end(), std::byte{fill});
    ASSERT_TRUE(b.execute());
    expect_result(b.output);
  }
}

TEST_P(Boundary, AnyAddressIsCorrect) {
  for (const std::size_t past : {1u, 2u, 3u, 5u, 13u, 63u}) {
    Bound b(c(), past);
    std::vector<Memory> moved;
    moved.reserve(c().data.size());
    for (std::size_t i = 0; i < c().data.size(); ++i) {
      moved.emplace_back(c().data[i].size(), past + i);
      std::copy(c().data[i].begin(), c().data[i].end(), moved[i].span().begin());
      if (!b.owned[i].empty()) b.owned[i] = moved[i].span();
      if (!b.inputs[i].empty()) b.inputs[i] = moved[i].span();
    }
    ASSERT_TRUE(b.initialize());
    ASSERT_TRUE(b.execute());
    expect_result(b.output);
  }
}

TEST_P(Boundary, TheAlignmentHintChangesNothing) {
  for (const auto& tensor : c().inputs) {
    if (tensor) tensor->buffer().GuaranteedBaseOffsetAlignment = 4096;
  }
  c().output->buffer().GuaranteedBaseOffsetAlignment = 4096;
  Bound b(c(), 1);
  ASSERT_TRUE(b.initialize());
  ASSERT_TRUE(b.execute());
  expect_result(b.output);
}

TEST_P(Boundary, LargerBuffersAreFine) {
  Bound b(c());
  std::vector<std::vector<std::byte>> larger = c().data;
  for (std::size_t i = 0; i < larger.size(); ++i) {
    larger[i].resize(larger[i].size() + 100);
    if (!b.owned[i].empty()) b.owned[i] = larger[i];
    if (!b.inputs[i].empty()) b.inputs[i] = larger[i];
  }
  Memory persistent(b.persistent.span().size() + 300);
  Memory temporary(b.temporary.span().size() + 300);
  Memory output(c().output->bytes() + 50);
  const OutputBuffer outputs[] = {output.span()};
  ASSERT_TRUE(b.op.initialize(b.owned, persistent.span(), temporary.span()));
  ASSERT_TRUE(b.op.execute(b.inputs, outputs, persistent.span(), temporary.span()));
  const auto written = output.span();
  EXPECT_TRUE(std::equal(c().expected.begin(), c().expected.end(), written.begin()));
  for (std::size_t i = c().expected.size(); i < written.size(); ++i) EXPECT_EQ(written[i], std::byte{0xA5});
}

TEST_P(Boundary, EveryInstructionSetGivesTheSameBytes) {
  for (const auto& [isa, name] : dmlref::isa_table) {
    SCOPED_TRACE(name);
    CompileOptions options;
    options.isa = isa;
    const CompileResult compiled = dmlref::compile(c().desc, level, options);
    ASSERT_EQ(static_cast<bool>(compiled), dmlref::supported(isa));
    if (!compiled) continue;
    const CompiledOperator& op = compiled.value();
    Memory persistent(static_cast<std::size_t>(op.binding_properties().persistent_bytes));
    Memory temporary(static_cast<std::size_t>(op.binding_properties().temporary_bytes));
    Memory output(c().output->bytes());
    const OutputBuffer outputs[] = {output.span()};
    ASSERT_TRUE(op.initialize(c().buffers(true), persistent.span(), temporary.span()));
    ASSERT_TRUE(op.execute(c().buffers(false), outputs, persistent.span(), temporary.span()));
    expect_result(output);
  }
}

// --- faults of execute ---------------------------------------------------------------------------------------------

TEST_P(Boundary, ExecuteRefusesAWrongCount) {
  Bound b(c());
  ASSERT_TRUE(b.initialize());
  std::vector<InputBuffer> more = b.inputs;
  more.emplace_back();
  std::vector<InputBuffer> fewer = b.inputs;
  fewer.pop_back();
  EXPECT_EQ(fields(b.execute(more)), std::vector<std::string>{"inputs"});
  EXPECT_EQ(fields(b.execute(fewer)), std::vector<std::string>{"inputs"});
  const OutputBuffer two[] = {b.output.span(), {}};
  EXPECT_EQ(fields(b.op.execute(b.inputs, two, b.persistent.span(), b.temporary.span())),
            std::vector<std::string>{"outputs"});
  EXPECT_EQ(fields(b.op.execute(b.inputs, {}, b.persistent.span(), b.temporary.span())),
            std::vector<std::string>{"outputs"});
  expect_untouched(b.output);
}

TEST_P(Boundary, ExecuteRefusesEveryBadInput) {
  Bound b(c());
  ASSERT_TRUE(b.initialize());
  const std::vector<std::byte> spare(64);
  for (std::size_t i = 0; i < c().inputs.size(); ++i) {
    const std::vector<std::string> named{c().input_names[i]};
    std::vector<InputBuffer> bad = b.inputs;
    if (!c().inputs[i] || c().inputs[i]->owned()) {
      bad[i] = spare;  // absent, or given to initialize
      const Report report = b.execute(bad);
      EXPECT_EQ(fields(report), named);
      EXPECT_EQ(report.violations()[0].rule, c().inputs[i] ? RuleId::buffer_owned_by_dml : RuleId::buffer_unexpected);
      continue;
    }
    bad[i] = {};
    Report report = b.execute(bad);
    EXPECT_EQ(fields(report), named);
    EXPECT_EQ(report.violations()[0].rule, RuleId::buffer_missing);
    bad[i] = b.inputs[i].first(c().inputs[i]->bytes() - 1);
    report = b.execute(bad);
    EXPECT_EQ(fields(report), named);
    EXPECT_EQ(report.violations()[0].rule, RuleId::buffer_too_small);
  }
  expect_untouched(b.output);
}

TEST_P(Boundary, ExecuteNamesEveryFaultAtOnce) {
  Bound b(c());
  ASSERT_TRUE(b.initialize());
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < c().inputs.size(); ++i) {
    if (c().inputs[i] && !c().inputs[i]->owned()) expected.push_back(c().input_names[i]);
  }
  expected.emplace_back("OutputTensor");
  const std::vector<InputBuffer> none(c().inputs.size());
  const OutputBuffer outputs[] = {{}};
  EXPECT_EQ(fields(b.op.execute(none, outputs, b.persistent.span(), b.temporary.span())), expected);
}

TEST_P(Boundary, ExecuteRefusesABadOutput) {
  Bound b(c());
  ASSERT_TRUE(b.initialize());
  const std::vector<std::string> named{"OutputTensor"};
  const auto try_output = [&](OutputBuffer output) {
    const OutputBuffer outputs[] = {output};
    return b.op.execute(b.inputs, outputs, b.persistent.span(), b.temporary.span());
  };
  EXPECT_EQ(fields(try_output({})), named);
  const Report report = try_output(b.output.span().first(c().output->bytes() - 1));
  EXPECT_EQ(fields(report), named);
  EXPECT_EQ(report.violations()[0].rule, RuleId::buffer_too_small);
  expect_untouched(b.output);
}

TEST_P(Boundary, ExecuteRefusesAnOutputThatOverlaps) {
  Bound b(c());
  ASSERT_TRUE(b.initialize());
  // One arena: the input, and the output ends on its first byte or begins on its last.
  for (std::size_t i = 0; i < c().inputs.size(); ++i) {
    if (b.inputs[i].empty()) continue;
    const std::size_t in_bytes = c().inputs[i]->bytes();
    const std::size_t out_bytes = c().output->bytes();
    Memory arena(in_bytes + 2 * out_bytes);
    std::vector<InputBuffer> inputs = b.inputs;
    inputs[i] = arena.span().subspan(out_bytes, in_bytes);
    for (const std::size_t start : {std::size_t{1}, out_bytes, out_bytes + in_bytes - 1}) {
      const OutputBuffer outputs[] = {arena.span().subspan(start, out_bytes)};
      const Report report = b.op.execute(inputs, outputs, b.persistent.span(), b.temporary.span());
      EXPECT_EQ(fields(report), std::vector<std::string>{"OutputTensor"});
      EXPECT_EQ(report.violations()[0].rule, RuleId::buffer_overlap);
      EXPECT_THAT(report.violations()[0].message, testing::HasSubstr(c().input_names[i]));
      expect_untouched(arena);
    }
    for (const std::size_t start : {std::size_t{0}, out_bytes + in_bytes}) {  // neighbours do not overlap
      std::copy(c().data[i].begin(), c().data[i].end(), arena.span().begin() + static_cast<std::ptrdiff_t>(out_bytes));
      const OutputBuffer outputs[] = {arena.span().subspan(start, out_bytes)};
      EXPECT_TRUE(b.op.execute(inputs, outputs, b.persistent.span(), b.temporary.span()));
    }
  }
}

TEST_P(Boundary, ExecuteRefusesAnOutputInPersistentOrTemporary) {
  Bound b(c());
  Memory persistent(std::max<std::size_t>(b.persistent.span().size(), 4096));
  Memory temporary(std::max<std::size_t>(b.temporary.span().size(), 4096));
  ASSERT_TRUE(b.op.initialize(b.owned, persistent.span(), temporary.span()));
  for (Memory* region : {&persistent, &temporary}) {
    const OutputBuffer outputs[] = {region->span().subspan(17, c().output->bytes())};
    const std::vector<std::byte> before = region->everything();
    const Report report = b.op.execute(b.inputs, outputs, persistent.span(), temporary.span());
    EXPECT_EQ(fields(report), std::vector<std::string>{"OutputTensor"});
    EXPECT_EQ(report.violations()[0].rule, RuleId::buffer_overlap);
    EXPECT_EQ(region->everything(), before);
  }
}

TEST_P(Boundary, PersistentAndTemporaryMustBeLargeAndAligned) {
  Bound b(c());
  ASSERT_TRUE(b.initialize());
  const OutputBuffer outputs[] = {b.output.span()};
  const auto persistent = b.persistent.span();
  const auto temporary = b.temporary.span();
  if (!persistent.empty()) {
    const std::vector<std::string> named{"persistent"};
    EXPECT_EQ(fields(b.op.execute(b.inputs, outputs, persistent.first(persistent.size() - 1), temporary)), named);
    EXPECT_EQ(fields(b.op.execute(b.inputs, outputs, {}, temporary)), named);
    EXPECT_EQ(fields(b.op.initialize(b.owned, persistent.first(persistent.size() - 1), temporary)), named);
    EXPECT_EQ(fields(b.op.initialize(b.owned, {}, temporary)), named);
  }
  if (!temporary.empty()) {
    const std::vector<std::string> named{"temporary"};
    EXPECT_EQ(fields(b.op.execute(b.inputs, outputs, persistent, temporary.first(temporary.size() - 1))), named);
    EXPECT_EQ(fields(b.op.execute(b.inputs, outputs, persistent, {})), named);
  }
  for (const std::size_t past : {1u, 16u, 128u, 255u}) {
    Memory odd_persistent(persistent.size() + 8, past);
    Memory odd_temporary(temporary.size() + 8, past);
    Report report = b.op.execute(b.inputs, outputs, odd_persistent.span(), temporary);
    EXPECT_EQ(fields(report), std::vector<std::string>{"persistent"});
    EXPECT_EQ(report.violations()[0].rule, RuleId::buffer_misaligned);
    report = b.op.execute(b.inputs, outputs, persistent, odd_temporary.span());
    EXPECT_EQ(fields(report), std::vector<std::string>{"temporary"});
    EXPECT_EQ(report.violations()[0].rule, RuleId::buffer_misaligned);
    if (b.needs.persistent_bytes > 0) {
      EXPECT_EQ(fields(b.op.initialize(b.owned, odd_persistent.span(), temporary)),
                std::vector<std::string>{"persistent"});
      EXPECT_EQ(fields(b.op.initialize(b.owned, persistent, odd_temporary.span())),
                std::vector<std::string>{"temporary"});
      expect_untouched(odd_persistent);
    }
  }
  expect_untouched(b.output);
}

// --- persistent memory that was not initialized for the operator ----------------------------------------------------

/// Whether execute refuses the memory, and has written nothing.
testing::AssertionResult refuses(Bound& b, std::span<const std::byte> persistent) {
  const OutputBuffer outputs[] = {b.output.span()};
  const Report report = b.op.execute(b.inputs, outputs, persistent, b.temporary.span());
  if (fields(report) != std::vector<std::string>{"persistent"})
    return testing::AssertionFailure() << report.to_string();
  if (report.violations()[0].rule != RuleId::persistent_uninitialized) return testing::AssertionFailure() << "rule";
  for (const std::byte byte : b.output.everything()) {
    if (byte != std::byte{0xA5}) return testing::AssertionFailure() << "something is written";
  }
  return testing::AssertionSuccess();
}

TEST_P(Boundary, ExecuteRefusesUninitializedMemory) {
  Bound b(c());
  if (b.needs.persistent_bytes == 0) return;  // there is nothing to initialize
  EXPECT_TRUE(refuses(b, b.persistent.span())) << "as it was allocated";
  Memory zeroed(b.persistent.span().size(), 0, 0);
  EXPECT_TRUE(refuses(b, zeroed.span()));
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    for (std::byte& byte : b.persistent.span()) byte = static_cast<std::byte>(random());
    EXPECT_TRUE(refuses(b, b.persistent.span()));
  }
  // Each bit of the tag counts.
  ASSERT_TRUE(b.initialize());
  for (std::size_t bit = 0; bit < 128; ++bit) {
    const std::byte one = std::byte{1} << (bit % 8);
    b.persistent.span()[bit / 8] ^= one;
    EXPECT_TRUE(refuses(b, b.persistent.span())) << bit;
    b.persistent.span()[bit / 8] ^= one;
  }
  ASSERT_TRUE(b.execute());
  expect_result(b.output);
}

TEST_P(Boundary, EqualOperatorsShareInitializedMemory) {
  Bound b(c());
  const std::unique_ptr<Case> again = std::move(all_cases()[GetParam()]);
  Bound equal(*again);
  ASSERT_TRUE(equal.initialize());
  const Memory copy = [&] {
    Memory memory(equal.persistent.span().size() + 100);
    std::copy(equal.persistent.span().begin(), equal.persistent.span().end(), memory.span().begin());
    std::fill(equal.persistent.span().begin(), equal.persistent.span().end(), std::byte{0});
    return memory;
  }();
  const OutputBuffer outputs[] = {b.output.span()};
  const Report report = b.op.execute(b.inputs, outputs, copy.span(), b.temporary.span());
  ASSERT_TRUE(report) << report.to_string();
  expect_result(b.output);
}

TEST_P(Boundary, ExecuteRefusesMemoryOfAnotherOperator) {
  Bound b(c());
  if (b.needs.persistent_bytes == 0) return;
  Memory shared(std::size_t{1} << 16);
  int refused = 0;
  // Of all other operators: each initializes what this one had initialized before.
  const auto others = all_cases();
  for (std::size_t i = 0; i < others.size(); ++i) {
    Bound other(*others[i]);
    if (i == GetParam() || other.needs.persistent_bytes == 0) continue;
    ASSERT_TRUE(b.op.initialize(b.owned, shared.span(), b.temporary.span()));
    ASSERT_TRUE(other.op.initialize(other.owned, shared.span(), other.temporary.span()));
    EXPECT_TRUE(refuses(b, shared.span())) << others[i]->name;
    ++refused;
  }
  EXPECT_GT(refused, 0);
  // Of the same one with another instruction set.
  for (const auto& [isa, name] : dmlref::isa_table) {
    CompileOptions options;
    options.isa = isa;
    const CompileResult compiled = dmlref::compile(c().desc, level, options);
    if (!compiled) continue;
    Memory temporary(static_cast<std::size_t>(compiled.value().binding_properties().temporary_bytes));
    ASSERT_TRUE(compiled.value().initialize(b.owned, shared.span(), temporary.span()));
    const OutputBuffer outputs[] = {b.output.span()};
    int same = 0;
    for (const auto& [other, other_name] : dmlref::isa_table) {
      options.isa = other;
      const CompileResult reader = dmlref::compile(c().desc, level, options);
      if (!reader) continue;
      Memory more(static_cast<std::size_t>(reader.value().binding_properties().temporary_bytes));
      const Report report = reader.value().execute(b.inputs, outputs, shared.span(), more.span());
      EXPECT_EQ(static_cast<bool>(report), isa == other) << name << ' ' << other_name;
      same += static_cast<bool>(report) ? 1 : 0;
    }
    EXPECT_EQ(same, 1);
  }
}

// Every member of a desc counts, but what no layout depends on.
TEST(PersistentTag, DependsOnEachMember) {
  const auto tag = [](const dmlref::OperatorDesc& desc) {
    const dmlref::CompileResult compiled = dmlref::compile(desc, dmlref::latest_feature_level);
    EXPECT_TRUE(compiled) << compiled.report().to_string();
    const CompiledOperator& op = compiled.value();
    Memory persistent(static_cast<std::size_t>(op.binding_properties().persistent_bytes));
    Memory temporary(static_cast<std::size_t>(op.binding_properties().temporary_bytes));
    std::vector<std::vector<std::byte>> data;
    std::vector<InputBuffer> owned;
    for (const dmlref::TensorSlot& slot : op.input_slots()) {
      data.emplace_back(slot.owned_by_dml ? static_cast<std::size_t>(slot.bytes) : 0);
    }
    owned.assign(data.begin(), data.end());
    EXPECT_TRUE(op.initialize(owned, persistent.span(), temporary.span()));
    return std::vector<std::byte>(persistent.span().begin(), persistent.span().begin() + 16);
  };
  using dmlref::DataType, dmlref::TensorDesc;
  dmlref::MeanVarianceNormalization1Desc base;
  base.input = base.output = TensorDesc(DataType::float32, {4, 4});
  base.bias = base.scale = TensorDesc(DataType::float32, {1, 4});
  base.scale->owned_by_dml = true;
  base.axes = {1};
  std::vector<std::vector<std::byte>> tags{tag(base)};
  const auto differs = [&](auto change, bool expected = true) {
    auto desc = base;
    change(desc);
    const auto found = tag(desc);
    EXPECT_EQ(std::find(tags.begin(), tags.end(), found) == tags.end(), expected) << tags.size();
    if (expected) tags.push_back(found);
  };
  differs([](auto& d) { d.input = d.output = TensorDesc(DataType::float32, {2, 4}); });
  differs([](auto& d) { d.input.strides = dmlref::Dimensions{4, 0}; });
  differs([](auto& d) { d.input.total_size_in_bytes += 4; });
  differs([](auto& d) { d.output.strides = dmlref::Dimensions{1, 4}; });
  differs([](auto& d) { d.bias.reset(); });
  differs([](auto& d) { d.bias->owned_by_dml = true; });
  differs([](auto& d) { d.bias = TensorDesc(DataType::float32, {4, 1}); });
  differs([](auto& d) { d.axes = {0}; });
  differs([](auto& d) { d.axes = {0, 1}; });
  differs([](auto& d) { d.normalize_variance = false; });
  differs([](auto& d) { d.epsilon = 1e-4f; });
  differs([](auto& d) { d.fused_activation = dmlref::default_activation(dmlref::ActivationType::elu); });
  differs([](auto& d) { d.fused_activation = dmlref::Activation{dmlref::ActivationType::elu, {2.0f, 0.0f}}; });
  differs([](auto& d) { d.input.strides = dmlref::Dimensions{4, 1}; }, false);  // packed, which is the default
  differs([](auto& d) { d.input.guaranteed_base_offset_alignment = 64; }, false);
  differs([](auto& d) { d.fused_activation = dmlref::default_activation(dmlref::ActivationType::identity); }, false);
}

// --- faults of initialize ------------------------------------------------------------------------------------------

TEST_P(Boundary, InitializeRefusesEveryBadInput) {
  Bound b(c());
  if (b.needs.persistent_bytes == 0) {  // nothing to do, whatever is given
    EXPECT_TRUE(b.op.initialize({}, {}, {}));
    return;
  }
  const std::vector<std::byte> spare(64);
  std::vector<InputBuffer> more = b.owned;
  more.emplace_back();
  EXPECT_EQ(fields(b.op.initialize(more, b.persistent.span(), b.temporary.span())),
            std::vector<std::string>{"owned_inputs"});
  EXPECT_EQ(fields(b.op.initialize({}, b.persistent.span(), b.temporary.span())),
            std::vector<std::string>{"owned_inputs"});
  for (std::size_t i = 0; i < c().inputs.size(); ++i) {
    const std::vector<std::string> named{c().input_names[i]};
    std::vector<InputBuffer> bad = b.owned;
    const auto initialize = [&] { return b.op.initialize(bad, b.persistent.span(), b.temporary.span()); };
    if (!c().inputs[i] || !c().inputs[i]->owned()) {
      bad[i] = spare;  // absent, or given to execute
      EXPECT_EQ(fields(initialize()), named);
      continue;
    }
    bad[i] = {};
    EXPECT_EQ(fields(initialize()), named);
    bad[i] = b.owned[i].first(c().inputs[i]->bytes() - 1);
    EXPECT_EQ(fields(initialize()), named);
  }
  expect_untouched(b.persistent);
}

// --- strict bindings -----------------------------------------------------------------------------------------------

TEST_P(Boundary, StrictBindingsRefuseWhatDirectMLRefuses) {
  dmlref::CompileOptions strict;
  strict.strict_bindings = true;
  Bound tolerant(c());
  const CompileResult compiled = dmlref::compile(c().desc, level, strict);
  ASSERT_TRUE(compiled);
  const CompiledOperator& op = compiled.value();
  EXPECT_EQ(op.binding_properties().temporary_bytes, tolerant.needs.temporary_bytes);

  const auto initialize = [&](const CompiledOperator& with, std::span<const InputBuffer> owned) {
    return with.initialize(owned, tolerant.persistent.span(), tolerant.temporary.span());
  };
  ASSERT_TRUE(initialize(op, tolerant.owned));
  const auto execute = [&](const CompiledOperator& with, std::span<const InputBuffer> inputs, dmlref::OutputBuffer to) {
    const OutputBuffer outputs[] = {to};
    return with.execute(inputs, outputs, tolerant.persistent.span(), tolerant.temporary.span());
  };
  const auto expect_rule = [](const Report& report, std::string_view name, RuleId rule) {
    ASSERT_EQ(report.violations().size(), 1u) << report.to_string();
    EXPECT_EQ(report.violations()[0].field, name);
    EXPECT_EQ(report.violations()[0].rule, rule) << report.to_string();
  };
  const std::size_t out_bytes = c().output->bytes();
  {
    Memory output(out_bytes);
    ASSERT_TRUE(execute(op, tolerant.inputs, output.span()));
    expect_result(output);
  }
  Memory apart(out_bytes + 8, 0), shifted(out_bytes, 20);
  expect_rule(execute(op, tolerant.inputs, shifted.span()), "OutputTensor", RuleId::binding_offset);
  expect_rule(execute(op, tolerant.inputs, apart.span().first(out_bytes + 1)), "OutputTensor", RuleId::binding_size);
  expect_untouched(shifted);
  expect_untouched(apart);

  for (std::size_t i = 0; i < c().inputs.size(); ++i) {
    const std::string& name = c().input_names[i];
    if (!c().inputs[i]) continue;
    const std::size_t bytes = c().inputs[i]->bytes();
    Memory moved(bytes, 4), longer(bytes + 3);
    for (Memory* to : {&moved, &longer}) std::copy_n(c().data[i].begin(), bytes, to->span().begin());
    const bool owned = c().inputs[i]->owned();
    std::vector<InputBuffer> given = owned ? tolerant.owned : tolerant.inputs;
    for (Memory* to : {&moved, &longer}) {
      given[i] = to->span();
      const RuleId rule = to == &moved ? RuleId::binding_offset : RuleId::binding_size;
      Memory output(out_bytes);
      if (owned) {
        expect_rule(initialize(op, given), name, rule);
        EXPECT_TRUE(initialize(tolerant.op, given));
      } else {
        expect_rule(execute(op, given, output.span()), name, rule);
        expect_untouched(output);
        EXPECT_TRUE(execute(tolerant.op, given, output.span()));
        expect_result(output);
      }
      std::vector<InputBuffer> all = c().all_buffers();
      all[i] = to->span();
      Memory of_run(out_bytes);
      const OutputBuffer outputs[] = {of_run.span()};
      dmlref::RunOptions options;
      options.strict_bindings = true;
      expect_rule(dmlref::run(c().desc, level, all, outputs, options), name, rule);
      expect_untouched(of_run);
    }
    if (!owned) {  // also where nothing is owned
      std::vector<InputBuffer> at_initialize = tolerant.owned;
      at_initialize[i] = tolerant.inputs[i];
      expect_rule(initialize(op, at_initialize), name, RuleId::buffer_owned_by_dml);
      if (tolerant.needs.persistent_bytes == 0) {
        EXPECT_TRUE(initialize(tolerant.op, at_initialize));
      }
    }
  }
}

TEST(StrictBindings, RunNamesEveryFaultAtOnce) {
  dmlref::MeanVarianceNormalization1Desc desc;
  desc.input = desc.output = dmlref::TensorDesc(dmlref::DataType::float32, {1, 4});
  desc.scale = dmlref::TensorDesc(dmlref::DataType::float32, {1, 4});
  desc.scale->owned_by_dml = true;
  desc.axes = {1};
  alignas(16) const std::byte bytes[32]{};
  alignas(16) std::byte output[20]{};
  const auto moved = std::span(bytes).subspan(4, 16);
  const auto longer = std::span(bytes).first(17);
  EXPECT_EQ(fields(dmlref::run(desc, dmlref::latest_feature_level, {moved, longer, {}}, {std::span(output).first(18)},
                               {.strict_bindings = true})),
            (std::vector<std::string>{"InputTensor", "ScaleTensor", "OutputTensor"}));
}

TEST(StrictBindings, FollowGuaranteedBaseOffsetAlignment) {
  dmlref::SliceDesc desc;
  desc.input = desc.output = dmlref::TensorDesc(dmlref::DataType::uint8, {1, 1, 1, 8});
  desc.offsets = {0, 0, 0, 0};
  desc.sizes = {1, 1, 1, 8};
  desc.strides = {1, 1, 1, 1};
  alignas(64) const std::byte input[64]{};
  alignas(64) std::byte output[64];
  const auto at = [&](std::size_t offset) {
    return dmlref::run(desc, dmlref::latest_feature_level, {std::span(input).subspan(offset, 8)},
                       {std::span(output).first(8)}, {.strict_bindings = true});
  };
  EXPECT_FALSE(at(4));
  EXPECT_TRUE(at(16));
  desc.input.guaranteed_base_offset_alignment = 4;
  EXPECT_TRUE(at(4));
  EXPECT_FALSE(at(2));
  desc.input.guaranteed_base_offset_alignment = 32;
  EXPECT_FALSE(at(16));
  EXPECT_TRUE(at(32));
}

// --- run -----------------------------------------------------------------------------------------------------------

TEST_P(Boundary, RunRefusesTheSameFaults) {
  Memory output(c().output->bytes());
  const OutputBuffer outputs[] = {output.span()};
  const std::vector<std::byte> spare(64);
  for (std::size_t i = 0; i < c().inputs.size(); ++i) {
    const std::vector<std::string> named{c().input_names[i]};
    std::vector<InputBuffer> bad = c().all_buffers();
    if (!c().inputs[i]) {
      bad[i] = spare;
      EXPECT_EQ(fields(dmlref::run(c().desc, level, bad, outputs)), named);
      continue;
    }
    bad[i] = {};
    EXPECT_EQ(fields(dmlref::run(c().desc, level, bad, outputs)), named);
    bad[i] = InputBuffer(c().data[i]).first(c().inputs[i]->bytes() - 1);
    EXPECT_EQ(fields(dmlref::run(c().desc, level, bad, outputs)), named);
    // The output's own memory as an input, owned by DML or not.
    Memory arena(std::max(c().inputs[i]->bytes(), c().output->bytes()));
    bad[i] = arena.span();
    const OutputBuffer same[] = {arena.span()};
    const Report report = dmlref::run(c().desc, level, bad, same);
    EXPECT_EQ(fields(report), std::vector<std::string>{"OutputTensor"});
    expect_untouched(arena);
  }
  std::vector<InputBuffer> more = c().all_buffers();
  more.emplace_back();
  EXPECT_EQ(fields(dmlref::run(c().desc, level, more, outputs)), std::vector<std::string>{"inputs"});
  EXPECT_EQ(fields(dmlref::run(c().desc, level, {}, outputs)), std::vector<std::string>{"inputs"});
  EXPECT_EQ(fields(dmlref::run(c().desc, level, c().all_buffers(), {})), std::vector<std::string>{"outputs"});
  const OutputBuffer missing[] = {{}};
  EXPECT_EQ(fields(dmlref::run(c().desc, level, c().all_buffers(), missing)), std::vector<std::string>{"OutputTensor"});
  expect_untouched(output);
}

// --- descs that are refused ----------------------------------------------------------------------------------------

TEST(Refused, ABadDescRunsNothingAndSaysWhy) {
  const auto c = slice_case(false);
  c->arrays[0][2] = 3;  // 3 + (2 - 1) * 2 lies outside
  c->slice.DimensionCount = 4;
  const Report verdict = dmlref::validate(c->desc, level);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.violations()[0].field, "Offsets[2]");
  const CompileResult compiled = dmlref::compile(c->desc, level);
  EXPECT_FALSE(compiled);
  EXPECT_EQ(compiled.report().to_string(), verdict.to_string());
  Memory output(c->output->bytes());
  const OutputBuffer outputs[] = {output.span()};
  EXPECT_EQ(dmlref::run(c->desc, level, c->all_buffers(), outputs).to_string(), verdict.to_string());
  EXPECT_EQ(output.span()[0], std::byte{0xA5});
}

TEST(Refused, AnUncompiledOperatorAnswersEveryCall) {
  DML_OPERATOR_DESC desc{};
  const CompileResult compiled = dmlref::compile(desc, level);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.report().violations()[0].field, "Type");
  EXPECT_EQ(compiled.value().binding_properties().temporary_bytes, 0u);
  EXPECT_FALSE(compiled.value().initialize({}, {}, {}));
  EXPECT_FALSE(compiled.value().execute({}, {}, {}, {}));
  EXPECT_FALSE(CompiledOperator().execute({}, {}, {}, {}));
}

TEST(Refused, NullAndUnknownAreViolationsNotCrashes) {
  DML_OPERATOR_DESC desc{DML_OPERATOR_SLICE, nullptr};
  EXPECT_EQ(dmlref::validate(desc, level).violations()[0].field, "Desc");
  const auto c = slice_case(false);
  c->slice.InputTensor = nullptr;
  EXPECT_EQ(dmlref::validate(c->desc, level).violations()[0].field, "InputTensor");
  const auto other = slice_case(false);
  const Report report = dmlref::validate(other->desc, static_cast<DML_FEATURE_LEVEL>(0x7777));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.violations()[0].field, "FeatureLevel");
  EXPECT_FALSE(dmlref::compile(other->desc, static_cast<DML_FEATURE_LEVEL>(0)));
}

TEST(Levels, OfMicrosoftAreThoseOfThisLibrary) {
  for (const dmlref::FeatureLevelName& row : dmlref::feature_levels) {
    const auto microsofts = static_cast<DML_FEATURE_LEVEL>(row.level);
    EXPECT_EQ(dmlref::feature_level(microsofts), row.level);
    EXPECT_EQ(dmlref::to_string(microsofts), row.name);
    EXPECT_TRUE(row.level == microsofts && microsofts == row.level && row.level <= microsofts);
    EXPECT_EQ(row.level < DML_FEATURE_LEVEL_4_0, row.level < dmlref::FeatureLevel::level_4_0);
  }
  // Every function takes either.
  using dmlref::FeatureLevel;
  dmlref::SliceDesc desc;
  desc.input = desc.output = dmlref::TensorDesc(dmlref::DataType::float32, {2, 2});
  desc.offsets = {0, 0};
  desc.sizes = {2, 2};
  desc.strides = {1, 1};
  const dmlref::OperatorDesc any(desc);
  const auto c = slice_case(false);
  const float input[4] = {1, 2, 3, 4};
  float output[4];
  const InputBuffer inputs[] = {std::as_bytes(std::span(input))};
  const OutputBuffer outputs[] = {std::as_writable_bytes(std::span(output))};
  const auto same = [](const Report& one, const Report& other) { EXPECT_EQ(one.to_string(), other.to_string()); };
  same(dmlref::validate(desc, DML_FEATURE_LEVEL_2_1), dmlref::validate(desc, FeatureLevel::level_2_1));
  same(dmlref::validate(any, DML_FEATURE_LEVEL_2_1), dmlref::validate(any, FeatureLevel::level_2_1));
  same(dmlref::validate(c->desc, DML_FEATURE_LEVEL_1_0), dmlref::validate(c->desc, FeatureLevel::level_1_0));
  same(dmlref::compile(desc, DML_FEATURE_LEVEL_2_1).report(), dmlref::compile(desc, FeatureLevel::level_2_1).report());
  same(dmlref::compile(any, DML_FEATURE_LEVEL_2_1).report(), dmlref::compile(any, FeatureLevel::level_2_1).report());
  same(dmlref::compile(c->desc, DML_FEATURE_LEVEL_1_0).report(),
       dmlref::compile(c->desc, FeatureLevel::level_1_0).report());
  EXPECT_TRUE(dmlref::run(desc, DML_FEATURE_LEVEL_6_4, inputs, outputs));
  EXPECT_TRUE(dmlref::run(any, DML_FEATURE_LEVEL_6_4, {input}, {output}));
  EXPECT_TRUE(dmlref::run(any, FeatureLevel::level_6_4, {input}, {output}));
  EXPECT_TRUE(dmlref::run(desc, DML_FEATURE_LEVEL_6_4, {input}, {output}));
  EXPECT_TRUE(std::equal(input, input + 4, output));
  same(dmlref::run(c->desc, FeatureLevel::level_6_4, {}, {}), dmlref::run(c->desc, DML_FEATURE_LEVEL_6_4, {}, {}));
}

TEST(Refused, AHigherLevelIsNamed) {
  const auto c = slice1_case();
  const Report report = dmlref::validate(c->desc, DML_FEATURE_LEVEL_2_0);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.violations()[0].kind, ViolationKind::unsupported_at_level);
  EXPECT_EQ(report.violations()[0].available_from, DML_FEATURE_LEVEL_2_1);
}

// --- instruction sets ----------------------------------------------------------------------------------------------

class IsaVariable : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* value = std::getenv("DMLREF_ISA")) before_ = value;
  }
  void TearDown() override {
    if (before_) {
      setenv("DMLREF_ISA", before_->c_str(), 1);
    } else {
      unsetenv("DMLREF_ISA");
    }
  }
  std::optional<std::string> before_;
  const std::unique_ptr<Case> case_ = slice_case(false);

  std::vector<std::string> compile_fields(CompileOptions options = {}) {
    return fields(dmlref::compile(case_->desc, level, options).report());
  }
  static std::optional<Isa> unsupported() {
    for (const auto& row : dmlref::isa_table) {
      if (!dmlref::supported(row.isa)) return row.isa;
    }
    return std::nullopt;
  }
};

TEST_F(IsaVariable, IsReadAtEachCompile) {
  setenv("DMLREF_ISA", "scalar", 1);
  EXPECT_EQ(compile_fields(), std::vector<std::string>{});
  for (const char* name : {"sse9", "AVX2", "scalar ", "avx512"}) {
    setenv("DMLREF_ISA", name, 1);
    const CompileResult compiled = dmlref::compile(case_->desc, level);
    ASSERT_EQ(fields(compiled.report()), std::vector<std::string>{"DMLREF_ISA"}) << name;
    EXPECT_THAT(compiled.report().violations()[0].message, testing::HasSubstr(name));
    Memory output(case_->output->bytes());
    const OutputBuffer outputs[] = {output.span()};
    EXPECT_FALSE(dmlref::run(case_->desc, level, case_->all_buffers(), outputs));
    EXPECT_EQ(output.span()[0], std::byte{0xA5});
  }
  unsetenv("DMLREF_ISA");
  EXPECT_EQ(compile_fields(), std::vector<std::string>{});
}

TEST_F(IsaVariable, ASetThatThisCpuLacksIsRefused) {
  const std::optional<Isa> lacking = unsupported();
  ASSERT_TRUE(lacking) << "no CPU runs both families";
  setenv("DMLREF_ISA", std::string(dmlref::to_string(*lacking)).c_str(), 1);
  EXPECT_EQ(compile_fields(), std::vector<std::string>{"DMLREF_ISA"});
  unsetenv("DMLREF_ISA");
  CompileOptions options;
  options.isa = *lacking;
  EXPECT_EQ(compile_fields(options), std::vector<std::string>{"CompileOptions.isa"});
  options.isa = static_cast<Isa>(99);
  EXPECT_EQ(compile_fields(options), std::vector<std::string>{"CompileOptions.isa"});
}

TEST_F(IsaVariable, TheOptionGoesFirst) {
  setenv("DMLREF_ISA", "nonsense", 1);
  CompileOptions options;
  options.isa = Isa::scalar;
  EXPECT_EQ(compile_fields(options), std::vector<std::string>{});
}

TEST_F(IsaVariable, IsReportedBesideABrokenDesc) {
  setenv("DMLREF_ISA", "nonsense", 1);
  case_->slice.OutputTensor = nullptr;
  EXPECT_THAT(compile_fields(), testing::UnorderedElementsAre("OutputTensor", "DMLREF_ISA"));
}

}  // namespace
