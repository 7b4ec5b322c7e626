// The wire: a server with the methods of warpfold.v1.ReductionService that takes every byte and
// does nothing with it. Each call is answered with an empty message. What a real server loses
// against this one is its own time; the rest is gRPC's and the kernel's. Raw bytes, callback API,
// as the real server.
//
// Runs until SIGTERM or SIGINT.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold::bench {
namespace {

grpc::ByteBuffer EmptyMessage() {
  const grpc::Slice slice;
  return grpc::ByteBuffer(&slice, 1);
}

class StreamReader final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  explicit StreamReader(grpc::ByteBuffer* response) : response_(response) { StartRead(&chunk_); }

  void OnReadDone(bool ok) override {
    if (ok) {
      chunk_.Clear();
      StartRead(&chunk_);
    } else {
      *response_ = EmptyMessage();
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer chunk_;
  grpc::ByteBuffer* response_;
};

using Service = v1::ReductionService;
using RawService =
    Service::WithRawCallbackMethod_Reduce<Service::WithRawCallbackMethod_ReduceStream<
        Service::WithRawCallbackMethod_GetServerInfo<Service::Service>>>;

class NullService final : public RawService {
 public:
  grpc::ServerUnaryReactor* Reduce(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                   grpc::ByteBuffer* response) override {
    return Answer(*context, *response);
  }
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer*,
                                          grpc::ByteBuffer* response) override {
    return Answer(*context, *response);
  }
  grpc::ServerReadReactor<grpc::ByteBuffer>* ReduceStream(grpc::CallbackServerContext*,
                                                          grpc::ByteBuffer* response) override {
    return new StreamReader(response);
  }

 private:
  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context,
                                          grpc::ByteBuffer& response) {
    response = EmptyMessage();
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int Main(int argc, char** argv) {
  std::string listen_address = "127.0.0.1:50051";
  std::string port_file;
  CLI::App app("Takes tensors and answers nothing: the wire, to measure against");
  app.add_option("--listen-address", listen_address, "host:port; port 0: any")
      ->capture_default_str();
  app.add_option("--port-file", port_file, "File that gets the port once it is served");
  CLI11_PARSE(app, argc, argv);

  // Blocked before gRPC starts its threads, so that only sigwait below sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  NullService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort(listen_address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
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
