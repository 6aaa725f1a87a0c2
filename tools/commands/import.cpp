#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "onnx/import.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {

void add_import(CLI::App& line) {
  const auto options = std::make_shared<onnx::ImportOptions>();
  Verb verb(line, "import", "Lower an ONNX model to one that run executes");
  verb.argument("MODEL.onnx", "The ONNX model", options->model);
  verb.option("--data", "DIR", "Folder of ONNX's input_N.pb and output_N.pb; the latter become expected_N.npy",
              options->data);
  verb.required_option("--out", "DIR", "Folder for model.json and its .npy files", options->out);
  verb.memory_option();
  verb.flag("--relative", "Write outputs to the folder where the model runs, as another machine requires",
            options->relative);
  verb.runs([options] {
    if (options->out.empty()) throw Failure("--out", "is empty, expected a folder");
    fmt::print("{}", onnx::import_model(*options));
    return exit_done;
  });
}

}  // namespace dmlref::tool
