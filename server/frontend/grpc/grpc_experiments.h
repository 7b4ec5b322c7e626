// Which of gRPC's experiments the server's process runs with, and of its experimental settings.
#ifndef WARPFOLD_SERVER_FRONTEND_GRPC_GRPC_EXPERIMENTS_H_
#define WARPFOLD_SERVER_FRONTEND_GRPC_GRPC_EXPERIMENTS_H_

namespace warpfold {

// Before gRPC is used and before there are threads: it is said in the environment. What
// it says already stays.
void ChooseGrpcExperiments();

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_GRPC_GRPC_EXPERIMENTS_H_
