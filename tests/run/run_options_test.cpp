// run_options_test.cpp: an instruction set and an executor for one call, and buffers by the tensors' names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "dmlref/directml.hpp"
#include "run/directml_case.hpp"
#include "support/report_fields.hpp"

namespace {

using namespace outside;
using dmlref::CompileResult;
using dmlref::Isa;
using dmlref::NamedBindings;
using dmlref::OutputBuffer;
using dmlref::Report;
using dmlref::RunOptions;
using dmlref_test::fields;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr DML_FEATURE_LEVEL level = DML_FEATURE_LEVEL_6_4;

/// Runs tasks one by one and counts them.
class Counting final : public dmlref::Executor {
 public:
  std::size_t concurrency() const noexcept override { return 4; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    tasks += count;
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  }
  std::size_t tasks = 0;
};

/// Says that it runs any number of tasks at once, none among these.
class Claiming final : public dmlref::Executor {
 public:
  explicit Claiming(std::size_t claimed) : claimed_(claimed) {}
  std::size_t concurrency() const noexcept override { return claimed_; }
  void parallel_for(std::size_t count, void (*task)(void*, std::size_t), void* context) override {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  }

 private:
  std::size_t claimed_;
};

TEST(RunOptions, ExecutorsMaySayAnyConcurrency) {
  for (const std::size_t claimed : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, SIZE_MAX / 4 + 1, SIZE_MAX}) {
    for (const auto& c : all_cases()) {
      for (const dmlref::IsaName& row : dmlref::isa_table) {
        if (!dmlref::supported(row.isa)) continue;
        SCOPED_TRACE(testing::Message() << row.name << ", " << claimed << " tasks");
        Claiming executor(claimed);
        Memory output(c->output->bytes());
        const OutputBuffer outputs[] = {output.span()};
        RunOptions options;
        options.executor = &executor;
        options.isa = row.isa;
        const Report report = dmlref::run(c->desc, level, c->all_buffers(), outputs, options);
        EXPECT_TRUE(report || row.isa == Isa::amx_int8) << report.to_string();
        EXPECT_TRUE(!report || std::equal(c->expected.begin(), c->expected.end(), output.span().begin()));
      }
    }
  }
}

TEST(RunOptions, EveryFormOfRunTakesAnExecutor) {
  const auto c = convolution_case(true);
  dmlref::QuantizedLinearConvolutionDesc one;
  {
    const auto value = dmlref::detail::read_directml(c->desc);
    ASSERT_TRUE(value);
    one = std::get<dmlref::QuantizedLinearConvolutionDesc>(*value);
  }
  const auto expect_tasks = [&](const auto& desc) {
    Counting executor;
    Memory output(c->output->bytes());
    const OutputBuffer outputs[] = {output.span()};
    RunOptions options;
    options.executor = &executor;
    const Report report = dmlref::run(desc, level, c->all_buffers(), outputs, options);
    EXPECT_TRUE(report) << report.to_string();
    EXPECT_TRUE(std::equal(c->expected.begin(), c->expected.end(), output.span().begin()));
    EXPECT_GT(executor.tasks, 0u);
  };
  expect_tasks(c->desc);
  expect_tasks(one);
  expect_tasks(dmlref::OperatorDesc(one));
}

TEST(RunOptions, EveryInstructionSetOrARefusal) {
  for (const auto& c : all_cases()) {
    for (const dmlref::IsaName& row : dmlref::isa_table) {
      Memory output(c->output->bytes());
      const OutputBuffer outputs[] = {output.span()};
      const Report report = dmlref::run(c->desc, level, c->all_buffers(), outputs, {row.isa});
      if (supported(row.isa)) {
        EXPECT_TRUE(report) << report.to_string();
        EXPECT_TRUE(std::equal(c->expected.begin(), c->expected.end(), output.span().begin())) << c->name;
      } else {
        EXPECT_THAT(fields(report), ElementsAre("RunOptions.isa"));
        EXPECT_EQ(output.span()[0], std::byte{0xA5});
      }
    }
  }
  const auto c = slice_case(false);
  Memory output(c->output->bytes());
  const OutputBuffer outputs[] = {output.span()};
  const Report report = dmlref::run(c->desc, level, c->all_buffers(), outputs, {static_cast<Isa>(99)});
  EXPECT_THAT(fields(report), ElementsAre("RunOptions.isa"));
}

/// A compiled case and its memory.
struct Ready {
  explicit Ready(const Case& c)
      : compiled(dmlref::compile(c.desc, level)),
        persistent(static_cast<std::size_t>(compiled.value().binding_properties().persistent_bytes)),
        temporary(static_cast<std::size_t>(compiled.value().binding_properties().temporary_bytes)),
        output(c.output->bytes()) {}
  CompileResult compiled;
  Memory persistent;
  Memory temporary;
  Memory output;
};

TEST(NamedBindings, OneListServesInitializeAndExecuteInAnyOrder) {
  for (const auto& c : all_cases()) {
    SCOPED_TRACE(c->name);
    Ready ready(*c);
    NamedBindings bindings(ready.compiled.value());
    bindings.bind("OutputTensor", ready.output.span());
    for (std::size_t i = c->inputs.size(); i-- > 0;) {
      if (c->inputs[i]) bindings.bind(c->input_names[i], dmlref::InputBuffer(c->data[i]));
    }
    Report report = ready.compiled.value().initialize(bindings, ready.persistent.span(), ready.temporary.span());
    EXPECT_TRUE(report) << report.to_string();
    report = ready.compiled.value().execute(bindings, ready.persistent.span(), ready.temporary.span());
    EXPECT_TRUE(report) << report.to_string();
    EXPECT_TRUE(std::equal(c->expected.begin(), c->expected.end(), ready.output.span().begin()));

    Memory second(c->output->bytes());  // a name bound again
    bindings.bind("OutputTensor", second.span());
    EXPECT_TRUE(ready.compiled.value().execute(bindings, ready.persistent.span(), ready.temporary.span()));
    EXPECT_TRUE(std::equal(c->expected.begin(), c->expected.end(), second.span().begin()));
  }
}

TEST(NamedBindings, BindsTheBytesOfArrays) {
  const dmlref::Slice1Desc reverse{{dmlref::DataType::float32, {4}}, {dmlref::DataType::float32, {4}}, {0}, {4}, {-1}};
  const CompileResult compiled = dmlref::compile(reverse, dmlref::latest_feature_level);
  const float input[] = {1, 2, 3, 4};
  float output[4]{};
  NamedBindings bindings(compiled.value());
  bindings.bind("InputTensor", std::as_bytes(std::span(input)));
  bindings.bind("OutputTensor", std::as_writable_bytes(std::span(output)));  // std::span<std::byte, 16>
  EXPECT_TRUE(compiled.value().execute(bindings, {}, {}));
  EXPECT_THAT(output, ElementsAre(4, 3, 2, 1));
}

TEST(NamedBindings, WrongAndMissingNamesAreReported) {
  const auto c = normalization_case(false);
  Ready ready(*c);
  const auto execute = [&](const NamedBindings& bindings) {
    return ready.compiled.value().execute(bindings, ready.persistent.span(), ready.temporary.span());
  };
  NamedBindings missing(ready.compiled.value());
  missing.bind("OutputTensor", ready.output.span()).bind("InputTensor", dmlref::InputBuffer(c->data[0]));
  EXPECT_THAT(fields(execute(missing)), ElementsAre("ScaleTensor", "BiasTensor"));

  NamedBindings misspelt = missing;
  misspelt.bind("ScalesTensor", dmlref::InputBuffer(c->data[1]));
  const Report report = execute(misspelt);
  EXPECT_THAT(fields(report), ElementsAre("ScalesTensor"));
  EXPECT_THAT(report.to_string(), HasSubstr("InputTensor, ScaleTensor, BiasTensor, OutputTensor"));
  EXPECT_THAT(fields(misspelt.report()), ElementsAre("ScalesTensor"));
  EXPECT_FALSE(ready.compiled.value().initialize(misspelt, ready.persistent.span(), ready.temporary.span()));

  NamedBindings read_only(ready.compiled.value());
  read_only.bind("OutputTensor", dmlref::InputBuffer(c->data[0]));
  EXPECT_THAT(fields(execute(read_only)), ElementsAre("OutputTensor"));

  const CompileResult refused = dmlref::compile(DML_OPERATOR_DESC{}, level);
  NamedBindings bindings(refused.value());
  EXPECT_THAT(fields(refused.value().execute(bindings, {}, {})), ElementsAre("Desc"));
  EXPECT_EQ(ready.output.span()[0], std::byte{0xA5});
}

TEST(NamedBindings, AbsentTensorsTakeNoBuffer) {
  const auto c = normalization1_case();
  Ready ready(*c);
  NamedBindings bindings(ready.compiled.value());
  bindings.bind("InputTensor", dmlref::InputBuffer(c->data[0])).bind("ScaleTensor", dmlref::InputBuffer(c->data[1]));
  bindings.bind("BiasTensor", dmlref::InputBuffer(c->data[1])).bind("OutputTensor", ready.output.span());
  EXPECT_THAT(fields(ready.compiled.value().execute(bindings, ready.persistent.span(), ready.temporary.span())),
              ElementsAre("BiasTensor"));
}

}  // namespace
