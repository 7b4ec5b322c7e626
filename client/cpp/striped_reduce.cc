// Client::Reduce of a tensor in stripes: they go out over several connections, and what comes back
// is put together.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "client/cpp/call_with_retries.h"
#include "client/cpp/client.h"
#include "client/cpp/exchange.h"
#include "client/cpp/fan_out.h"
#include "client/cpp/stripes.h"

namespace warpfold::client {
namespace {

// Each stage's longest.
void JoinTiming(const v1::Timing& from, v1::Timing& to) {
  to.set_receive_ns(std::max(to.receive_ns(), from.receive_ns()));
  to.set_queue_ns(std::max(to.queue_ns(), from.queue_ns()));
  to.set_host_to_device_ns(std::max(to.host_to_device_ns(), from.host_to_device_ns()));
  to.set_kernel_ns(std::max(to.kernel_ns(), from.kernel_ns()));
  to.set_device_to_host_ns(std::max(to.device_to_host_ns(), from.device_to_host_ns()));
  to.set_total_ns(std::max(to.total_ns(), from.total_ns()));
}

// The results of all, one behind the other along `dimension`.
absl::StatusOr<ReduceAnswer> Concatenate(std::vector<v1::ReduceResponse> messages,
                                         std::size_t dimension, const std::vector<Op>& ops) {
  for (const v1::ReduceResponse& message : messages) {
    if (absl::Status checked = CheckOps(message, ops); !checked.ok()) return checked;
  }
  absl::StatusOr<ReduceAnswer> whole = ParseAnswer(std::move(messages[0]), /*attempts=*/1);
  if (!whole.ok()) return whole;
  for (std::size_t i = 1; i < messages.size(); ++i) {
    absl::StatusOr<ReduceAnswer> next = ParseAnswer(std::move(messages[i]), /*attempts=*/1);
    if (!next.ok()) return next;
    if (absl::Status added = Append(*next, dimension, *whole); !added.ok()) return added;
  }
  return whole;
}

absl::StatusOr<std::vector<std::string>> TakeStates(std::vector<v1::ReduceResponse> messages) {
  std::vector<std::string> states;
  for (v1::ReduceResponse& message : messages) {
    absl::StatusOr<std::string> state = TakeState(std::move(message));
    if (!state.ok()) return state.status();
    states.push_back(*std::move(state));
  }
  return states;
}

}  // namespace

Served Client::SendStripe(const TensorView& tensor, const StripePlan& plan, std::size_t stripe,
                          std::size_t connection, const ReduceOptions& options) {
  const Stripe& cut = plan.stripes[stripe];
  const TensorView view{tensor.dtype, cut.shape, tensor.data.subspan(cut.first_byte, cut.bytes)};
  return SendTensor(connection, view,
                    plan.join == StripePlan::Join::kMerge
                        ? StateRequestWithoutTensor(PartOf(plan, cut), options)
                        : RequestWithoutTensor(options),
                    options);
}

absl::StatusOr<ReduceAnswer> Client::ReduceInStripes(const TensorView& tensor,
                                                     const StripePlan& plan,
                                                     const ReduceOptions& options) {
  SharedProgress progress(options.progress, plan.stripes.size());
  std::vector<v1::ReduceResponse> messages(plan.stripes.size());
  std::vector<int> attempts(plan.stripes.size(), 1);
  const auto send = [&](int worker, std::size_t stripe, const std::stop_token& stop) {
    ReduceOptions own = options;
    own.progress = progress.Of(stripe);
    own.stop = stop;
    Served served = SendStripe(tensor, plan, stripe, static_cast<std::size_t>(worker), own);
    attempts[stripe] = served.attempts;
    absl::StatusOr<v1::ReduceResponse> message =
        MessageOf(std::move(served), options_.required_numerics_version);
    if (!message.ok()) {
      return OfWhole(message.status(), plan.stripes[stripe].offset * plan.index_results);
    }
    messages[stripe] = *std::move(message);
    return absl::OkStatus();
  };
  absl::Status sent = FanOut(options_.connections, plan.stripes.size(), options.stop, send);
  if (!sent.ok()) return sent;

  if (absl::Status one = CheckOneNumerics(messages); !one.ok()) return one;
  v1::Timing timing;
  for (const v1::ReduceResponse& message : messages) JoinTiming(message.timing(), timing);
  const std::string device = messages[0].device();
  absl::StatusOr<ReduceAnswer> answer;
  if (plan.join == StripePlan::Join::kConcatenate) {
    answer = Concatenate(std::move(messages), plan.result_dimension, options.ops);
  } else {
    const absl::StatusOr<std::vector<std::string>> states = TakeStates(std::move(messages));
    if (!states.ok()) return states.status();
    answer = AnswerOf(SendMerge(*states, /*return_state=*/false,
                                {options.timeout, options.request_id, options.stop}),
                      options, options_.required_numerics_version);
  }
  if (!answer.ok()) return answer;
  answer->timing = timing;
  answer->device = device;
  answer->attempts =
      std::max(answer->attempts, *std::max_element(attempts.begin(), attempts.end()));
  return answer;
}

}  // namespace warpfold::client
