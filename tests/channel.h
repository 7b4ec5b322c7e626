// A connection of a test's own to a server on this host, for calls that no client of ours makes.
#ifndef WARPFOLD_TESTS_CHANNEL_H_
#define WARPFOLD_TESTS_CHANNEL_H_

#include <memory>
#include <string>

#include "client/cpp/first_wait.h"
#include "grpcpp/grpcpp.h"

namespace warpfold {

inline std::shared_ptr<grpc::Channel> ConnectTo(
    int port,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials =
        grpc::InsecureChannelCredentials(),
    grpc::ChannelArguments arguments = {}) {
  client::WarmUpMutexes();
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), credentials, arguments);
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_CHANNEL_H_
