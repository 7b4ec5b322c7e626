#include "tests/e2e/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "tests/temp_folder.h"

extern char** environ;

namespace warpfold::e2e {
namespace {

constexpr int kStartTimeoutMs = 60000;

std::string ServerPath() {
  const char* path = std::getenv("WARPFOLD_SERVER");
  return path != nullptr ? path : WARPFOLD_SERVER_PATH;
}

// Starts the binary, by `command` when there is one; its stderr goes to `errors_fd` unless that is
// negative.
pid_t Spawn(const std::vector<std::string>& arguments, int errors_fd,
            const std::vector<std::string>& command = {}) {
  std::vector<std::string> words = command;
  words.push_back(ServerPath());
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (errors_fd >= 0) posix_spawn_file_actions_adddup2(&actions, errors_fd, STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << words[0];
  return error == 0 ? pid : -1;
}

int ExitCode(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Waits until `name` has been renamed into `folder`, or the child has exited.
bool AwaitFile(const std::filesystem::path& file, int watch, pid_t pid) {
  for (int waited_ms = 0; waited_ms < kStartTimeoutMs; waited_ms += 100) {
    if (std::filesystem::exists(file)) return true;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid) {
      return false;
    }
    pollfd events{watch, POLLIN, 0};
    if (poll(&events, 1, 100) > 0) {
      alignas(inotify_event) char buffer[4096];
      if (read(watch, buffer, sizeof(buffer)) < 0) return false;
    }
  }
  return false;
}

}  // namespace

int RunServerBinary(const std::vector<std::string>& arguments, std::string* errors) {
  return RunServerBinaryBy({}, arguments, errors);
}

int RunServerBinaryBy(const std::vector<std::string>& command,
                      const std::vector<std::string>& arguments, std::string* errors) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = Spawn(arguments, ends[1], command);
  close(ends[1]);
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    errors->append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  return ExitCode(pid);
}

std::unique_ptr<ServerProcess> ServerProcess::Start(const std::vector<std::string>& flags,
                                                    const std::string& errors_file) {
  const UniqueTempFolder folder;
  const std::string port_file = folder.Path("ports");
  const int watch = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(watch, folder.path().c_str(), IN_MOVED_TO);

  std::vector<std::string> arguments{"--metrics-address=127.0.0.1:0", "--port-file=" + port_file};
  const auto has = [&flags](const char* option) {
    return std::any_of(flags.begin(), flags.end(),
                       [option](const std::string& flag) { return flag.rfind(option, 0) == 0; });
  };
  if (!has("--listen-address=")) arguments.push_back("--listen-address=127.0.0.1:0");
  const char* backend = std::getenv("WARPFOLD_BACKEND");
  if (backend != nullptr && !has("--backend=")) {
    arguments.push_back(std::string("--backend=") + backend);
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());

  const int errors_fd = errors_file.empty() ? -1
                                            : open(errors_file.c_str(),
                                                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::unique_ptr<ServerProcess> server(new ServerProcess(Spawn(arguments, errors_fd)));
  if (errors_fd >= 0) close(errors_fd);
  const bool served = AwaitFile(port_file, watch, server->pid_);
  close(watch);
  std::ifstream(port_file) >> server->grpc_port_ >> server->metrics_port_;
  EXPECT_TRUE(served) << "the server did not start";
  return served ? std::move(server) : nullptr;
}

ServerProcess::~ServerProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  Wait();
}

double ServerProcess::MemoryMib(const std::string& field) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string name; status >> name;) {
    double kib = 0;
    if (name == field && status >> kib) return kib / 1024;
  }
  return -1;
}

void ServerProcess::Signal(int signal) const { kill(pid_, signal); }

int ServerProcess::Wait() {
  const int code = ExitCode(pid_);
  pid_ = -1;
  return code;
}

}  // namespace warpfold::e2e
