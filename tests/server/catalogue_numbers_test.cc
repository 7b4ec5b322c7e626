// The catalogues' numbers and names of ops and dtypes are the contract's.
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/ops/catalogue.h"
#include "server/frontend/native/decode.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {
namespace {

TEST(CatalogueNumbersTest, EveryOpOfTheContractIsServedByItsNumber) {
  std::set<int> served;
  for (const Op op : kAllOps) {
    served.insert(InfoOf(op).number);
    EXPECT_EQ(v1::Op_Name(ToProto(op)), absl::StrCat("OP_", absl::AsciiStrToUpper(Name(op))));
  }
  for (int number = v1::OP_UNSPECIFIED + 1; number <= v1::Op_MAX; ++number) {
    EXPECT_TRUE(served.contains(number)) << v1::Op_Name(static_cast<v1::Op>(number));
  }
}

TEST(CatalogueNumbersTest, EveryDTypeOfTheContractIsServedByItsNumber) {
  std::set<int> served;
  for (const DType dtype : kAllDTypes) {
    served.insert(RowOf(dtype).number);
    EXPECT_EQ(v1::DType_Name(ToProto(dtype)),
              absl::StrCat("DTYPE_", absl::AsciiStrToUpper(Name(dtype))));
  }
  for (int number = v1::DTYPE_UNSPECIFIED + 1; number <= v1::DType_MAX; ++number) {
    EXPECT_TRUE(served.contains(number)) << v1::DType_Name(static_cast<v1::DType>(number));
  }
}

}  // namespace
}  // namespace warpfold
