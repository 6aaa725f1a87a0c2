#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <memory>
#include <vector>

#include "commands/commands.hpp"
#include "commands/option_values.hpp"
#include "explain/report.hpp"
#include "model/session.hpp"
#include "support/failure.hpp"

namespace dmlref::tool {
namespace {

struct ExplainOptions {
  std::string model;
  std::string dispatchable;  // empty: that of the first dispatch
  std::vector<std::uint64_t> element;
  SessionOptions session;
  bool all = false;
  bool json = false;
};

/// The first dispatch of the dispatchable asked for.
std::size_t find_dispatch(const Model& model, const std::string& name) {
  for (std::size_t i = 0; i < model.commands.size(); ++i) {
    const auto* dispatch = std::get_if<DispatchCommand>(&model.commands[i].what);
    if (dispatch != nullptr && (name.empty() || dispatch->dispatchable == name)) return i;
  }
  if (name.empty()) throw Failure(model.file + ": $.commands", "dispatches nothing, expected a dispatch to explain");
  std::vector<std::string> known;
  for (const auto& [known_name, dispatchable] : model.dispatchables) known.push_back(known_name);
  throw Failure("--dispatchable", fmt::format("is \"{}\", expected one that a command of {} dispatches, of {}", name,
                                              model.file, fmt::join(known, ", ")));
}

std::vector<Index> parse_element(const std::vector<std::uint64_t>& given, const std::vector<std::uint32_t>& sizes) {
  std::vector<Index> element;
  for (std::size_t d = 0; d < given.size() && d < sizes.size() && given[d] < sizes[d]; ++d) {
    element.push_back(static_cast<Index>(given[d]));
  }
  if (element.size() == sizes.size() && given.size() == sizes.size()) return element;
  throw Failure("--element", fmt::format("is {}, expected {} coordinates within OutputTensor's Sizes [{}]",
                                         fmt::join(given, ","), sizes.size(), fmt::join(sizes, ", ")));
}

int explain_element(const ExplainOptions& options) {
  const Model model = parse_model(options.model);
  if (!report_violations(model, options.session.level)) return exit_failed;
  const std::size_t index = find_dispatch(model, options.dispatchable);
  const auto& dispatch = std::get<DispatchCommand>(model.commands[index].what);
  const DML_OPERATOR_DESC& desc = model.dispatchables.find(dispatch.dispatchable)->second.op.desc();
  const std::vector<Index> element = parse_element(options.element, output_sizes(desc));

  Session session(model, options.session);
  for (std::size_t i = 0; i < index; ++i) {  // what it reads may have been written before
    const auto* earlier = std::get_if<DispatchCommand>(&model.commands[i].what);
    if (earlier != nullptr) session.dispatch(model.commands[i].path, *earlier);
  }
  constexpr std::size_t few = 20;
  const Explanation explanation = explain(desc, session.tensors_of(dispatch).inputs, element,
                                          options.all ? (std::numeric_limits<std::size_t>::max)() : few);
  if (options.json) {
    fmt::print("{}\n", to_json_text(explanation, dispatch.dispatchable));
  } else {
    fmt::print("{}", to_text(explanation, dispatch.dispatchable));
  }
  return exit_done;
}

}  // namespace

void add_explain(CLI::App& line) {
  const auto options = std::make_shared<ExplainOptions>();
  Verb verb(line, "explain", "Show how one output element comes about: elements read, sums, scale, rounding");
  verb.argument("MODEL.json", "The model, in DxDispatch's JSON format", options->model);
  verb.required_option("--element", "I,J,...", "Coordinates of the element in OutputTensor, as 0,3,5,7",
                       options->element, parse_integers);
  verb.option("--dispatchable", "NAME",
              "Operator, at its first dispatch; the operator that is dispatched first if not given",
              options->dispatchable);
  verb.option("--feature-level", "LEVEL",
              "Feature level at which the operators are validated, 1_0 to 6_4; 6_4 if not given",
              options->session.level, parse_level);
  verb.memory_option();
  verb.flag("--all", "List all elements read, not only the first 20", options->all);
  verb.flag("--json", "Print the explanation as JSON", options->json);
  verb.runs([options] { return explain_element(*options); });
}

}  // namespace dmlref::tool
