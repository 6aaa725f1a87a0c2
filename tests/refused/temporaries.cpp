// What a temporary hands out by reference would be gone.
#include <dmlref/dmlref.hpp>

#include <type_traits>
#include <utility>

using namespace dmlref;

// These are values of their own.
static_assert(std::is_same_v<decltype(std::declval<Report>().violations()), std::vector<Violation>>);
static_assert(std::is_same_v<decltype(std::declval<CompileResult>().report()), Report>);
static_assert(std::is_same_v<decltype(std::declval<CompileResult>().value()), CompiledOperator>);
static_assert(std::is_same_v<decltype(std::declval<DescribeResult<SliceDesc>>().report()), Report>);
static_assert(std::is_same_v<decltype(std::declval<DescribeResult<SliceDesc>>().value()), SliceDesc>);

int main() {
  const SliceDesc desc;
  const CompiledOperator op = compile(desc, latest_feature_level).value();
  NamedBindings bindings(op);
#if REFUSED  // use of deleted function|deleted constructor
  NamedBindings of_temporary(compile(desc, latest_feature_level).value());
#endif
#if REFUSED  // use of deleted function|deleted constructor
  NamedBindings of_nothing{CompiledOperator()};
#endif
  std::size_t tensors = op.input_slots().size();
#if REFUSED  // deleted (member )?function
  tensors = compile(desc, latest_feature_level).value().input_slots().size();
#endif
#if REFUSED  // deleted (member )?function
  tensors = compile(desc, latest_feature_level).value().output_slots().size();
#endif
  std::vector<float> input(4);
  bindings.bind("InputTensor", input);
#if REFUSED  // no matching (member )?function
  bindings.bind("InputTensor", std::vector<float>(4));
#endif
  for (const Violation& violation : validate(desc, latest_feature_level).violations())
    tensors += violation.field.size();
  return tensors > 0 ? 0 : 1;
}
