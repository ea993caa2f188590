//===- ScanTest.cpp - the pre-scan that cuts weights out ------------------===//
#include "lib/Onnx/Scan.h"
#include "test/import/ModelBuilder.h"

using namespace gaudi;
using namespace gaudi::test;

static ::onnx::ModelProto bigModel(char fill = 'x') {
  auto model = emptyModel();
  addTensor(model, "w", {16, 32})->set_raw_data(std::string(2048, fill));
  return model;
}

static Skeleton scan(const std::string &bytes) {
  auto skeleton = scanModel(std::as_bytes(std::span(bytes)), {.maxNodes = 100});
  EXPECT_TRUE(skeleton.ok()) << skeleton.status().message();
  return skeleton.take();
}

TEST(Scan, CutsLargeRawData) {
  std::string bytes = bigModel().SerializeAsString();
  Skeleton skeleton = scan(bytes);
  ASSERT_EQ(skeleton.cuts.size(), 1u);
  EXPECT_EQ(skeleton.cuts[0].length, 2048u);
  EXPECT_EQ(bytes.substr(skeleton.cuts[0].offset, 2048), std::string(2048, 'x'));
  EXPECT_LT(skeleton.bytes.size(), 200u);
}

TEST(Scan, KeepsSmallData) {
  auto model = emptyModel();
  addTensor(model, "w", {256})->set_raw_data(std::string(1024, 'x'));
  EXPECT_TRUE(scan(model.SerializeAsString()).cuts.empty());
}

TEST(Scan, CutsInsideSubgraphsAndAttributes) {
  auto model = emptyModel();
  auto *node = addNode(*model.mutable_graph(), "if", "If", {"c"}, {"y"});
  auto *branch = node->add_attribute();
  branch->set_name("then_branch");
  auto *inner = addNode(*branch->mutable_g(), "k", "Constant", {}, {"k"});
  inner->add_attribute()->mutable_t()->set_raw_data(std::string(5000, 'k'));
  EXPECT_EQ(scan(model.SerializeAsString()).cuts.size(), 1u);
}

/// A marker written by an attacker would point into the side table; the scanner must drop it.
TEST(Scan, DropsForgedMarkers) {
  auto model = bigModel();
  auto *victim = addTensor(model, "v", {16, 32});
  victim->mutable_unknown_fields()->AddVarint(kMarkerField, 0);
  EXPECT_EQ(errorOf(parse(model)), "'v': has 0 bytes, shape [16,32] f32 needs 2048");
}

static Parsed largeModel(char fill, const char *documentation = "") {
  auto model = emptyModel();
  model.mutable_graph()->set_doc_string(documentation);
  addTensor(model, "w", {2000})->set_raw_data(std::string(8000, fill));
  return parse(model);
}

TEST(Scan, SkeletonDigestIgnoresWeightsAndDocumentation) {
  auto a = largeModel('a'), b = largeModel('b', "longer than before");
  EXPECT_EQ(a.model->skeletonDigest(), b.model->skeletonDigest());
  EXPECT_FALSE(a.model->weightsDigest() == b.model->weightsDigest());
}

TEST(Scan, LayoutDigestIsWhereWeightsLie) {
  auto named = [](const char *producer, char fill) {
    auto model = emptyModel();
    model.set_producer_name(producer); // stands before the graph in the file
    addTensor(model, "w", {2000})->set_raw_data(std::string(8000, fill));
    return parse(model);
  };
  auto a = named("a", 'a'), fineTuned = named("a", 'b'), moved = named("longer", 'a');
  EXPECT_EQ(a.model->layoutDigest(), fineTuned.model->layoutDigest());
  EXPECT_EQ(a.model->skeletonDigest(), moved.model->skeletonDigest());
  EXPECT_FALSE(a.model->layoutDigest() == moved.model->layoutDigest());
}

/// Tensors up to 4 KiB become code: their bytes are part of the program's identity, although the scanner cuts them.
TEST(Scan, SkeletonDigestHasSmallTensors) {
  auto a = parse(bigModel('a')), b = parse(bigModel('b'));
  EXPECT_FALSE(a.model->skeletonDigest() == b.model->skeletonDigest());
  EXPECT_EQ(a.model->weightsDigest(), b.model->weightsDigest());
}

TEST(Scan, EveryTruncationIsAnError) {
  std::string bytes = bigModel().SerializeAsString();
  for (size_t length = 0; length < bytes.size(); ++length) {
    // A cut between two top-level fields leaves a valid, but graph-less, message.
    std::string error = errorOf(parse(bytes.substr(0, length)));
    EXPECT_NE(error, "ok") << length;
  }
  size_t graphEnd = bytes.size() - 4; // the opset import follows; the file cannot tell that there was more
  EXPECT_EQ(errorOf(parse(bytes.substr(0, 1000))), "truncated at byte 1000 of " + std::to_string(graphEnd));
}

TEST(Scan, RecognisesWhatIsNotOnnx) {
  EXPECT_EQ(errorOf(parse(std::string())), "not an ONNX model: file is empty");
  EXPECT_EQ(errorOf(parse(std::string("\xff\xd8\xff\xe0"))), "not an ONNX protobuf (starts with FF D8 FF)");
}

TEST(Scan, LimitsNesting) {
  auto nested = [](int depth) {
    auto model = emptyModel();
    ::onnx::GraphProto *graph = model.mutable_graph();
    for (int i = 0; i < depth; ++i) {
      auto *attribute = addNode(*graph, "if", "If", {}, {})->add_attribute();
      attribute->set_name("then_branch");
      graph = attribute->mutable_g();
    }
    return errorOf(parse(model));
  };
  EXPECT_EQ(nested(31), "ok");
  EXPECT_EQ(nested(32), "subgraphs nested deeper than 31 (protobuf recursion limit)");
}

TEST(Scan, LimitsNodes) {
  auto model = emptyModel();
  for (int i = 0; i < 5; ++i)
    addNode(*model.mutable_graph(), "n", "Relu", {}, {});
  ReadOptions options;
  options.maxNodes = 4;
  EXPECT_EQ(errorOf(parse(model, {}, options)), "more than 4 nodes");
}
