// From the host interface (reduce.h) to launches, for one element type. Each element
// type is instantiated in a .cu of its own, so that they compile side by side.
#ifndef WARPFOLD_KERNELS_CUDA_ENGINE_CUH_
#define WARPFOLD_KERNELS_CUDA_ENGINE_CUH_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/batch_kernel.cuh"
#include "kernels/cuda/engine.h"
#include "kernels/cuda/join_kernel.cuh"
#include "kernels/cuda/pipelined_columns.cuh"
#include "kernels/cuda/pipelined_rows.cuh"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/row_kernels.cuh"
#include "kernels/cuda/short_rows.cuh"
#include "kernels/cuda/tree_kernel.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/ops/catalogue.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

template <class F>
Epilogue<F> EpilogueFor(const Output& output, std::int64_t outputs) {
  Epilogue<F> epilogue{static_cast<typename F::State*>(output.states),
                       PartialOrder{},
                       outputs,
                       output.targets,
                       {output.targets.reduced_count, output.targets.correction},
                       output.first_result,
                       output.overflow};
  epilogue.undecided = output.undecided;
  if (output.states == nullptr) {
    const std::span asked(output.targets.ops, static_cast<std::size_t>(output.targets.count));
    const KindSet needs = NeedsOf(asked);
    epilogue.reads_arg_min = needs.Has(ValueKind::kArgMin);
    epilogue.reads_arg_max = needs.Has(ValueKind::kArgMax);
  }
  return epilogue;
}

template <class F>
class EngineOf final : public Engine {
 public:
  using T = typename F::Storage;
  using Element = typename F::Element;
  using State = typename F::State;

  std::size_t StateBytes() const override { return sizeof(State); }

  std::size_t ElementsScratchBytes(const Extent& extent, const DeviceShape& device) const override {
    // The data's alignment is not known here and may change the number of partials.
    std::size_t bytes = 0;
    for (const bool aligned : {false, true}) {
      const std::int64_t parts = PlanFirstPass(extent, aligned, device).parts;
      if (parts == 1) continue;
      bytes = std::max(bytes, PartialBytes(parts, extent.outputs()) +
                                  StatesScratchBytes({1, parts, extent.outputs()}));
    }
    return bytes;
  }

  std::size_t StatesScratchBytes(const Extent& extent) const override {
    std::size_t bytes = 0;
    std::int64_t count = extent.count;
    while ((count = PlanStates(extent.outputs(), count, kHasManyAccumulators<F>).parts) > 1) {
      bytes += PartialBytes(count, extent.outputs());
    }
    return bytes;
  }

  cudaError_t FoldElements(const void* d_data, const Extent& extent, const Output& output,
                           void* d_scratch, const DeviceShape& device,
                           cudaStream_t stream) const override {
    const T* data = static_cast<const T*>(d_data);
    const bool aligned = reinterpret_cast<std::uintptr_t>(d_data) % kVectorBytes == 0;
    const FirstPass pass = PlanFirstPass(extent, aligned, device);
    Epilogue<F> epilogue = EpilogueFor<F>(output, extent.outputs());
    if (pass.parts > 1) {
      epilogue.d_states = static_cast<State*>(d_scratch);
      epilogue.order = OrderForStates(extent.outputs(), pass.parts, kHasManyAccumulators<F>);
    }
    const cudaError_t error =
        LaunchFirstPass(data, extent, pass, epilogue, device.overlaps_passes, stream);
    if (error != cudaSuccess || pass.parts == 1) return error;
    return FoldOrderedStates(
        {static_cast<const State*>(d_scratch), pass.parts, extent.outputs(), epilogue.order}, 1,
        output, static_cast<char*>(d_scratch) + PartialBytes(pass.parts, extent.outputs()), device,
        stream);
  }

  cudaError_t FoldBatch(const BatchItem* d_items, const BatchLaunch& launch,
                        cudaStream_t stream) const override {
    return LaunchPass(BatchKernel<F>, {launch.blocks(), kBatchWarps * 32}, stream, d_items, launch);
  }

  cudaError_t FoldStates(const void* d_states, const Extent& extent, const Output& output,
                         void* d_scratch, const DeviceShape& device,
                         cudaStream_t stream) const override {
    return FoldOrderedStates(
        {static_cast<const State*>(d_states), extent.count, extent.inner, PartialOrder{}},
        extent.outer, output, d_scratch, device, stream);
  }

  cudaError_t JoinStates(const void* d_states, std::int64_t count, void* d_to,
                         cudaStream_t stream) const override {
    return LaunchPass(JoinKernel<F>,
                      {static_cast<unsigned>(CeilDiv(count, kJoinThreads)), kJoinThreads}, stream,
                      static_cast<const State*>(d_states), count, static_cast<State*>(d_to));
  }

  const void* AnyKernel() const override { return reinterpret_cast<const void*>(&BatchKernel<F>); }

 private:
  // Second passes until one state is left for each output.
  static cudaError_t FoldOrderedStates(StateLeaves<F> states, std::int64_t outer,
                                       const Output& output, void* d_scratch,
                                       const DeviceShape& device, cudaStream_t stream) {
    const std::int64_t outputs = outer * states.inner;
    State* scratch = static_cast<State*>(d_scratch);
    while (true) {
      const TreeLaunch launch = PlanStates(outputs, states.count, kHasManyAccumulators<F>);
      Epilogue<F> epilogue = EpilogueFor<F>(output, outputs);
      if (launch.parts > 1) {
        epilogue.d_states = scratch;
        epilogue.order = OrderForStates(outputs, launch.parts, kHasManyAccumulators<F>);
      }
      const cudaError_t error =
          LaunchStates(states, outer, launch, epilogue, device.overlaps_passes, stream);
      if (error != cudaSuccess || launch.parts == 1) return error;
      // Partials are [part][output]: what was [outer, count, inner] is now [1, parts, outer *
      // inner].
      states = {scratch, launch.parts, outputs, epilogue.order};
      outer = 1;
      scratch += epilogue.order.Slots(launch.parts) * outputs;
    }
  }

  static std::size_t PartialBytes(std::int64_t parts, std::int64_t outputs) {
    const std::int64_t slots = OrderForStates(outputs, parts, kHasManyAccumulators<F>).Slots(parts);
    return static_cast<std::size_t>(slots * outputs) * sizeof(State);
  }

  // The first pass over elements: one of three kernels, and how it is launched.
  struct FirstPass {
    enum class Kind { kShortRows, kRows, kColumns };
    Kind kind = Kind::kRows;
    bool vectors = false;  // loads of 16 bytes
    ShortRowLaunch short_rows;
    RowLaunch rows;
    TreeLaunch columns;
    std::int64_t parts = 1;  // partials an output
  };

  // `aligned`: the data starts on 16 bytes.
  static FirstPass PlanFirstPass(const Extent& extent, bool aligned, const DeviceShape& device) {
    constexpr int kVector = kVectorElements<T>;
    FirstPass pass;
    if (extent.inner > 1) {
      pass.kind = FirstPass::Kind::kColumns;
      const bool has_vectors = aligned && extent.inner % kColumnVector<F> == 0;
      constexpr ColumnLoop kPipelinedLoop =
          kKeyBits<T> == 64 ? ColumnLoop::kWidePipelined : ColumnLoop::kPipelined;
      constexpr ColumnLoop kLoop = kIsComputeBound<F>     ? ColumnLoop::kComputeBound
                                   : kPipelinesColumns<F> ? kPipelinedLoop
                                                          : ColumnLoop::kPlain;
      pass.columns = PlanColumns(extent.outputs(), has_vectors ? kColumnVector<F> : 1,
                                 CeilDiv(extent.count, kLeafRows), kLoop, device);
      pass.parts = pass.columns.parts;
      return pass;
    }
    pass.vectors = aligned && (extent.outer == 1 || extent.count % kVector == 0);
    // Up to half a tile; from there on a warp has one row's vectors in flight.
    const bool whole_vectors = !kIsProduct && aligned && extent.count % kVector == 0;
    if (extent.count <= kRowElements<T> / 2 ||
        (whole_vectors && extent.count <= kTileElements<T> / 2)) {
      pass.kind = FirstPass::Kind::kShortRows;
      pass.vectors = whole_vectors;
      pass.short_rows = PlanShortRows(extent.outer, CeilDiv(extent.count, kVector),
                                      whole_vectors ? kRowCandidates : kRowCandidatesUnaligned,
                                      kBlockRowsMax<F>, device);
      return pass;
    }
    const std::int64_t row_tiles = CeilDiv(extent.count, kTileElements<T>);
    pass.rows = pass.vectors && kIsComputeBound<F>
                    ? PlanPipelinedRows(extent.outer, row_tiles, kBlockOverhead, device)
                    : PlanRows(extent.outer, row_tiles, pass.vectors ? kTileAWarp : kUnalignedTiles,
                               device);
    pass.parts = pass.rows.blocks_per_row;
    return pass;
  }

  static cudaError_t LaunchFirstPass(const T* data, const Extent& extent, const FirstPass& pass,
                                     const Epilogue<F>& epilogue, bool overlaps,
                                     cudaStream_t stream) {
    switch (pass.kind) {
      case FirstPass::Kind::kShortRows: {
        const auto kernel = ShortRowKernelFor(pass);
        return LaunchPass(
            kernel, {static_cast<unsigned>(pass.short_rows.blocks), kShortRowThreads, overlaps},
            stream, data, extent.first, extent.outer, static_cast<int>(extent.count),
            pass.short_rows, epilogue);
      }
      case FirstPass::Kind::kRows: {
        const auto kernel = RowKernelFor(pass.rows.tiles, pass.vectors, epilogue);
        const int warps = pass.vectors && kIsComputeBound<F> ? kPipelineWarps : pass.rows.tiles;
        return LaunchPass(
            kernel,
            {static_cast<unsigned>(pass.rows.blocks), static_cast<unsigned>(warps) * 32, overlaps},
            stream, data, extent.first, extent.outer, extent.count, pass.rows, epilogue);
      }
      case FirstPass::Kind::kColumns:
        if (pass.columns.vector == 1) {  // which is rare
          return LaunchColumns<F, 1>(data, extent, pass.columns, epilogue, overlaps, stream);
        }
        return VisitNeededFold(epilogue, [&]<class NeededFold>() {
          return LaunchColumns<NeededFold, kColumnVector<F>>(data, extent, pass.columns, epilogue,
                                                             overlaps, stream);
        });
    }
    __builtin_unreachable();
  }

  // What visit.operator()<NeededFold>() returns: NeededFold is F, or the one of two indices that
  // anybody reads. Most ask for one: that of the smallest of 2^21 f64 took 9.8 us with the
  // largest's beside it, 8.7 alone (H200, 2026-11-22).
  template <class Visit>
  static auto VisitNeededFold(const Epilogue<F>& epilogue, const Visit& visit) {
    if constexpr (kHasIndices<F> && !kHasManyAccumulators<F>) {
      if (!epilogue.reads_arg_max)
        return visit.template operator()<PlainFold<T, ArgMin<Element>>>();
      if (!epilogue.reads_arg_min)
        return visit.template operator()<PlainFold<T, ArgMax<Element>>>();
    }
    return visit.template operator()<F>();
  }

  static constexpr bool kIsProduct = F::template kHas<exact::ExactProduct<Element>>;
  // What a block of pipelined rows takes beside its tiles, in times of a tile: of 2^26 f32
  // statistics took 75 us by 32 tiles, 77 by 16 (H200, 2026-12-01), but of 2^28 i8 in rows of 2^17
  // 85 and 72.
  static constexpr int kBlockOverhead = kHasIndices<F> || exact::kHasWindowedSums<F> ? 7 : 2;

  // Vectors of a short row that a thread can hold. Of sums many, as what a row takes beside its
  // elements is much; of extrema and counts few, so that neighbours read side by side: the minima
  // of 2^26 f32 in rows of 128 took 86 us so, and 89 with eight (H100, 2026-11-27). What is long
  // work for each element has fewer kernels.
  static constexpr ShortRowCandidates kRowCandidates =
      kIsComputeBound<F>   ? ShortRowCandidates{{4, 1}, 2, kRowVectorsAtOnce<F>}
      : exact::kIsExact<F> ? ShortRowCandidates{{8, 4, 2, 1}, 4, kRowVectorsAtOnce<F>}
                           : ShortRowCandidates{{1, 2, 4}, 3, kRowVectorsAtOnce<F>};
  static constexpr ShortRowCandidates kRowCandidatesUnaligned = {
      {1}, 1, kRowVectorsAtOnce<F, false>};

  static auto ShortRowKernelFor(const FirstPass& pass) {
    if constexpr (!kIsProduct) {
      if (pass.vectors) {
        const int vectors = pass.short_rows.thread_vectors;
        if constexpr (!kIsComputeBound<F>) {
          if constexpr (exact::kIsExact<F>) {
            if (vectors == 8) return ShortRowKernel<F, 8, true>;
          }
          if (vectors == 2) return ShortRowKernel<F, 2, true>;
        }
        return vectors == 4 ? ShortRowKernel<F, 4, true> : ShortRowKernel<F, 1, true>;
      }
    }
    return ShortRowKernel<F, 1, false>;
  }

  static auto RowKernelFor(int tiles, bool vectors, const Epilogue<F>& epilogue) {
    if (!vectors) return RowKernel<F, 8, false>;
    if constexpr (kIsComputeBound<F>) {
      return VisitNeededFold(epilogue,
                             [&]<class NeededFold>() { return PipelinedRowKernel<F, NeededFold>; });
    } else {
      return tiles == 16 ? RowKernel<F, 16, true> : RowKernel<F, 4, true>;
    }
  }

  template <class NeededFold, int kVector>
  static cudaError_t LaunchColumns(const T* data, const Extent& extent, const TreeLaunch& launch,
                                   const Epilogue<F>& epilogue, bool overlaps,
                                   cudaStream_t stream) {
    if constexpr (kIsComputeBound<F>) {
      using Leaves = LongColumnLeaves<F, NeededFold, kVector>;
      return LaunchTree<Leaves>({data, extent.count, extent.inner, extent.first}, extent.outer,
                                launch, epilogue, overlaps, stream);
    } else {
      if constexpr (kPipelinesColumns<F> && kVector > 1) {
        if (launch.is_pipelined) {
          using Leaves = PipelinedColumnLeaves<F>;
          return LaunchTree<Leaves>({{data, extent.count, extent.inner, extent.first}},
                                    extent.outer, launch, epilogue, overlaps, stream);
        }
      }
      using Leaves = ColumnLeaves<F, kVector>;
      return LaunchTree<Leaves>({data, extent.count, extent.inner, extent.first}, extent.outer,
                                launch, epilogue, overlaps, stream);
    }
  }

  static cudaError_t LaunchStates(const StateLeaves<F>& states, std::int64_t outer,
                                  const TreeLaunch& launch, const Epilogue<F>& epilogue,
                                  bool overlaps, cudaStream_t stream) {
    using Leaves = StateLeaves<F>;
    if constexpr (!kHasManyAccumulators<F>) {
      if (launch.leaves == 1)
        return LaunchTree<Leaves, 1>(states, outer, launch, epilogue, overlaps, stream);
      if (launch.leaves == 8)
        return LaunchTree<Leaves, 8>(states, outer, launch, epilogue, overlaps, stream);
    }
    return LaunchTree<Leaves, 32>(states, outer, launch, epilogue, overlaps, stream);
  }

  template <class Leaves, int kLeaves = 0>
  static cudaError_t LaunchTree(const Leaves& leaves, std::int64_t outer, const TreeLaunch& launch,
                                const Epilogue<F>& epilogue, bool overlaps, cudaStream_t stream) {
    return LaunchPass(
        TreeKernel<Leaves, kLeaves>,
        {static_cast<unsigned>(launch.blocks()), static_cast<unsigned>(launch.threads()), overlaps,
         launch.dynamic_shared_bytes()},
        stream, leaves, outer, launch, epilogue);
  }
};

// Engines have no state.
template <typename T>
const Engine& EngineFor(FusedOpSet fused_op_set) {
  return exact::VisitFold<T>(fused_op_set, [](auto fold) -> const Engine& {
    static constexpr EngineOf<typename decltype(fold)::type> kEngine;
    return kEngine;
  });
}

template <typename T>
const Engine& ProductEngineFor(NanPolicy nan_policy) {
  static constexpr EngineOf<exact::ProductFold<T, NanPolicy::kPropagate>> kPropagating;
  static constexpr EngineOf<exact::ProductFold<T, NanPolicy::kOmit>> kOmitting;
  if (nan_policy == NanPolicy::kOmit) return kOmitting;
  return kPropagating;
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_ENGINE_CUH_
