// A server to which the system gives no more memory: what can be is refused, else it ends with a
// reason.
#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

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
