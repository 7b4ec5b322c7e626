#include "kernels/cpu/pack.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/cpu/pack_fields.h"
#include "kernels/finish.h"
#include "kernels/fold.h"

namespace warpfold::cpu {
namespace {

// Calls `visitor(TypeTag<F>{})` with the job's fold.
template <typename Visitor>
void VisitFold(const Job& job, Visitor&& visitor) {
  VisitDType(job.dtype,
             [&](auto type) { VisitBundle<typename decltype(type)::type>(job.bundle, visitor); });
}

}  // namespace

void Pack(const Job& job, const std::vector<ValueKind>& kinds, const void* states,
          std::int64_t count, const std::vector<ReducedRun>& runs, std::int64_t first_index,
          const std::vector<char*>& values) {
  ResultTargets places;
  places.reduced_run_count = static_cast<int>(runs.size());
  std::copy(runs.begin(), runs.end(), places.reduced_runs);
  VisitFold(job, [&](auto fold) {
    using F = typename decltype(fold)::type;
    VisitKinds<F>(kinds, [&](auto tag, std::size_t i) {
      using C = typename decltype(tag)::type;
      const std::size_t value_bytes = ValueBytes(kinds[i], job.dtype);
      for (std::int64_t s = 0; s < count; ++s) {
        typename F::State state;
        std::memcpy(static_cast<void*>(&state),
                    static_cast<const char*>(states) + static_cast<std::size_t>(s) * sizeof(state),
                    sizeof(state));
        typename C::State value = F::template Get<C>(state);
        if constexpr (Indexed<C>) {
          if (value.index != C::kNone) {
            value.index = first_index + places.ReducedIndex(value.index);
          }
        }
        VisitFields<C>(value, Writer(values[i] + static_cast<std::size_t>(s) * value_bytes));
      }
    });
  });
}

std::optional<ValueKind> Unpack(const Job& job, const std::vector<ValueKind>& kinds,
                                const std::vector<const char*>& values, std::int64_t count,
                                const ReducedElements& elements, void* states) {
  std::optional<ValueKind> bad;
  VisitFold(job, [&](auto fold) {
    using F = typename decltype(fold)::type;
    typename F::State* out = static_cast<typename F::State*>(states);
    std::fill_n(out, count, F::IdentityState());
    VisitKinds<F>(kinds, [&](auto tag, std::size_t i) {
      using C = typename decltype(tag)::type;
      const std::size_t value_bytes = ValueBytes(kinds[i], job.dtype);
      for (std::int64_t s = 0; s < count; ++s) {
        typename C::State& value = F::template Get<C>(out[s]);
        VisitFields<C>(value, Reader(values[i] + static_cast<std::size_t>(s) * value_bytes));
        if (!IsPossible<C, typename F::Element>(value, elements)) bad = kinds[i];
      }
    });
  });
  return bad;
}

}  // namespace warpfold::cpu
