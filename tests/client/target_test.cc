// The port of a target that names none, and what is no target.
#include "client/cpp/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/connection.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/grpcpp.h"
#include "tests/temp_folder.h"

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

TEST(TargetTest, WhatGrpcWouldTakeForSomethingElseIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is empty"},
      {"http://a:1", "'http://a:1' is a URL; a target has no http://: a:1"},
      {"https://a", "'https://a' is a URL; a target has no https://: a"},
      {"grpc://a", "'grpc://a' is a URL; a target has no grpc://: a"},
      {"a:65536", "'a:65536': port 65536 is above 65535"},
      {"[::1]:70000", "'[::1]:70000': port 70000 is above 65535"},
      {"dns:a:99999999999999999999",
       "'dns:a:99999999999999999999': port 99999999999999999999 is above 65535"},
      {"ipv4:10.0.0.1:1,10.0.0.2:65536",
       "'ipv4:10.0.0.1:1,10.0.0.2:65536': port 65536 is above 65535"},
      {"a:39173abc", "'a:39173abc': port '39173abc' is not a number from 0 to 65535"},
      {"a:39173 0", "'a:39173 0': port '39173 0' is not a number from 0 to 65535"},
      {"a:5005x", "'a:5005x': port '5005x' is not a number from 0 to 65535"},
      {"a:-1", "'a:-1': port '-1' is not a number from 0 to 65535"},
      {"a:+1", "'a:+1': port '+1' is not a number from 0 to 65535"},
      {"[::1]:x", "'[::1]:x': port 'x' is not a number from 0 to 65535"},
      {"ipv4:10.0.0.1:1x", "'ipv4:10.0.0.1:1x': port '1x' is not a number from 0 to 65535"},
      {"a:", "'a:': the port is empty; without the ':' it is 50051"},
      {"dns:///a:", "'dns:///a:': the port is empty; without the ':' it is 50051"},
      {"a:39173/b", "'a:39173/b': has the path '/b'; a target is host or host:port"},
      {"a/", "'a/': has the path '/'; a target is host or host:port"},
      {"dns:///a:1/b", "'dns:///a:1/b': has the path '/b'; a target is host or host:port"},
      {"/run/a.sock", "'/run/a.sock' is a path; a UNIX socket there is unix:/run/a.sock"},
      {"./a:7", "'./a:7' is a path; a UNIX socket there is unix:./a:7"},
      {"../a", "'../a' is a path; a UNIX socket there is unix:../a"},
      {":", "':': names no host"},
      {":7", "':7': names no host"},
      {"dns:", "'dns:': names no host"},
      {"ipv4:10.0.0.1,", "'ipv4:10.0.0.1,': names no host"},
  };
  for (const auto& [target, problem] : cases) {
    const absl::Status refused = CheckTarget(target);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_EQ(refused.message(), problem);
    const absl::Status connected = Client::Connect(target, {}).status();
    EXPECT_EQ(connected.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_EQ(connected.message(), "target: " + problem);
  }
  for (const char* target :
       {"a", "a:https", "a:65535", "::70000", "::1", "[::1]:65535", "[::1", "dns:///a:1",
        "dns://8.8.8.8:53/a", "ipv4:10.0.0.1,10.0.0.2:1", "unix:/run/a:70000", "unix:///run/a",
        "unix-abstract:a:b", "vsock:2:70000", "xds:///a", "xds:a", "google-c2p:///a", "http"}) {
    EXPECT_TRUE(CheckTarget(target).ok()) << target << ": " << CheckTarget(target);
  }
}

TEST(TargetTest, AUnixSocketHasNoTls) {
  const UniqueTempFolder folder;
  const std::string target = "unix:" + folder.Path("a.sock");
  grpc::CallbackGenericService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  ClientOptions options;
  options.connection.credentials = grpc::SslCredentials({});
  options.retry.attempts_max = 1;
  const absl::Status refused = Client::Connect(target, options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              testing::EndsWith("; a server has no TLS at its UNIX sockets: connect without"));
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
