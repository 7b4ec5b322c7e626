#include "client/cpp/cli/block_reduce.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/exchange.h"
#include "client/cpp/stripes.h"

namespace warpfold::client {
namespace {

constexpr int kBlocksInFlight = 3;

// A block in somebody's buffer, and where in the whole it is.
struct Block {
  std::size_t index = 0;
  TensorView view;
  PartOfWhole part;
  std::int64_t first_result = 0;  // of it in the whole's
};
// The next one, in `buffer`; none when there are no more.
using NextBlock =
    std::function<absl::StatusOr<std::optional<Block>>(std::vector<std::byte>& buffer)>;

// Reads blocks one by one and sends them, some at a time; what `send` made of each, in their order.
template <typename Result, typename Send>
absl::StatusOr<std::vector<Result>> ForEachBlock(const NextBlock& next, const Send& send,
                                                 const ReduceOptions& options) {
  std::mutex reading;
  std::mutex mutex;  // of the three below
  std::vector<Result> results;
  std::int64_t done_bytes = 0;
  absl::Status failure;
  std::stop_source stop;
  const std::stop_callback on_stop(options.stop, [&] { stop.request_stop(); });
  ReduceOptions own = options;
  own.progress = {};
  own.stop = stop.get_token();
  const auto read = [&](std::vector<std::byte>& buffer) -> absl::StatusOr<std::optional<Block>> {
    const std::lock_guard lock(reading);
    if (stop.stop_requested()) return std::nullopt;
    return next(buffer);
  };
  const auto work = [&] {
    std::vector<std::byte> buffer;
    while (true) {
      absl::StatusOr<std::optional<Block>> block = read(buffer);
      if (block.ok() && !block->has_value()) return;
      absl::StatusOr<Result> result =
          block.ok() ? send(**block, own) : absl::StatusOr<Result>(block.status());
      const std::lock_guard lock(mutex);
      if (!result.ok()) {
        failure.Update(result.status());  // keeps the first: the others were stopped because of it
        stop.request_stop();
        return;
      }
      if (results.size() <= (*block)->index) results.resize((*block)->index + 1);
      results[(*block)->index] = *std::move(result);
      done_bytes += static_cast<std::int64_t>((*block)->view.data.size());
      if (options.progress) options.progress(done_bytes);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < kBlocksInFlight; ++i) threads.emplace_back(work);
    work();
  }
  if (!failure.ok()) return failure;
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  return results;
}

// States say what they are states of. That is written anew when the length is known at last, and
// when an op is left out.
absl::StatusOr<std::vector<std::string>> Rewritten(const std::vector<std::string>& states,
                                                   const std::vector<std::int64_t>& shape,
                                                   const std::vector<Op>& ops) {
  std::vector<std::string> rewritten;
  for (const std::string& bytes : states) {
    v1::PartialState state;
    if (!state.ParseFromString(bytes)) {
      return absl::InternalError("the server's state is not a PartialState");
    }
    state.mutable_tensor()->mutable_shape()->Assign(shape.begin(), shape.end());
    google::protobuf::RepeatedPtrField<v1::OpSpec> kept;
    for (v1::OpSpec& spec : *state.mutable_ops()) {
      if (std::find(ops.begin(), ops.end(), spec.op()) != ops.end()) kept.Add(std::move(spec));
    }
    state.mutable_ops()->Swap(&kept);
    rewritten.push_back(state.SerializeAsString());
  }
  return rewritten;
}

// The answer of `call`; when it does not fit, that without `may_not_fit`.
absl::StatusOr<BlockAnswer> AskTwice(
    const std::vector<std::int64_t>& shape, const ReduceOptions& options,
    std::optional<Op> may_not_fit,
    const std::function<absl::StatusOr<ReduceAnswer>(const ReduceOptions&)>& call) {
  BlockAnswer result;
  result.shape = shape;
  absl::StatusOr<ReduceAnswer> answer = call(options);
  if (may_not_fit.has_value() && absl::IsOutOfRange(answer.status())) {
    result.left_out = answer.status();
    ReduceOptions others = options;
    std::erase(others.ops, *may_not_fit);
    answer = call(others);
  }
  if (!answer.ok()) return answer.status();
  result.answer = *std::move(answer);
  return result;
}

class BlockReduction {
 public:
  BlockReduction(Client& client, DType dtype, TensorReader& reader, const ReduceOptions& options,
                 std::optional<Op> may_not_fit, std::int64_t block_bytes)
      : client_(client),
        dtype_(dtype),
        reader_(reader),
        options_(options),
        may_not_fit_(may_not_fit),
        block_bytes_(block_bytes) {}

  absl::StatusOr<BlockAnswer> Run(const std::vector<std::int64_t>& shape) {
    const absl::StatusOr<std::int64_t> bytes = TensorBytes(dtype_, shape);
    if (!bytes.ok()) return bytes.status();
    if (*bytes <= block_bytes_) return ReduceOneBlock(shape, static_cast<std::size_t>(*bytes));
    // So many connections that stripes are blocks.
    const StripeLimits limits{static_cast<int>(*bytes / (4 * block_bytes_) + 1), block_bytes_,
                              client_.server_info().limits().max_message_bytes(),
                              client_.server_info().limits().max_result_bytes()};
    const std::optional<StripePlan> plan =
        PlanStripes({dtype_, shape, {}}, options_.axes, options_.ops, options_.keepdims, limits);
    if (plan.has_value() &&
        plan->stripes.front().bytes <= static_cast<std::size_t>(2 * block_bytes_)) {
      return plan->join == StripePlan::Join::kMerge ? MergeStripes(shape, *plan)
                                                    : JoinStripes(shape, *plan);
    }
    return ReduceEachIndex(shape);
  }

  // Of one axis of all that comes.
  absl::StatusOr<BlockAnswer> RunToTheEnd() {
    std::vector<std::byte> first(block_bytes_);
    const absl::StatusOr<std::size_t> first_bytes = reader_.Read(first);
    if (!first_bytes.ok()) return first_bytes.status();
    const std::size_t element_bytes = ElementBytes(dtype_);
    if (*first_bytes < first.size()) {
      return ReduceWhole({dtype_,
                          {static_cast<std::int64_t>(*first_bytes / element_bytes)},
                          std::span<const std::byte>(first).first(*first_bytes)});
    }
    std::size_t index = 0;
    std::int64_t length = 0;
    const auto next = [&](std::vector<std::byte>& buffer) -> absl::StatusOr<std::optional<Block>> {
      std::size_t n = first.size();
      if (index == 0) {
        buffer = std::move(first);
      } else {
        buffer.resize(block_bytes_);
        const absl::StatusOr<std::size_t> read = reader_.Read(buffer);
        if (!read.ok()) return read.status();
        n = *read;
      }
      if (n == 0) return std::nullopt;
      const auto count = static_cast<std::int64_t>(n / element_bytes);
      // The whole as if it ended here; its length is written anew at the end.
      Block block{index++,
                  {dtype_, {count}, std::span<const std::byte>(buffer).first(n)},
                  {{length + count}, {length}},
                  0};
      length += count;
      return block;
    };
    const absl::StatusOr<std::vector<std::string>> states = StatesOf(next);
    if (!states.ok()) return states.status();
    return Merge(*states, {length}, {length});
  }

 private:
  absl::StatusOr<BlockAnswer> ReduceWhole(const TensorView& tensor) {
    return ReduceAtOnce(client_, tensor, options_, may_not_fit_);
  }

  absl::StatusOr<BlockAnswer> ReduceOneBlock(const std::vector<std::int64_t>& shape,
                                             std::size_t bytes) {
    std::vector<std::byte> buffer(bytes);
    const absl::StatusOr<std::size_t> read = reader_.Read(buffer);
    if (!read.ok()) return read.status();
    return ReduceWhole({dtype_, shape, buffer});
  }

  absl::StatusOr<std::vector<std::string>> StatesOf(const NextBlock& next) {
    return ForEachBlock<std::string>(
        next,
        [&](const Block& block, const ReduceOptions& options) {
          return client_.ReduceToState(block.view, block.part, options);
        },
        options_);
  }

  // `named_shape`: that of the whole, as the states name it.
  absl::StatusOr<BlockAnswer> Merge(const std::vector<std::string>& states,
                                    const std::vector<std::int64_t>& shape,
                                    const std::vector<std::int64_t>& named_shape) {
    const auto merge = [&](const ReduceOptions& options) -> absl::StatusOr<ReduceAnswer> {
      const absl::StatusOr<std::vector<std::string>> named =
          Rewritten(states, named_shape, options.ops);
      if (!named.ok()) return named.status();
      return client_.Merge(*named, {options.timeout, options.request_id, options.stop});
    };
    return AskTwice(shape, options_, may_not_fit_, merge);
  }

  // The plan's stripes, one after the other.
  NextBlock StripesOf(const StripePlan& plan) {
    return [this, &plan, index = std::size_t{0}](
               std::vector<std::byte>& buffer) mutable -> absl::StatusOr<std::optional<Block>> {
      if (index == plan.stripes.size()) return std::nullopt;
      const Stripe& stripe = plan.stripes[index];
      buffer.resize(stripe.bytes);
      const absl::StatusOr<std::size_t> read = reader_.Read(buffer);
      if (!read.ok()) return read.status();
      return Block{index++,
                   {dtype_, stripe.shape, buffer},
                   PartOf(plan, stripe),
                   stripe.offset * plan.index_results};
    };
  }

  absl::StatusOr<BlockAnswer> MergeStripes(const std::vector<std::int64_t>& shape,
                                           const StripePlan& plan) {
    const absl::StatusOr<std::vector<std::string>> states = StatesOf(StripesOf(plan));
    if (!states.ok()) return states.status();
    return Merge(*states, shape, plan.whole_shape);
  }

  absl::StatusOr<BlockAnswer> JoinStripes(const std::vector<std::int64_t>& shape,
                                          const StripePlan& plan) {
    const auto send = [&](const Block& block,
                          const ReduceOptions& options) -> absl::StatusOr<ReduceAnswer> {
      absl::StatusOr<ReduceAnswer> answer = client_.Reduce(block.view, options);
      if (answer.ok()) return answer;
      return OfWhole(answer.status(), block.first_result);
    };
    absl::StatusOr<std::vector<ReduceAnswer>> answers =
        ForEachBlock<ReduceAnswer>(StripesOf(plan), send, options_);
    if (!answers.ok()) return answers.status();
    return Join(*std::move(answers), plan.result_dimension, shape);
  }

  static absl::StatusOr<BlockAnswer> Join(std::vector<ReduceAnswer> answers, std::size_t dimension,
                                          const std::vector<std::int64_t>& shape) {
    BlockAnswer whole{std::move(answers[0]), shape, {}};
    for (std::size_t i = 1; i < answers.size(); ++i) {
      absl::Status added = Append(answers[i], dimension, whole.answer);
      if (!added.ok()) return added;
    }
    return whole;
  }

  // Of a tensor that cannot be cut into blocks: what each index of its outermost dimension has, if
  // that is kept, is a tensor by itself.
  absl::StatusOr<BlockAnswer> ReduceEachIndex(const std::vector<std::int64_t>& shape) {
    const std::optional<std::vector<bool>> reduced = ReducedDimensions(shape.size(), options_.axes);
    if (!reduced.has_value()) {
      // Axes that no server takes: this one says so in its words.
      return ReduceWhole({dtype_, std::vector<std::int64_t>(shape.size(), 0), {}});
    }
    std::size_t outermost = 0;
    while (shape[outermost] == 1) ++outermost;
    if ((*reduced)[outermost]) {
      return absl::InvalidArgumentError(
          "axes: what is read block by block cannot be reduced along these, of which every block "
          "has too many results; write it to a file, little-endian and in C order, first");
    }
    std::size_t dimension = 0;
    for (std::size_t d = 0; d < outermost; ++d) dimension += options_.keepdims || !(*reduced)[d];
    std::vector<std::int64_t> inner = shape;
    inner[outermost] = 1;
    std::int64_t inner_results = 1;
    for (std::size_t d = 0; d < inner.size(); ++d) inner_results *= (*reduced)[d] ? 1 : inner[d];
    std::vector<ReduceAnswer> answers;
    for (std::int64_t i = 0; i < shape[outermost]; ++i) {
      absl::StatusOr<BlockAnswer> one = Run(inner);
      if (!one.ok()) return OfWhole(one.status(), i * inner_results);
      answers.push_back(std::move(one->answer));
    }
    return Join(std::move(answers), dimension, shape);
  }

  Client& client_;
  const DType dtype_;
  TensorReader& reader_;
  const ReduceOptions& options_;
  const std::optional<Op> may_not_fit_;
  const std::int64_t block_bytes_;
};

}  // namespace

absl::StatusOr<BlockAnswer> ReduceAtOnce(Client& client, const TensorView& tensor,
                                         const ReduceOptions& options,
                                         std::optional<Op> may_not_fit) {
  return AskTwice(tensor.shape, options, may_not_fit,
                  [&](const ReduceOptions& asked) { return client.Reduce(tensor, asked); });
}

absl::StatusOr<BlockAnswer> ReduceByBlocks(Client& client, DType dtype,
                                           const std::vector<std::int64_t>& shape,
                                           TensorReader& reader, const ReduceOptions& options,
                                           std::optional<Op> may_not_fit,
                                           std::int64_t block_bytes) {
  BlockReduction reduction(client, dtype, reader, options, may_not_fit, block_bytes);
  if (shape == std::vector<std::int64_t>{kUnknownLength}) return reduction.RunToTheEnd();
  return reduction.Run(shape);
}

}  // namespace warpfold::client
