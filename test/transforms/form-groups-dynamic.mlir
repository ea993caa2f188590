// RUN: gaudi-opt %s --split-input-file --verify-diagnostics --form-groups

func.func @computed_view(%x: tensor<6xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  // expected-error @+1 {{its shape depends on the value of an input (found 'tensor<?x?xf32>', expected a static shape)}}
  %r = graph.reshape %x shape(%s : tensor<2xi64>) : tensor<6xf32> -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
