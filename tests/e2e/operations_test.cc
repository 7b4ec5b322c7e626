// What operators rely on: health, reflection, GetServerInfo, the metrics page, start-up errors,
// draining.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kService[] = "warpfold.v1.ReductionService";
constexpr char kTensorService[] = "warpfold.v1.TensorService";
constexpr char kInferenceService[] = "inference.GRPCInferenceService";

// HealthCheckRequest{service}, by hand: the health proto is not among the installed headers.
std::string HealthRequest(const std::string& service) {
  return std::string("\x0a") + static_cast<char>(service.size()) + service;
}
constexpr char kServing[] = "\x08\x01";
constexpr char kNotServing[] = "\x08\x02";

class OperationsTest : public ServedTest {};

TEST_F(OperationsTest, HealthServesItsSixNames) {
  for (const std::string& service :
       {std::string(), std::string(kService), std::string(kTensorService),
        std::string(kInferenceService), std::string("liveness"), std::string("readiness")}) {
    const RawReply reply = RawCall(client().channel(), kHealthCheck, HealthRequest(service));
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    EXPECT_EQ(reply.bytes, kServing);
  }
  EXPECT_EQ(RawCall(client().channel(), kHealthCheck, HealthRequest("other")).status.error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(OperationsTest, ReflectionListsTheServices) {
  // ServerReflectionRequest{list_services: "*"}.
  const RawReply reply =
      RawCall(client().channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              "\x3a\x01*");
  EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_NE(reply.bytes.find(kService), std::string::npos);
  EXPECT_NE(reply.bytes.find(kTensorService), std::string::npos);
  EXPECT_NE(reply.bytes.find(kInferenceService), std::string::npos);
  EXPECT_NE(reply.bytes.find("grpc.health.v1.Health"), std::string::npos);
}

TEST_F(OperationsTest, ReflectionGivesTheContract) {
  // ServerReflectionRequest{file_containing_symbol: kService}.
  const std::string symbol = kService;
  const RawReply reply =
      RawCall(client().channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              std::string("\x22") + static_cast<char>(symbol.size()) + symbol);
  EXPECT_TRUE(reply.status.ok());
  EXPECT_NE(reply.bytes.find("ReduceStreamRequest"), std::string::npos);
}

TEST_F(OperationsTest, ServerInfoTellsLimitsOpsAndDTypes) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(client().stub().GetServerInfo(&context, {}, &info).ok());
  EXPECT_FALSE(info.version().empty());
  EXPECT_TRUE(info.backend() == "cpu" || info.backend() == "cuda") << info.backend();
  ASSERT_GE(info.devices_size(), 1);
  EXPECT_FALSE(info.devices(0).model().empty());
  EXPECT_EQ(info.limits().max_message_bytes(), 64 << 20);
  EXPECT_EQ(info.limits().max_rank(), 32);
  EXPECT_EQ(info.limits().max_batch_requests(), 256);
  EXPECT_EQ(info.limits().max_batch_bytes(), 1 << 20);
  EXPECT_EQ(info.ops_size(), v1::Op_descriptor()->value_count() - 1);  // but for OP_UNSPECIFIED
  ASSERT_EQ(info.op_infos_size(), info.ops_size());
  for (int i = 0; i < info.ops_size(); ++i) {
    const v1::OpInfo& row = info.op_infos(i);
    EXPECT_EQ(row.op(), info.ops(i));
    EXPECT_EQ(row.rules_size(), info.dtypes_size());
    EXPECT_FALSE(row.summary().empty());
    EXPECT_EQ(row.trailing_dims(), 0);
    EXPECT_EQ(row.params(), row.op() == v1::OP_VAR || row.op() == v1::OP_STD ? "variance" : "");
  }
  ASSERT_EQ(info.source_roles_size(), 1);
  EXPECT_EQ(info.source_roles(0), v1::Source::VALUES);
  EXPECT_EQ(info.dtypes_size(), v1::DType_MAX);
}

TEST_F(OperationsTest, TheMetricsPageSaysReadyAndItsDevices) {
  const std::string page = MetricsPage(server().metrics_port());
  EXPECT_EQ(MetricValue(page, "warpfold_ready"), 1);
  EXPECT_GE(MetricValue(page, "warpfold_devices{state=\"serving\"}"), 1);
  EXPECT_EQ(MetricValue(page, "warpfold_devices{state=\"lost\"}"), 0);
}

TEST_F(OperationsTest, TheMetricsPageCountsARequestInAllItsSeries) {
  const int port = server().metrics_port();
  const std::string one =
      "warpfold_requests_total{code=\"OK\",dtype=\"f32\",method=\"Reduce\",op=\"max\"}";
  const std::string handled =
      "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Reduce\",grpc_service=\"warpfold."
      "v1.ReductionService\",grpc_type=\"unary\"}";
  const std::string before = MetricsPage(port);
  v1::ReduceResponse response;
  ASSERT_TRUE(client().Reduce(F32Ones(1000, v1::OP_MAX), &response).ok());
  const std::string after = MetricsPage(port);
  const auto grown = [&](const std::string& series) {
    return MetricValue(after, series) - MetricValue(before, series);
  };
  EXPECT_EQ(grown(one), 1);
  EXPECT_EQ(grown(handled), 1);
  EXPECT_EQ(grown("warpfold_request_duration_seconds_count{method=\"Reduce\"}"), 1);
  EXPECT_EQ(grown("warpfold_payload_bytes_total{dtype=\"f32\",op_class=\"max\"}"), 4000);
  for (const char* stage :
       {"receive", "queue", "host_to_device", "kernel", "device_to_host", "reply"}) {
    EXPECT_EQ(grown(std::string("warpfold_stage_duration_seconds_count{stage=\"") + stage + "\"}"),
              1)
        << stage;
  }
}

TEST_F(OperationsTest, RefusalsAreCountedWithTheirCode) {
  const std::string series =
      "warpfold_requests_total{code=\"InvalidArgument\",dtype=\"none\",method=\"Reduce\",op="
      "\"none\"}";
  const double before = MetricValue(MetricsPage(server().metrics_port()), series);
  v1::ReduceResponse response;
  EXPECT_FALSE(client().Reduce({}, &response).ok());
  EXPECT_EQ(MetricValue(MetricsPage(server().metrics_port()), series), before + 1);
}

TEST_F(OperationsTest, LabelsDoNotGrowWithWhatClientsSend) {
  const auto lines = [](const std::string& page) {
    return std::count(page.begin(), page.end(), '\n');
  };
  v1::ReduceResponse response;
  EXPECT_TRUE(client().Reduce(F32Ones(1), &response).ok());
  const std::string before = MetricsPage(server().metrics_port());
  for (int i = 0; i < 20; ++i) {
    const std::string name = "/warpfold.v1.ReductionService/Unknown" + std::to_string(i);
    RawCall(client().channel(), name, "");
    v1::ReduceRequest request = F32Ones(1, static_cast<v1::Op>(1000 + i));
    request.set_request_id(std::to_string(i));
    client().Reduce(request, &response);
  }
  EXPECT_EQ(lines(MetricsPage(server().metrics_port())), lines(before));
}

TEST(StartTest, BadConfigurationExitsWithTwoAndNamesTheField) {
  for (const std::string& flag :
       {std::string("--staging-buffer-bytes=5"), std::string("--workers-per-device=-1"),
        std::string("--backend=abacus"), std::string("--no-such-flag")}) {
    std::string errors;
    EXPECT_EQ(RunServerBinary({flag, "--listen-address=127.0.0.1:0"}, &errors), 2) << flag;
    EXPECT_NE(errors.find(flag.substr(2, flag.find('=') - 2)), std::string::npos) << errors;
  }
}

TEST(StartTest, CheckConfigSaysWhetherAConfigurationIsGood) {
  std::string errors;
  EXPECT_EQ(RunServerBinary({"--check-config", "--workers-per-device=3"}, &errors), 0) << errors;
  EXPECT_EQ(RunServerBinary({"--check-config", "--workers-per-device=-3"}, &errors), 2);
  EXPECT_NE(errors.find("workers-per-device: -3"), std::string::npos) << errors;
  errors.clear();
  EXPECT_EQ(RunServerBinary({"--check-config", "--config=/no/such/file"}, &errors), 2);
  EXPECT_NE(errors.find("/no/such/file"), std::string::npos) << errors;
}

TEST(StartTest, OptionsAboveTheMemoryExitWithOneAndTheSum) {
  std::string errors;
  EXPECT_EQ(RunServerBinary({"--backend=cpu", "--max-bytes-in-flight=1024TiB",
                             "--listen-address=127.0.0.1:0", "--metrics-address=none"},
                            &errors),
            1);
  EXPECT_NE(errors.find("256 MiB process + "), std::string::npos) << errors;
  EXPECT_NE(errors.find("2 x --max-bytes-in-flight 1073741824 MiB"), std::string::npos) << errors;
  EXPECT_NE(errors.find(", which is above 0.85 of "), std::string::npos) << errors;
}

TEST(StartTest, ATakenPortExitsWithOneAndNamesIt) {
  const auto server = ServerProcess::Start();
  ASSERT_NE(server, nullptr);
  std::string errors;
  const std::string grpc = "127.0.0.1:" + std::to_string(server->grpc_port());
  EXPECT_EQ(RunServerBinary({"--listen-address=" + grpc, "--metrics-address=none"}, &errors), 1);
  const std::string held = ": held by warpfold-server (pid " + std::to_string(server->pid()) + ")";
  EXPECT_NE(errors.find("listen-address: cannot listen on " + grpc + held), std::string::npos)
      << errors;
  errors.clear();
  const std::string metrics = "127.0.0.1:" + std::to_string(server->metrics_port());
  EXPECT_EQ(
      RunServerBinary({"--listen-address=127.0.0.1:0", "--metrics-address=" + metrics}, &errors),
      1);
  EXPECT_NE(errors.find("metrics-address: cannot listen on " + metrics + held), std::string::npos)
      << errors;
}

TEST(StartTest, TooFewThreadsExitWithOneAndOneLineThatSaysSo) {
  std::vector<std::string> limited{"prlimit", "--nproc=1"};
  if (geteuid() ==
      0) {  // whom no limit holds: as a user of its own, who may still reach the binary
    limited = {"setpriv",
               "--reuid=64999",
               "--clear-groups",
               "--inh-caps=+dac_override",
               "--ambient-caps=+dac_override",
               "prlimit",
               "--nproc=20"};
  }
  const std::vector<std::string> flags{"--backend=cpu", "--listen-address=127.0.0.1:0",
                                       "--metrics-address=none"};
  std::string errors;
  EXPECT_EQ(RunServerBinaryBy(limited, flags, &errors), 1);
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
  EXPECT_NE(errors.find("threads: the system lets this process start"), std::string::npos)
      << errors;
}

TEST(StartTest, ThreadsThatTheAddressSpaceHoldsNoStacksForNameItsLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes all addresses at once";
#endif
  const std::vector<std::string> flags{"--backend=cpu", "--listen-address=127.0.0.1:0",
                                       "--metrics-address=none", "--workers-per-device=1024"};
  std::string errors;
  EXPECT_EQ(RunServerBinaryBy({"prlimit", "--as=2147483648"}, flags, &errors), 1);
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
  EXPECT_NE(errors.find("threads: the system lets this process start"), std::string::npos)
      << errors;
  EXPECT_NE(errors.find("raise the limit of the address space, 2048 MiB (ulimit -v)"),
            std::string::npos)
      << errors;
}

TEST(DrainTest, SigtermFinishesWhatRunsRefusesTheRestAndExitsWithZero) {
  const auto server = ServerProcess::Start();
  ASSERT_NE(server, nullptr);
  Client client(*server);
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client.stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({2}))));
  ASSERT_EQ(AwaitMetric(server->metrics_port(), "warpfold_requests_expected", 1), 1);
  grpc::ClientContext many_context;
  const auto many = client.stub().ReduceMany(&many_context);
  ASSERT_TRUE(many->Write(F32Ones(1)));
  v1::ReduceManyResponse answer;
  ASSERT_TRUE(many->Read(&answer));
  EXPECT_FALSE(answer.has_status());

  server->Signal(SIGTERM);
  // The open stream sees the drain begin: its items are refused as for another server to serve.
  do {
    ASSERT_TRUE(many->Write(F32Ones(1)));
    ASSERT_TRUE(many->Read(&answer));
  } while (!answer.has_status());
  EXPECT_EQ(answer.status().code(), static_cast<int>(grpc::StatusCode::UNAVAILABLE));
  many->WritesDone();
  EXPECT_TRUE(many->Finish().ok());

  EXPECT_TRUE(writer->Write(Chunk(std::string(8, '\0'))));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok()) << "an accepted stream must be finished";
  EXPECT_EQ(server->Wait(), 0);
}

TEST(DrainTest, BeforeTheDrainTheServerIsNotReadyButAliveAndServesOn) {
  // Longer than any test: the second signal ends the delay.
  const auto server = ServerProcess::Start({"--drain-delay-ms=3600000"});
  ASSERT_NE(server, nullptr);
  Client client(*server);
  const auto health = [&client](const std::string& service) {
    return RawCall(client.channel(), kHealthCheck, HealthRequest(service)).bytes;
  };
  EXPECT_EQ(health("readiness"), kServing);
  server->Signal(SIGTERM);
  ASSERT_EQ(AwaitMetric(server->metrics_port(), "warpfold_ready", 0), 0);
  while (health("readiness") == kServing) {  // set just after the metric
  }
  EXPECT_EQ(health("readiness"), kNotServing);
  EXPECT_EQ(health(kService), kNotServing);
  EXPECT_EQ(health(kTensorService), kNotServing);
  EXPECT_EQ(health(kInferenceService), kNotServing);
  EXPECT_EQ(health(""), kNotServing);
  EXPECT_EQ(health("liveness"), kServing);
  v1::ReduceResponse response;
  EXPECT_TRUE(client.Reduce(F32Ones(3), &response).ok());
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0);
}

TEST(DrainTest, AStreamThatOutlastsTheDrainTimeoutIsCancelledAndTheExitIsClean) {
  const auto server = ServerProcess::Start({"--drain-timeout-ms=50"});
  ASSERT_NE(server, nullptr);
  Client client(*server);
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = client.stub().ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(F32Request({2}))));
  ASSERT_EQ(AwaitMetric(server->metrics_port(), "warpfold_requests_expected", 1), 1);
  server->Signal(SIGTERM);
  EXPECT_FALSE(writer->Finish().ok());
  EXPECT_EQ(server->Wait(), 0);
}

}  // namespace
}  // namespace warpfold::e2e
