//===- Graph.td - all of the graph dialect ---------------------------------===//
include "dialects/graph/Elementwise.td"
include "dialects/graph/Shape.td"
include "dialects/graph/Data.td"
include "dialects/graph/Compute.td"
