//===- InputSpecTest.cpp - one program, one cache key ---------------------===//
#include "lib/Driver/InputSpec.h"

#include "test/import/ModelBuilder.h"

using namespace gaudi;
using namespace gaudi::driver;

namespace {

/// x f32[batch,3], m f32[batch,?].
test::Parsed twoInputs() {
  ::onnx::ModelProto model = test::emptyModel();
  for (const char *name : {"x", "m"}) {
    auto *input = model.mutable_graph()->add_input();
    input->set_name(name);
    auto *type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(::onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_param("batch");
    auto *dim = type->mutable_shape()->add_dim();
    if (*name == 'x')
      dim->set_dim_value(3);
  }
  return test::parse(model);
}

TEST(InputSpec, TheSameHoweverShapesAreGiven) {
  test::Parsed parsed = twoInputs();
  ASSERT_TRUE(parsed.model.ok()) << parsed.model.status().message();
  const OnnxModel &model = *parsed.model;
  CompileOptions none, dim, shape, both;
  EXPECT_EQ(inputSpec(model, none), "x=?batchx3;m=?batchx?;");
  dim.dims = {{"batch", 2}};
  EXPECT_EQ(inputSpec(model, dim), "x=2x3;m=2x?;");
  shape.shapes = {{"m", {2, 5}}, {"x", {2, 3}}};
  both.dims = {{"batch", 2}};
  both.shapes = {{"m", {2, 5}}};
  EXPECT_EQ(inputSpec(model, shape), "x=2x3;m=2x5;");
  EXPECT_EQ(inputSpec(model, both), inputSpec(model, shape));
}

TEST(InputSpec, TheLastFlagWins) {
  test::Parsed parsed = twoInputs();
  ASSERT_TRUE(parsed.model.ok());
  CompileOptions options;
  options.dims = {{"batch", 2}, {"batch", 7}};
  EXPECT_EQ(inputSpec(*parsed.model, options), "x=7x3;m=7x?;");
}

} // namespace
