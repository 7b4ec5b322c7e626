// A task of the front end between its admission and its end: what every request that needs a worker
// has in common.
//
// Step of a request: 1. Start is called by one reaction; Cancel from any thread. On a Start that
// returned OK follows OnDone, once: on a worker's thread or inside Cancel, with no lock held; of a
// task that may run inline also inside Start.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_SUBMISSION_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_SUBMISSION_H_

#include <chrono>

#include "absl/status/status.h"
#include "server/core/admission/admission.h"
#include "server/core/request/task.h"
#include "server/frontend/requests/services.h"

namespace warpfold {

class Submission final : private TaskOwner {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // The end of the task. The submission may be gone when it returns.
    virtual void OnDone(TaskReport report) = 0;
  };

  // `caller`, whose task it is, outlives it, as `owner` does.
  Submission(Services& services, const Caller& caller,
             std::chrono::system_clock::time_point deadline, Owner& owner)
      : services_(services), caller_(caller), owner_(owner), task_(*this, deadline) {
    task_.line = caller.use.get();
  }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // To be filled in before Start.
  Task& task() { return task_; }
  CancelToken& token() { return task_.token; }
  AdmissionTicket& ticket() { return ticket_; }

  // Admits the task, which holds `held`, beside what it holds if it is expected, and queues it. On
  // error nothing is held and OnDone will not come.
  absl::Status Start(const HeldBytes& held);
  // The two halves of Start, for a task that is admitted before it is known.
  absl::Status Admit(const HeldBytes& held);
  absl::Status Queue();

  // For a task whose bytes are still to come, before Start: it is refused as Start(held) would
  // refuse it now, and its ticket holds what comes.
  absl::Status Expect(const HeldBytes& held);

  // The client is gone: its token is cancelled, and says so unless it has another reason already. A
  // queued task is taken back and done here; a running one ends soon.
  void Cancel() {
    if (Withdraw()) AnswerWithdrawn();
  }
  // The two halves of Cancel, for a caller that takes the task back under a lock, or has something
  // to do between: true when it did, then AnswerWithdrawn must follow, without the lock.
  bool Withdraw();
  void AnswerWithdrawn();

  // Before Start: it has waited for its turn already. The report counts it.
  void AddQueueTime(std::chrono::nanoseconds waited) { queued_before_ += waited; }

 private:
  absl::Status MayQueue() override { return ticket_.TakeWorker(); }
  absl::Status MayRun(std::chrono::nanoseconds waited) override;
  void OnDone(TaskReport report) override;

  Services& services_;
  const Caller& caller_;
  Owner& owner_;
  AdmissionTicket ticket_;
  std::chrono::nanoseconds queued_before_{0};
  Task task_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_SUBMISSION_H_
