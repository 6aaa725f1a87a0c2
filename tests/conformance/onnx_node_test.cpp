// ONNX's own node tests, as Debian's libonnx-testdata has them: every test with a node that import lowers goes through
// `dmlref import`, `dmlref run` on each instruction set, `dmlref compare`, and the public API. What is refused stands
// in a table with the reason: a new refusal fails, and so does a row that refuses nothing.
#include <cstdio>
#include <map>
#include <regex>
#include <set>

#include "command/command.hpp"
#include "dmlref/dmlref.hpp"
#include "io/npy.hpp"
#include "onnx/lowering.hpp"
#include "onnx/operators.hpp"
#include "onnx/reader.hpp"

namespace dmlref::test {
namespace {

using tool::onnx::Lowering;

const fs::path suite = DMLREF_TEST_ONNX_NODES;

/// Of a test by its name: why import refuses it.
struct Refusal {
  const char* tests;  // a regular expression
  const char* reason;
};
const Refusal refusals[] = {
    // Rules of DirectML and of the operators.
    {"slice_start_out_of_bounds", "[tensor_size_zero]"},
    {"reshape_allowzero_reordered", "[tensor_size_zero]"},
    {"batchnorm_(epsilon|example)", "attribute training_mode: is 0, expected 1"},
    // What is no tensor.
    {"identity_(sequence|opt)", "which is no tensor"},
    // Compositions of other operators.
    {"dynamicquantizelinear(_m.._adjusted)?_expanded", "(ReduceMin): is ReduceMin, expected one of"},
    {"layer_normalization_.*_expanded", "(Cast): is Cast, expected one of"},
    {"sce_.*_expanded", "(LogSoftmax): is LogSoftmax, expected one of"},
    {"nllloss_.*_expanded", "(Unsqueeze): is Unsqueeze, expected one of"},
    {"range_.*_expanded", "(Sub): is Sub, expected one of"},
    {"sequence_map_.*_expanded", "(SequenceLength): is SequenceLength, expected one of"},
    {"sequence_map_identity_._sequences?(_1_tensor)?", "(SequenceMap): is SequenceMap, expected one of"},
    {"loop.*", "(Loop): is Loop, expected one of"},
    {"scan.*", "(Scan): is Scan, expected one of"},
};

/// The suite's own values are of float32 arithmetic. Ours are within one unit in the last place of the exact result, so
/// the tolerance is the suite's error. Everything else is exact.
struct Tolerance {
  const char* tests;
  std::vector<std::string> options;
};
const Tolerance tolerances[] = {
    {".*(norm|mvn).*", {"--abs", "2e-7", "--rel", "1e-6"}},
    {".*", {"--ulp", "0"}},
};

/// NodeProto.op_type is field 4: a byte 0x22, a length, the name.
bool has_lowered_node(const std::string& model) {
  constexpr const char* operators[] = {"Slice",
                                       "QLinearConv",
                                       "ConvInteger",
                                       "MatMulInteger",
                                       "QLinearMatMul",
                                       "MeanVarianceNormalization",
                                       "InstanceNormalization",
                                       "LayerNormalization",
                                       "RMSNormalization",
                                       "GroupNormalization",
                                       "BatchNormalization",
                                       "QuantizeLinear",
                                       "DequantizeLinear",
                                       "Transpose",
                                       "Identity",
                                       "Reshape"};
  for (const std::string_view type : operators) {
    EXPECT_NE(tool::onnx::find_operator(type), nullptr) << type;
    const std::string field = std::string("\x22") + static_cast<char>(type.size()) + std::string(type);
    if (model.find(field) != std::string::npos) return true;
  }
  return false;
}

/// Names without "test_".
std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(suite)) {
    if (has_lowered_node(read_text(entry.path() / "model.onnx"))) {
      names.push_back(entry.path().filename().string().substr(5));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

template <class Row, std::size_t N>
const Row* find_row(const Row (&rows)[N], const std::string& name) {
  for (const Row& row : rows) {
    if (std::regex_match(name, std::regex(row.tests))) return &row;
  }
  return nullptr;
}

/// Runs a lowered graph without the command: each output's bytes. `isa` for all its operators.
std::vector<std::vector<std::byte>> run_through_api(const tool::onnx::Program& program, Isa isa) {
  std::map<std::string, std::vector<std::byte>, std::less<>> memory;
  for (const tool::onnx::ProgramResource& resource : program.resources) {
    std::vector<std::byte>& bytes = memory[resource.name];
    for (const tool::onnx::ProgramFile& file : program.files) {
      if (file.name == resource.source) bytes = tool::read_npy(file.bytes).data;
    }
    if (resource.source.empty()) bytes.resize(resource.count * size_of(resource.type));
    bytes.resize((bytes.size() + 3) / 4 * 4);
  }
  for (const tool::onnx::ProgramDispatch& dispatch : program.dispatches) {
    const CompileResult compiled = compile(dispatch.desc, latest_feature_level, CompileOptions{isa});
    EXPECT_TRUE(compiled) << compiled.report().to_string();
    if (!compiled) return {};
    const BindingProperties needs = compiled.value().binding_properties();
    tool::Memory persistent(needs.persistent_bytes, "a test");
    tool::Memory temporary(needs.temporary_bytes, "a test");
    // All tensors of the desc in its order, absent ones empty.
    std::vector<InputBuffer> inputs;
    std::vector<OutputBuffer> outputs;
    const auto bind = [&](std::string_view name) {
      for (const auto& [tensor, resource] : dispatch.bindings) {
        if (tensor == name) return std::span<std::byte>(memory[resource]);
      }
      return std::span<std::byte>();
    };
    for (const TensorSlot& slot : compiled.value().input_slots()) inputs.emplace_back(bind(slot.name));
    outputs.emplace_back(bind("OutputTensor"));
    const std::vector<InputBuffer> none(inputs.size());
    Report report = compiled.value().initialize(none, persistent.bytes(), temporary.bytes());
    EXPECT_TRUE(report) << report.to_string();
    report = compiled.value().execute(inputs, outputs, persistent.bytes(), temporary.bytes());
    EXPECT_TRUE(report) << report.to_string();
  }
  std::vector<std::vector<std::byte>> results;
  for (const tool::onnx::ProgramOutput& output : program.outputs) {
    for (const tool::onnx::ProgramResource& resource : program.resources) {
      if (resource.name != output.resource) continue;
      std::vector<std::byte> bytes = memory[resource.name];
      bytes.resize(resource.count * size_of(resource.type));
      results.push_back(std::move(bytes));
    }
  }
  return results;
}

class OnnxNode : public CommandTest {
 protected:
  /// Imports, and says why not.
  Outcome import(const std::string& name) {
    const fs::path folder = suite / ("test_" + name);
    fs::remove_all(file("out"));
    return dmlref(
        {"import", (folder / "model.onnx").string(), "--data", (folder / "test_data_set_0").string(), "--out", "out"});
  }

  /// The imported model, on one instruction set, by the command.
  void run_command(const std::string& name, Isa isa) {
    const Outcome run = dmlref({"run", "out/model.json", "--isa", std::string(to_string(isa)), "--threads", "1"});
    ASSERT_EQ(run.status, 0) << run;
    for (int i = 0; fs::exists(file("out/expected_" + std::to_string(i) + ".npy")); ++i) {
      std::vector<std::string> words{"compare", "out/output_" + std::to_string(i) + ".npy",
                                     "out/expected_" + std::to_string(i) + ".npy"};
      const std::vector<std::string>& options = find_row(tolerances, name)->options;
      words.insert(words.end(), options.begin(), options.end());
      const Outcome compared = dmlref(words);
      EXPECT_EQ(compared.status, 0) << compared;
    }
  }

  /// The same lowered here and run by the public API: the bits that the command wrote.
  void run_api(const std::string& name, Isa isa) {
    const fs::path folder = suite / ("test_" + name);
    const tool::onnx::Graph graph = tool::onnx::read_graph(folder / "model.onnx");
    tool::onnx::Sources sources{"data", {}, {}};
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      sources.inputs.emplace_back(tool::onnx::read_tensor_file(
          folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"), sources.memory));
    }
    Lowering lowering(graph, sources);
    const tool::onnx::Program program = lowering.run();
    const std::vector<std::vector<std::byte>> results = run_through_api(program, isa);
    ASSERT_EQ(results.size(), program.outputs.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string text = read_text(file("out/" + program.outputs[i].target));
      const auto bytes = std::as_bytes(std::span(text));
      EXPECT_EQ(tool::read_npy(bytes).data, results[i]);
    }
  }
};

TEST_F(OnnxNode, PassesOrIsRefusedForAKnownReason) {
  std::map<const Refusal*, int> refused;
  int passed = 0;
  std::vector<Isa> sets;
  for (const IsaName& row : isa_table) {
    if (supported(row.isa)) sets.push_back(row.isa);
  }
  for (const std::string& name : cases()) {
    SCOPED_TRACE(name);
    const Refusal* row = find_row(refusals, name);
    if (row != nullptr) {
      const Outcome outcome = import(name);
      expect_unusable(outcome, {row->reason}, any_faults);
      EXPECT_FALSE(fs::exists(file("out")));
      ++refused[row];
      continue;
    }
    const Outcome imported = import(name);
    EXPECT_EQ(imported.status, 0) << imported;
    if (imported.status != 0) continue;
    for (const Isa isa : sets) {
      SCOPED_TRACE(to_string(isa));
      run_command(name, isa);
      run_api(name, isa);
    }
    ++passed;
  }
  for (const Refusal& row : refusals) {
    EXPECT_NE(refused[&row], 0) << row.tests << " refuses nothing";
    std::printf("%4d refused: %s: %s\n", refused[&row], row.tests, row.reason);
  }
  std::printf("%4d passed on %zu instruction sets, by the command and by the API\n", passed, sets.size());
  EXPECT_GE(passed, 55) << "tests of libonnx-testdata 1.12";
}

}  // namespace
}  // namespace dmlref::test
