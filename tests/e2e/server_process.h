// The real warpfold-server as a child process, on ports that the system chose.
//
// The binary is $WARPFOLD_SERVER, or the one built beside this test; $WARPFOLD_BACKEND, when set,
// becomes --backend.
#ifndef WARPFOLD_TESTS_E2E_SERVER_PROCESS_H_
#define WARPFOLD_TESTS_E2E_SERVER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace warpfold::e2e {

// Runs the server's binary with `arguments` until it exits by itself. Returns its exit code; its
// stderr goes to `*errors`.
int RunServerBinary(const std::vector<std::string>& arguments, std::string* errors);
// The same by a command that becomes the server, such as prlimit.
int RunServerBinaryBy(const std::vector<std::string>& command,
                      const std::vector<std::string>& arguments, std::string* errors);

class ServerProcess {
 public:
  // Starts the server with `flags` beside those for ports and backend, and returns once it serves;
  // null, after a test failure, when it does not.
  // With `errors_file` the server's stderr goes there.
  static std::unique_ptr<ServerProcess> Start(const std::vector<std::string>& flags = {},
                                              const std::string& errors_file = "");
  // Kills the server when it still runs.
  ~ServerProcess();

  int grpc_port() const { return grpc_port_; }
  int metrics_port() const { return metrics_port_; }
  pid_t pid() const { return pid_; }
  // Of its memory: "VmRSS:" now, "VmHWM:" the most so far.
  double MemoryMib(const std::string& field) const;
  void Signal(int signal) const;
  // Waits for the exit; its code, or minus the signal that ended it.
  int Wait();

 private:
  explicit ServerProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  int grpc_port_ = 0;
  int metrics_port_ = 0;
};

}  // namespace warpfold::e2e

#endif  // WARPFOLD_TESTS_E2E_SERVER_PROCESS_H_
