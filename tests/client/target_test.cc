// The port of a target that names none.
#include "client/cpp/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/connection.h"

namespace warpfold::client {
namespace {

TEST(TargetTest, AnAddressWithoutAPortGetsIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"localhost", "localhost:50051"},
      {"10.0.0.1", "10.0.0.1:50051"},
      {"[::1]", "[::1]:50051"},
      {"::1", "[::1]:50051"},
      {"dns:a", "dns:a:50051"},
      {"dns:///a.b", "dns:///a.b:50051"},
      {"dns://8.8.8.8/a", "dns://8.8.8.8/a:50051"},
      {"dns://8.8.8.8:53/a", "dns://8.8.8.8:53/a:50051"},
      {"ipv4:10.0.0.1", "ipv4:10.0.0.1:50051"},
      {"ipv4:10.0.0.1:7,10.0.0.2", "ipv4:10.0.0.1:7,10.0.0.2:50051"},
      {"ipv4:///10.0.0.1", "ipv4:///10.0.0.1:50051"},
      {"ipv6:[::1],[::2]:7", "ipv6:[::1]:50051,[::2]:7"},
  };
  for (const auto& [target, with_port] : cases) {
    EXPECT_EQ(WithDefaultPort(target), with_port);
    EXPECT_EQ(WithDefaultPort(with_port), with_port);
  }
}

TEST(TargetTest, WhatHasNoPortOrIsNoTargetStays) {
  for (const char* target : {"", ":", "a:", ":7", "a:https", "[::1", "[::1]7",
                             "ipv4:", "dns:", "dns:///", "dns://a", "unix:/run/a", "unix:a",
                             "unix:///run/a", "unix-abstract:a", "vsock:2", "xds:///a", "a/b"}) {
    EXPECT_EQ(WithDefaultPort(target), target);
  }
}

TEST(TargetTest, AUrlOrAPortThatIsNoneIsRefused) {
  for (const char* target : {"http://a:1", "https://a", "grpc://a", "a:65536", "[::1]:70000",
                             "dns:a:99999999999999999999", "ipv4:10.0.0.1:1,10.0.0.2:65536"}) {
    EXPECT_EQ(CheckTarget(target).code(), absl::StatusCode::kInvalidArgument) << target;
  }
  for (const char* target :
       {"", "a", "a:", "a:https", "a:65535", "::70000", "[::1]:65535", "[::1", "dns:///a:1",
        "ipv4:10.0.0.1,10.0.0.2:1", "unix:/run/a:70000", "vsock:2:70000", "xds:///a", "http"}) {
    EXPECT_TRUE(CheckTarget(target).ok()) << target << ": " << CheckTarget(target);
  }
}

TEST(TargetTest, AConnectionGoesThere) {
  // An address of the loopback on which nobody listens; the error names what was tried.
  Connection connection("127.77.0.1", {});
  const CallReply reply =
      connection.Unary(kGetServerInfoMethod, "", {},
                       {.deadline = std::chrono::system_clock::now() + std::chrono::seconds(20)});
  EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(reply.status.error_message(), testing::HasSubstr("127.77.0.1:50051"));
}

}  // namespace
}  // namespace warpfold::client
