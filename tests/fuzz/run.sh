#!/usr/bin/env bash
# Builds the fuzz targets with Clang and gives each some seconds, two at a time.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat <<'HELP'
Usage: tests/fuzz/run.sh [--keep] SECONDS [TARGET...]

Builds (preset fuzz: Clang, AddressSanitizer, UndefinedBehaviorSanitizer) and runs each target, or
the named ones, for SECONDS, from the inputs in tests/fuzz/corpus. Two run at a time.
--keep adds those of the inputs found that reach new code to the corpus.
Exit status: 0; 1: a target ended at an input, which the last lines name, with the command that
shows it again; 2: an argument is wrong.
HELP
}

keep=
seconds=
targets=()
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      usage
      exit 0
      ;;
    --keep) keep=yes ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) if [ -z "$seconds" ]; then seconds=$argument; else targets+=("$argument"); fi ;;
  esac
done
if ! [[ "$seconds" =~ ^[0-9]+$ ]]; then
  usage >&2
  exit 2
fi
corpus=tests/fuzz/corpus
mapfile -t known < <(find "$corpus" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
for target in "${targets[@]}"; do
  if [[ ! " ${known[*]} " == *" $target "* ]]; then
    echo "fuzz: unknown target '$target'; the targets are: ${known[*]}" >&2
    exit 2
  fi
done
if [ ${#targets[@]} -eq 0 ]; then targets=("${known[@]}"); fi

build=build/fuzz
mkdir -p "${build%/*}"
launchers=()
if command -v ccache >/dev/null; then launchers=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset fuzz "${launchers[@]}" >"$build.log" 2>&1 || {
  cat "$build.log" >&2
  exit 1
}
cmake --build "$build" --target fuzz

# Memory that is not the input's: an answer of a few bytes may ask for some MiB.
export ASAN_OPTIONS=allocator_may_return_null=1
fuzz() {
  local target=$1 found=$build/found/$1 log=$build/found/$1.log
  mkdir -p "$found"
  if ! "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=65536 \
    -timeout=10 -rss_limit_mb=2048 -seed=20261129 -print_final_stats=1 \
    -artifact_prefix="$build/found/crash-$target-" \
    "$found" "$corpus/$target" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    local input
    input=$(sed -n "s/.*Test unit written to //p" "$log" | tail -n 1)
    echo "fuzz: $target ended; again: $build/tests/fuzz/fuzz_$target ${input:-(see $log)}" >&2
    return 1
  fi
  local covered
  covered=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
  printf 'fuzz: %-18s %9s inputs in %s s, %s edges covered\n' "$target" \
    "$(sed -n 's/stat::number_of_executed_units: *//p' "$log")" "$seconds" "$covered"
  if [ -n "$keep" ]; then
    "$build/tests/fuzz/fuzz_$target" -merge=1 "$corpus/$target" "$found" >>"$log" 2>&1
  fi
}

failed=()
for ((i = 0; i < ${#targets[@]}; i += 2)); do
  pids=()
  for target in "${targets[@]:i:2}"; do
    fuzz "$target" &
    pids+=("$!")
  done
  for j in "${!pids[@]}"; do wait "${pids[$j]}" || failed+=("${targets[i + j]}"); done
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: failed: ${failed[*]}" >&2
  exit 1
fi
