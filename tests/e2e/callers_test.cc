// Callers of one server that want all of it: each holds its share of what is resident.
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/channel.h"
#include "tests/e2e/served_test.h"
#include "tests/e2e/tensor_fixture.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

class CallersTest : public ::testing::Test {
 protected:
  // Their tokens, and the hashes of these.
  static constexpr char kGreedy[] = "token-of-the-first-one";
  static constexpr char kModest[] = "token-of-the-second-one";
  static constexpr char kGreedyLine[] =
      "caller=greedy scopes=reduce,resident token-sha256="
      "90260173f2d4ac9ea6aee921c8ad8bba4429f84eb02d9c3ebac9abc133438ac2";
  static constexpr char kModestLine[] =
      "caller=modest scopes=reduce,resident token-sha256="
      "9bf45c6eb6b045c472a0532f03ed2c8ed7a39fba4af6bc96b2fd9a9b81a68c43";

  void WriteCallers(const std::string& greedys_quotas = "") const {
    folder_.Write("callers",
                  absl::StrCat(kGreedyLine, " ", greedys_quotas, "\n", kModestLine, "\n"));
  }
  void Start(std::vector<std::string> flags) {
    flags.push_back("--callers-file=" + folder_.Path("callers"));
    server_ = ServerProcess::Start(flags, folder_.Path("log"));
    ASSERT_NE(server_, nullptr);
    tensors_ = v1::TensorService::NewStub(ConnectTo(server_->grpc_port()));
  }
  grpc::Status Create(const std::string& token, std::string* id = nullptr) const {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token);
    v1::CreateTensorRequest request;
    *request.mutable_tensor() = F32Spec({256});
    v1::CreateTensorResponse response;
    const grpc::Status status = tensors_->CreateTensor(&context, request, &response);
    if (id != nullptr) *id = response.tensor_id();
    return status;
  }
  // As many as it gets.
  int Fill(const std::string& token) const {
    int count = 0;
    while (Create(token).ok()) ++count;
    return count;
  }
  // Sends SIGHUP and waits until its `result` is counted.
  void Reload(const std::string& result) const {
    const std::string series =
        absl::StrCat("warpfold_config_reloads_total{result=\"", result, "\"}");
    const double before = Metric(series);
    server_->Signal(SIGHUP);
    ASSERT_EQ(AwaitMetric(server_->metrics_port(), series, before + 1), before + 1);
  }
  double Metric(const std::string& series) const {
    return MetricValue(MetricsPage(server_->metrics_port()), series);
  }

  const UniqueTempFolder folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::TensorService::Stub> tensors_;
};

TEST_F(CallersTest, OneCallerLeavesTensorsToAnother) {
  WriteCallers();
  Start({"--max-resident-bytes=16KiB"});
  EXPECT_EQ(Fill(kGreedy), 8);
  const grpc::Status refused = Create(kGreedy);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "the caller holds its share of resident bytes (--max-resident-bytes): it has 8192, all "
            "callers 8192 of 16384, and asks for 1024 more; DeleteTensor frees some");
  EXPECT_EQ(Fill(kModest), 4);
  EXPECT_EQ(Metric("warpfold_admission_refusals_total{reason=\"caller_share\"}"), 3);
  EXPECT_EQ(Metric("warpfold_admission_refusals_total{reason=\"resident\"}"), 0);
}

TEST_F(CallersTest, AQuotaTakesThePlaceOfTheShare) {
  WriteCallers("max-resident-bytes=12KiB");
  Start({"--max-resident-bytes=16KiB"});
  EXPECT_EQ(Fill(kGreedy), 12);
  EXPECT_EQ(Create(kGreedy).error_message(),
            "the caller holds its quota of resident bytes (max-resident-bytes in the callers' "
            "file): it has 12288 of 12288, and asks for 1024 more; DeleteTensor frees some");
  EXPECT_EQ(Fill(kModest), 2) << "a share of what is left";
  // A file that is wrong changes nothing.
  WriteCallers("max-resident-bytes=14TB");
  Reload("ok");
  WriteCallers("max-resident-bytes=lots");
  Reload("refused");
  EXPECT_TRUE(Create(kGreedy).ok());
  WriteCallers("max-resident-bytes=1KiB");
  Reload("ok");
  EXPECT_EQ(Create(kGreedy).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(CallersTest, AQuotaThatIsNoneEndsTheStart) {
  WriteCallers("max-resident-bytes=lots");
  std::string errors;
  EXPECT_EQ(RunServerBinary({"--callers-file=" + folder_.Path("callers"),
                             "--listen-address=127.0.0.1:0", "--metrics-address=none"},
                            &errors),
            1);
  EXPECT_NE(errors.find("callers: line 1: max-resident-bytes: is no size"), std::string::npos)
      << errors;
  EXPECT_EQ(errors.find("lots"), std::string::npos) << errors;
}

}  // namespace
}  // namespace warpfold::e2e
