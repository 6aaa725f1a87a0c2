// Reports and results that nothing reads.
#include <dmlref/dmlref.hpp>

using namespace dmlref;

int main() {
  Slice1Desc desc;
  const OperatorDesc any(desc);
  const DML_OPERATOR_DESC microsoft{};
  float data[4]{}, to[4]{};
  const TensorView<float> from(data, {4}), output(to, {4});
  const CompileResult compiled = compile(desc, latest_feature_level);
  const CompiledOperator& op = compiled.value();
  NamedBindings named(op);
  const MeanVarianceNormalizationOptions options;
  static_cast<void>(output), static_cast<void>(from), static_cast<void>(options);
  Report report = validate(microsoft, latest_feature_level);
#if REFUSED  // unused-result
  validate(desc, latest_feature_level);
#endif
#if REFUSED  // unused-result
  validate(any, latest_feature_level);
#endif
#if REFUSED  // unused-result
  validate(microsoft, DML_FEATURE_LEVEL_6_4);
#endif
  report = run(desc, latest_feature_level, {data}, {to});
#if REFUSED  // unused-result
  run(desc, latest_feature_level, {data}, {to});
#endif
#if REFUSED  // unused-result
  run(any, latest_feature_level, {data}, {to});
#endif
#if REFUSED  // unused-result
  run(microsoft, latest_feature_level, {data}, {to});
#endif
#if REFUSED  // unused-result
  compile(any, latest_feature_level);
#endif
#if REFUSED  // unused-result
  compile(microsoft, DML_FEATURE_LEVEL_6_4);
#endif
  report = op.initialize(named, {}, {});
#if REFUSED  // unused-result
  op.initialize(named, {}, {});
#endif
  report = op.execute({data}, {to}, {}, {});
#if REFUSED  // unused-result
  op.execute({data}, {to}, {}, {});
#endif
#if REFUSED  // unused-result
  op.execute(named, {}, {});
#endif
  report = slice<float>(from, output, {0}, {1});
#if REFUSED  // unused-result
  slice<float>(from, output, {0}, {1});
#endif
#if REFUSED  // unused-result
  slice1<float>(from, output, {0}, {4}, {1});
#endif
#if REFUSED  // unused-result
  mean_variance_normalization<float>(from, {}, {}, output, options);
#endif
#if REFUSED  // unused-result
  describe_slice1<float>(from, output, {0}, {4}, {1});
#endif
#if REFUSED  // unused-result
  report.ok();
#endif
#if REFUSED  // unused-result
  feature_level_from_name("6_4");
#endif
#if REFUSED  // unused-result
  from.at(0);
#endif
#if REFUSED  // unused-result
  from.try_flip(0);
#endif
  return report ? 0 : 1;
}
