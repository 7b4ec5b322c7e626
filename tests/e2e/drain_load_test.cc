// SIGTERM under load: what the server accepted, by its own log, is what clients got answers to.
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

constexpr int kWorkers = 9;
constexpr int kAnswersEach = 15;  // of each worker before the signal
constexpr std::int64_t kElements = 250'000;

// The value of a text field in a JSON line that the server wrote.
std::string Field(const std::string& line, const std::string& name) {
  const std::string start = "\"" + name + "\":\"";
  const std::size_t at = line.find(start);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + start.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

// A tensor that no other request has, and its sum: whole numbers below 2^24, exact in any order. A
// byte of another request, one too many or one too few makes another sum.
struct Question {
  v1::ReduceRequest request;
  float sum;
};

Question QuestionOf(int worker, int index) {
  std::vector<float> values(kElements, static_cast<float>(worker + 1));
  values[static_cast<std::size_t>(index * 7919 % kElements)] = static_cast<float>(index);
  Question question;
  question.request = F32Request({kElements}, v1::OP_SUM);
  question.request.set_request_id(absl::StrCat(worker, "-", index));
  question.request.set_data(values.data(), values.size() * sizeof(float));
  question.sum = static_cast<float>((worker + 1) * (kElements - 1) + index);
  return question;
}

// By one method of three. INTERNAL: no answer where the status was OK.
grpc::StatusCode Ask(Client& client, int kind, v1::ReduceRequest request,
                     v1::ReduceResponse* response) {
  if (kind == 0) return client.Reduce(request, response).error_code();
  if (kind == 1) {
    const std::string data = std::move(*request.mutable_data());
    request.clear_data();
    std::vector<v1::ReduceStreamRequest> messages{Header(request)};
    for (std::size_t at = 0; at < data.size(); at += 100'000) {
      messages.push_back(Chunk(data.substr(at, 100'000)));
    }
    return client.ReduceStream(messages, response).error_code();
  }
  grpc::ClientContext context;
  const auto stream = client.stub().ReduceMany(&context);
  v1::ReduceManyResponse answer;
  stream->Write(request);
  stream->WritesDone();
  const bool answered = stream->Read(&answer);
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return status.error_code();
  if (!answered) return grpc::StatusCode::INTERNAL;
  if (answer.has_status()) return static_cast<grpc::StatusCode>(answer.status().code());
  *response = std::move(*answer.mutable_response());
  return grpc::StatusCode::OK;
}

TEST(DrainLoadTest, NoAcceptedRequestIsLost) {
  const UniqueTempFolder folder;
  const auto server = ServerProcess::Start(
      {"--access-log-fast-per-s=1048576", "--access-log-failed-per-s=1048576", "--log-format=json",
       "--log-queue-lines=1048576", "--drain-timeout-ms=60000"},
      folder.Path("log"));
  ASSERT_NE(server, nullptr);

  absl::BlockingCounter warm(kWorkers);
  std::mutex mutex;
  std::set<std::string> answered;                  // under the mutex
  std::map<std::string, grpc::StatusCode> failed;  // under the mutex
  std::vector<std::jthread> workers;
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      Client client(*server);
      for (int i = 0;; ++i) {
        if (i == kAnswersEach) warm.DecrementCount();
        const Question question = QuestionOf(w, i);
        const std::string& id = question.request.request_id();
        v1::ReduceResponse response;
        const grpc::StatusCode code = Ask(client, w % 3, question.request, &response);
        const std::lock_guard<std::mutex> lock(mutex);
        if (code != grpc::StatusCode::OK) {
          failed[id] = code;
          if (i < kAnswersEach) warm.DecrementCount();
          return;
        }
        EXPECT_EQ(FirstFloat(response), question.sum) << id;
        answered.insert(id);
      }
    });
  }
  warm.Wait();
  server->Signal(SIGTERM);
  workers.clear();
  EXPECT_EQ(server->Wait(), 0);

  // gRPC itself answers CANCELLED to what it has read but not handed over when it shuts down; by
  // the contract both may be tried again.
  for (const auto& [id, code] : failed) {
    EXPECT_TRUE(code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::CANCELLED)
        << id << ": " << code;
  }
  std::set<std::string> served;
  std::ifstream log(folder.Path("log"));
  for (std::string line; std::getline(log, line);) {
    const std::string id = Field(line, "request_id");
    if (Field(line, "message") != "access" || id.empty()) continue;
    if (Field(line, "code") == "OK") {
      served.insert(id);
    } else {
      EXPECT_EQ(Field(line, "code"), "Unavailable") << line;
    }
  }
  EXPECT_GE(answered.size(), static_cast<std::size_t>(kWorkers * kAnswersEach));
  EXPECT_EQ(answered, served) << "answers received, answers given";
}

}  // namespace
}  // namespace warpfold::e2e
