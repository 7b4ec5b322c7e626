// Where `warpfold watch` looks for the metrics of what --server names.
#include "client/cpp/cli/metrics_url.h"

#include <gtest/gtest.h>

namespace warpfold::client {
namespace {

TEST(MetricsUrlTest, TheHostOfTheServerHasThePage) {
  for (const char* server : {"a:50051", "a", "dns:a:50051", "dns:a"}) {
    const auto url = MetricsUrl("", server, false);
    ASSERT_TRUE(url.ok()) << server << ": " << url.status();
    EXPECT_EQ(url->text(), "http://a:9464/metrics") << server;
  }
  EXPECT_EQ(MetricsUrl("", "ipv4:10.0.0.1:50051", false)->text(), "http://10.0.0.1:9464/metrics");
  for (const char* server : {"[::1]:50051", "[::1]", "ipv6:[::1]:50051"}) {
    EXPECT_EQ(MetricsUrl("", server, false)->text(), "http://[::1]:9464/metrics") << server;
  }
}

TEST(MetricsUrlTest, WithTlsItIsReadByTls) {
  EXPECT_EQ(MetricsUrl("", "a:50051", true)->text(), "https://a:9464/metrics");
  EXPECT_EQ(MetricsUrl("http://b:1", "a:50051", true)->text(), "http://b:1/metrics");
}

TEST(MetricsUrlTest, WhatIsNotOneHostNeedsThePagesOwnUrl) {
  for (const char* server : {"dns:///a:1", "ipv4:10.0.0.1:1,10.0.0.2:1", "unix:/run/a", "unix:a",
                             "vsock:2:50051", ":50051", ""}) {
    const auto url = MetricsUrl("", server, false);
    EXPECT_EQ(url.status().code(), absl::StatusCode::kInvalidArgument) << server;
    EXPECT_TRUE(MetricsUrl("http://a:1", server, false).ok()) << server;
  }
}

}  // namespace
}  // namespace warpfold::client
