// A server to which the system gives no more memory: what can be is refused, else it ends with a
// reason.
#include <sys/resource.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold::e2e {
namespace {

class MemoryTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer takes all addresses at once";
#endif
    server_ = ServerProcess::Start({"--backend=cpu"}, log_file());
    ASSERT_NE(server_, nullptr);
    client_ = std::make_unique<Client>(*server_);
  }
  // The server gets no more addresses than it has, and so many.
  void LimitMemory(int more_mib) const {
    const double has_mib = server_->MemoryMib("VmSize:");
    const rlim_t bytes = static_cast<rlim_t>(has_mib + more_mib) << 20;
    const rlimit limit{bytes, bytes};
    ASSERT_EQ(prlimit(server_->pid(), RLIMIT_AS, &limit, nullptr), 0);
  }
  std::string Log() const {
    std::ifstream file(log_file());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;

 private:
  std::string log_file() const { return folder_.Path("log"); }

  const UniqueTempFolder folder_;
};

TEST_F(MemoryTest, WhatARequestAsksForIsRefusedAndTheServerGoesOn) {
  LimitMemory(160);
  // Scratch memory for the statistics of half a million outputs, of which few bytes are sent.
  v1::ReduceRequest wide = F32Request({2, 1 << 19, 2}, v1::OP_VAR);
  wide.add_ops()->set_op(v1::OP_MAX);
  wide.add_ops()->set_op(v1::OP_L1_NORM);
  wide.add_axes(0);
  wide.add_axes(2);
  wide.set_data(std::string(std::size_t{2} << 22, '\0'));
  v1::ReduceResponse response;
  grpc::Status status = client_->Reduce(wide, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_EQ(status.error_message(), "memory: the system has none for the request at the moment");
  EXPECT_NE(status.error_details().find("google.rpc.RetryInfo"), std::string::npos)
      << "it may be tried again";

  const auto tensors = v1::TensorService::NewStub(
      std::shared_ptr<grpc::Channel>(&client_->channel(), [](grpc::Channel*) {}));
  grpc::ClientContext context;
  v1::CreateTensorRequest create;
  create.mutable_tensor()->set_dtype(v1::DTYPE_F32);
  create.mutable_tensor()->add_shape(1 << 26);
  v1::CreateTensorResponse created;
  status = tensors->CreateTensor(&context, create, &created);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();

  EXPECT_TRUE(client_->Reduce(F32Ones(1000), &response).ok());
  EXPECT_EQ(FirstFloat(response), 1000);
  // The place goes when gRPC is done with the answer, a moment after the client has it.
  EXPECT_EQ(AwaitMetric(server_->metrics_port(), "warpfold_requests_in_flight", 0), 0);
}

// gRPC's own memory for a message cannot be refused any more.
TEST_F(MemoryTest, WhatCannotBeRefusedEndsTheServerWithALine) {
  LimitMemory(16);
  v1::ReduceResponse response;
  EXPECT_FALSE(client_->Reduce(F32Ones((64 << 20) / 4), &response).ok());
  EXPECT_EQ(server_->Wait(), 70);
  EXPECT_NE(Log().find("warpfold-server: out of memory: ends with exit code 70\n"),
            std::string::npos)
      << Log();
}

}  // namespace
}  // namespace warpfold::e2e
