//===- MatMulTest.cpp - matmul and batch_matmul kernels -------------------===//
#include "test/target/cpu/kernels/KernelTest.h"

using namespace mlir;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;
using gaudi::graph::BinaryKind;
using gaudi::graph::HostTensor;
using gaudi::graph::UnaryKind;
namespace graph = gaudi::graph;

namespace {

class MatMulTest : public KernelTest {
protected:
  static Value matmul(OpBuilder &b, Location loc, Value x, Value y, bool transposeLhs = false,
                      bool transposeRhs = false) {
    return graph::MatMulOp::create(b, loc, x, y, transposeLhs, transposeRhs);
  }
  /// Sums of `k` products of values in [-1, 1] carry a rounding error of about sqrt(k) ulp; 16-bit results round to
  /// 2^-9 (bf16) or 2^-11 (f16).
  Tolerance toleranceOf(int64_t k, Type element) {
    double relative = element.isF32() ? 1e-5 : element.isF16() ? 1e-3 : 8e-3;
    return {1e-6 * (1 + std::sqrt(double(k))) + (element.isF32() ? 0 : relative), relative};
  }
  void product(int64_t m, int64_t k, int64_t n, Type element, bool transposeRhs = false, bool transposeLhs = false) {
    SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (transposeRhs ? " B^T" : ""));
    auto lhs = transposeLhs ? type({k, m}, element) : type({m, k}, element);
    auto rhs = transposeRhs ? type({n, k}, element) : type({k, n}, element);
    check(
        "matmul", {{lhs}, {rhs, true}},
        [&](OpBuilder &b, Location loc, ValueRange a) {
          return matmul(b, loc, a[0], a[1], transposeLhs, transposeRhs);
        },
        toleranceOf(k, element));
  }
};

TEST_F(MatMulTest, Shapes) {
  for (auto [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                            {1, 7, 5},
                                                            {2, 3, 33},
                                                            {3, 16, 64},
                                                            {5, 31, 97},
                                                            {12, 8, 32},
                                                            {13, 5, 31},
                                                            {25, 17, 130},
                                                            {37, 64, 48},
                                                            {128, 9, 40},
                                                            {1, 40, 257},
                                                            {4, 24, 129},
                                                            {17, 2, 2}})
    product(m, k, n, f32());
}

TEST_F(MatMulTest, EmptyDims) {
  product(0, 3, 5, f32());
  product(7, 0, 5, f32());
}

TEST_F(MatMulTest, TransposedOperands) {
  product(13, 19, 37, f32(), /*transposeRhs=*/true);
  product(13, 19, 37, f32(), /*transposeRhs=*/false, /*transposeLhs=*/true);
  product(5, 3, 70, f32(), true, true);
  product(5, 3, 70, bf16(), true, true);
}

TEST_F(MatMulTest, SixteenBitStorage) {
  for (Type element : {f16(), bf16()})
    for (auto [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 7, 5}, {3, 33, 64}, {14, 40, 31}, {29, 16, 96}})
      product(m, k, n, element);
}

TEST_F(MatMulTest, ManyWorkersCutRows) {
  threads = 64;
  product(61, 6, 70, f32());
  product(128, 4, 32, f32());
}

TEST_F(MatMulTest, LargeEnoughForEveryOrder) {
  // Small caches make small problems take the orders of large ones; the evaluator is too slow for real sizes.
  l2Bytes = 32 << 10;
  product(130, 40, 70, f32()); // rows outer
  product(131, 33, 200, bf16());
  l2Bytes = 16 << 10;
  product(40, 300, 40, f32()); // K in chunks
  product(61, 257, 35, f16());
  product(61, 300, 70, f32(), false, /*transposeLhs=*/true);
}

TEST_F(MatMulTest, LeadingDimsJoinRows) {
  check("matmul", {{type({2, 3, 5, 7})}, {type({7, 19}), true}},
        [&](OpBuilder &b, Location loc, ValueRange a) { return matmul(b, loc, a[0], a[1]); });
}

TEST_F(MatMulTest, BiasGeluResidual) {
  for (int64_t n : {32, 37, 96})
    check("matmul", {{type({3, 13, 11})}, {type({11, n}), true}, {type({n}), true}, {type({3, 13, n})}},
          [&](OpBuilder &b, Location loc, ValueRange a) {
            Value x = binary(b, loc, BinaryKind::add, matmul(b, loc, a[0], a[1]), a[2]);
            return binary(b, loc, BinaryKind::add, unary(b, loc, UnaryKind::gelu, x), a[3]);
          });
}

TEST_F(MatMulTest, ResidualInPlaceWithTails) {
  check("matmul", {{type({29, 11})}, {type({11, 67}), true}, {type({1, 67}), true}, {type({29, 67})}},
        [&](OpBuilder &b, Location loc, ValueRange a) {
          Value x = binary(b, loc, BinaryKind::add, a[3], matmul(b, loc, a[0], a[1]));
          return binary(b, loc, BinaryKind::mul, x, a[2]);
        });
}

TEST_F(MatMulTest, SelectCastAndScalars) {
  check("matmul", {{type({14, 9})}, {type({9, 35}), true}, {type({14, 35}, i1())}, {type({1})}},
        [&](OpBuilder &b, Location loc, ValueRange a) -> Value {
          Value x = matmul(b, loc, a[0], a[1]);
          auto half = DenseElementsAttr::get(type({}), 0.5f);
          Value c = graph::ConstantOp::create(b, loc, type({}), half);
          Value y = binary(b, loc, BinaryKind::mul, x, c);
          Value z = graph::SelectOp::create(b, loc, a[2], y, a[3]);
          return graph::CastOp::create(b, loc, z, f16());
        },
        {1e-3, 1e-3});
}

TEST_F(MatMulTest, NonFiniteValuesStayInTheirRowsAndColumns) {
  auto poison = [](HostTensor &t) {
    t.floats()[3] = std::nan("");
    t.floats()[17] = INFINITY;
  };
  check("matmul", {{type({6, 8}), false, poison}, {type({8, 45}), true}, {type({6, 45})}},
        [&](OpBuilder &b, Location loc, ValueRange a) {
          return unary(b, loc, UnaryKind::relu, binary(b, loc, BinaryKind::add, matmul(b, loc, a[0], a[1]), a[2]));
        });
}

TEST_F(MatMulTest, BatchShapes) {
  for (bool transposed : {false, true})
    for (auto [batch, m, k, n] : std::vector<std::array<int64_t, 4>>{{1, 1, 1, 1},
                                                                     {3, 5, 7, 11},
                                                                     {2, 13, 16, 32},
                                                                     {4, 25, 33, 70},
                                                                     {2, 1, 40, 64},
                                                                     {1, 12, 0, 5},
                                                                     {3, 0, 4, 5}}) {
      SCOPED_TRACE(testing::Message() << batch << "x" << m << "x" << n << "x" << k << (transposed ? " B^T" : ""));
      auto rhs = transposed ? type({batch, n, k}) : type({batch, k, n});
      check("batch_matmul", {{type({batch, m, k})}, {rhs}},
            [&](OpBuilder &b, Location loc, ValueRange a) { return matmul(b, loc, a[0], a[1], false, transposed); });
    }
}

TEST_F(MatMulTest, BatchBroadcastsBothWays) {
  check("batch_matmul", {{type({2, 1, 5, 7})}, {type({3, 7, 33})}},
        [&](OpBuilder &b, Location loc, ValueRange a) { return matmul(b, loc, a[0], a[1]); });
  check("batch_matmul", {{type({4, 6})}, {type({2, 6, 33})}},
        [&](OpBuilder &b, Location loc, ValueRange a) { return matmul(b, loc, a[0], a[1]); });
  check("batch_matmul", {{type({2, 7, 5})}, {type({1, 9, 7})}},
        [&](OpBuilder &b, Location loc, ValueRange a) { return matmul(b, loc, a[0], a[1], true, true); });
}

TEST_F(MatMulTest, BatchSixteenBitWithEpilogue) {
  for (Type element : {f16(), bf16()})
    check("batch_matmul", {{type({2, 15, 9}, element)}, {type({2, 37, 9}, element)}, {type({2, 15, 37}, element)}},
          [&](OpBuilder &b, Location loc, ValueRange a) {
            return binary(b, loc, BinaryKind::add, matmul(b, loc, a[0], a[1], false, true), a[2]);
          },
          {2e-2, 1e-2});
}

} // namespace
