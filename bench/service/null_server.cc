// The wire: a server with the methods of warpfold.v1 that a load uses, which takes every byte and
// looks at none. Each call gets the same answer at once, SUM = 0 of device "null", whatever was
// asked. What a real server loses against this one is its own time; the rest is gRPC's and the
// kernel's. Raw bytes, callback API, as the real server. With a pause before each answer to Reduce,
// as a device's work is one, it shows what a call takes when everybody has slept meanwhile.
//
// Runs until SIGTERM or SIGINT.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "warpfold/v1/reduction.grpc.pb.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold::bench {
namespace {

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

v1::ReduceResponse Answer() {
  v1::ReduceResponse answer;
  v1::Result& result = *answer.add_results();
  result.mutable_spec()->set_op(v1::OP_SUM);
  result.mutable_tensor()->set_dtype(v1::DTYPE_F32);
  result.set_data(std::string(sizeof(float), '\0'));
  answer.set_state("none");  // for those who ask for one
  answer.set_device("null");
  return answer;
}

// The request_id of a ReduceRequest: of those that have one it is the first field.
std::string RequestId(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return {};
  constexpr std::size_t kFieldBytesMax = 2 + 127;  // tag, a length of one byte, the id
  std::string field;
  for (const grpc::Slice& slice : slices) {  // the first may end anywhere
    field.append(reinterpret_cast<const char*>(slice.begin()),
                 std::min(slice.size(), kFieldBytesMax - field.size()));
    if (field.size() == kFieldBytesMax) break;
  }
  constexpr char kRequestIdTag = v1::ReduceRequest::kRequestIdFieldNumber << 3 | 2;
  if (field.size() < 2 || field[0] != kRequestIdTag) return {};
  return field.substr(2, static_cast<std::size_t>(field[1]));
}

// Takes a stream of any length, then answers.
class StreamReader final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  StreamReader(grpc::ByteBuffer* response, const grpc::ByteBuffer& answer)
      : response_(response), answer_(answer) {
    StartRead(&chunk_);
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      chunk_.Clear();
      StartRead(&chunk_);
    } else {
      *response_ = answer_;
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer chunk_;
  grpc::ByteBuffer* response_;
  grpc::ByteBuffer answer_;
};

// Answers one message after the other.
class ManyReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ManyReactor() { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    v1::ReduceManyResponse message;
    message.set_request_id(RequestId(request_));
    *message.mutable_response() = Answer();
    response_ = ToByteBuffer(message);
    request_.Clear();
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (ok)
      StartRead(&request_);
    else
      Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
};

using Reductions = v1::ReductionService;
using RawReductions =
    Reductions::WithRawCallbackMethod_Reduce<Reductions::WithRawCallbackMethod_ReduceStream<
        Reductions::WithRawCallbackMethod_ReduceMany<Reductions::WithRawCallbackMethod_Merge<
            Reductions::WithRawCallbackMethod_GetServerInfo<Reductions::Service>>>>>;
using Tensors = v1::TensorService;
using RawTensors =
    Tensors::WithRawCallbackMethod_CreateTensor<Tensors::WithRawCallbackMethod_WriteTensor<
        Tensors::WithRawCallbackMethod_DeleteTensor<Tensors::Service>>>;

grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext& context,
                                 const grpc::ByteBuffer& answer, grpc::ByteBuffer& response) {
  response = answer;
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

class NullReductions final : public RawReductions {
 public:
  explicit NullReductions(std::chrono::microseconds pause) : pause_(pause) {}

  grpc::ServerUnaryReactor* Reduce(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                   grpc::ByteBuffer* response) override {
    // Awake, as a thread that waits for its GPU.
    const auto end = std::chrono::steady_clock::now() + pause_;
    while (std::chrono::steady_clock::now() < end) {
    }
    return Finish(*context, answer_, *response);
  }
  grpc::ServerUnaryReactor* Merge(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                  grpc::ByteBuffer* response) override {
    return Finish(*context, answer_, *response);
  }
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer*,
                                          grpc::ByteBuffer* response) override {
    return Finish(*context, info_, *response);
  }
  grpc::ServerReadReactor<grpc::ByteBuffer>* ReduceStream(grpc::CallbackServerContext*,
                                                          grpc::ByteBuffer* response) override {
    return new StreamReader(response, answer_);
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReduceMany(
      grpc::CallbackServerContext*) override {
    return new ManyReactor;
  }

 private:
  const std::chrono::microseconds pause_;
  const grpc::ByteBuffer answer_ = ToByteBuffer(Answer());
  const grpc::ByteBuffer info_ = ToByteBuffer(v1::GetServerInfoResponse());
};

class NullTensors final : public RawTensors {
 public:
  NullTensors() {
    v1::CreateTensorResponse created;
    created.set_tensor_id("none");
    created_ = ToByteBuffer(created);
  }
  grpc::ServerUnaryReactor* CreateTensor(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer*,
                                         grpc::ByteBuffer* response) override {
    return Finish(*context, created_, *response);
  }
  grpc::ServerUnaryReactor* DeleteTensor(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer*,
                                         grpc::ByteBuffer* response) override {
    return Finish(*context, ToByteBuffer(v1::DeleteTensorResponse()), *response);
  }
  grpc::ServerReadReactor<grpc::ByteBuffer>* WriteTensor(grpc::CallbackServerContext*,
                                                         grpc::ByteBuffer* response) override {
    return new StreamReader(response, ToByteBuffer(v1::WriteTensorResponse()));
  }

 private:
  grpc::ByteBuffer created_;
};

int Main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the real server
  std::string listen_address = "127.0.0.1:50051";
  std::string port_file;
  CLI::App app("Takes tensors and answers nothing: the wire, to measure against");
  app.add_option("--listen-address", listen_address, "host:port; port 0: any")
      ->capture_default_str();
  app.add_option("--port-file", port_file, "File that gets the port once it is served");
  int pause_us = 0;
  app.add_option("--pause-us", pause_us, "Microseconds before each answer to Reduce")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  // Blocked before gRPC starts its threads, so that only sigwait below sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  NullReductions reductions{std::chrono::microseconds(pause_us)};
  NullTensors tensors;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort(listen_address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&reductions);
  builder.RegisterService(&tensors);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "cannot listen on " << listen_address << "\n";
    return 1;
  }
  if (!port_file.empty()) {
    // Written beside and renamed, so that a reader never sees half of it.
    const std::string unfinished = port_file + ".new";
    std::ofstream(unfinished) << port << "\n";
    std::rename(unfinished.c_str(), port_file.c_str());
  }
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  return 0;
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) { return warpfold::bench::Main(argc, argv); }
