#include "tests/e2e/served_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "grpcpp/generic/generic_stub.h"
#include "tests/channel.h"
#include "tests/contract/values_of.h"

namespace warpfold::e2e {
namespace {

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::string bytes;
  std::vector<grpc::Slice> slices;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

RawReply RawCall(grpc::Channel& channel, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(std::shared_ptr<grpc::Channel>(&channel, [](grpc::Channel*) {}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  const auto await = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call =
      stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  await();
  call->WriteLast(ToBuffer(request), grpc::WriteOptions(), nullptr);
  await();
  RawReply reply;
  grpc::ByteBuffer buffer;
  call->Read(&buffer, nullptr);
  if (await()) reply.bytes = ToString(buffer);
  call->Finish(&reply.status, nullptr);
  await();
  return reply;
}

std::string MetricsPage(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string page;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request =
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    char buffer[16384];
    for (ssize_t count; (count = read(fd, buffer, sizeof(buffer))) > 0;) {
      page.append(buffer, static_cast<std::size_t>(count));
    }
  }
  close(fd);
  return page;
}

double MetricValue(const std::string& page, const std::string& series) {
  const std::size_t at = page.find("\n" + series + " ");
  if (at == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(page.c_str() + at + series.size() + 2, nullptr);
}

double AwaitMetric(int port, const std::string& series, double value) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  double last = std::numeric_limits<double>::quiet_NaN();
  do {
    last = MetricValue(MetricsPage(port), series);
  } while (last != value && std::chrono::steady_clock::now() < end);
  return last;
}

Client::Client(const ServerProcess& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  channel_ = ConnectTo(server.grpc_port(), grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::ReductionService::NewStub(channel_);
}

grpc::Status Client::Reduce(const v1::ReduceRequest& request, v1::ReduceResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  return stub_->Reduce(&context, request, response);
}

grpc::Status Client::ReduceStream(const std::vector<v1::ReduceStreamRequest>& messages,
                                  v1::ReduceResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto writer = stub_->ReduceStream(&context, response);
  for (const v1::ReduceStreamRequest& message : messages) {
    if (!writer->Write(message)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

v1::ReduceRequest F32Request(const std::vector<std::int64_t>& shape, v1::Op op) {
  v1::ReduceRequest request;
  ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_F32);
  for (const std::int64_t length : shape) ValuesOf(request).mutable_tensor()->add_shape(length);
  request.add_ops()->set_op(op);
  return request;
}

v1::ReduceRequest F32Ones(std::int64_t count, v1::Op op) {
  v1::ReduceRequest request = F32Request({count}, op);
  const std::vector<float> ones(static_cast<std::size_t>(count), 1.0F);
  request.set_data(ones.data(), ones.size() * sizeof(float));
  return request;
}

float FirstFloat(const v1::ReduceResponse& response) {
  float value = std::numeric_limits<float>::quiet_NaN();
  if (response.results_size() == 1 && response.results(0).data().size() >= sizeof(value)) {
    std::memcpy(&value, response.results(0).data().data(), sizeof(value));
  }
  return value;
}

v1::ReduceStreamRequest Header(const v1::ReduceRequest& request) {
  v1::ReduceStreamRequest message;
  *message.mutable_header() = request;
  return message;
}

v1::ReduceStreamRequest Chunk(std::string bytes) {
  v1::ReduceStreamRequest message;
  message.set_chunk(std::move(bytes));
  return message;
}

std::unique_ptr<ServerProcess> ServedTest::server_;

void ServedTest::StartServer(const std::vector<std::string>& flags) {
  server_ = ServerProcess::Start(flags);
}

void ServedTest::SetUp() {
  ASSERT_NE(server_, nullptr);
  client_ = std::make_unique<Client>(*server_);
}

void ServedTest::TearDown() {
  if (server_ == nullptr) return;
  v1::ReduceResponse response;
  const grpc::Status status = client().Reduce(F32Ones(3), &response);
  EXPECT_TRUE(status.ok()) << "the server no longer answers: " << status.error_message();
  const int port = server_->metrics_port();
  EXPECT_EQ(AwaitMetric(port, "warpfold_requests_in_flight", 0), 0);
  EXPECT_EQ(AwaitMetric(port, "warpfold_bytes_in_flight", 0), 0);
  EXPECT_EQ(AwaitMetric(port, "warpfold_workers{state=\"in_use\"}", 0), 0);
  EXPECT_EQ(AwaitMetric(port, "warpfold_queue_depth", 0), 0);
}

}  // namespace warpfold::e2e
