#!/usr/bin/env bash
# The kernels as a package: installed into a folder, found from outside the tree without gRPC and
# Protobuf, used by examples/kernels.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tests/kernels/package_test.sh BUILD FOLDER

Installs the component `kernels` of BUILD into FOLDER, builds examples/kernels with it there ($CMAKE
and $CXX, if set), and runs those of the CPU; those of a build with CUDA also where a GPU answers.
Exit status 0 when they print what is expected, and nothing that is installed asks for gRPC or
Protobuf.
HELP
}

if [ $# -ne 2 ]; then
  usage >&2
  exit 2
fi
build=$(realpath "$1")
folder=$(realpath -m "$2")
cmake=${CMAKE:-cmake}
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

rm -rf "$folder"
mkdir -p "$folder"
"$cmake" --install "$build" --component kernels --prefix "$folder/prefix" >"$folder/install.log"
# The package's own file names them for its other component.
if grep -rliE 'grpc|protobuf' "$folder/prefix" --include='*.h' --include='warpfold-kernels*'; then
  echo "the package of the kernels names gRPC or Protobuf"
  exit 1
fi
for library in "$folder"/prefix/lib*/*.so "$folder"/prefix/lib*/*/*.so; do
  [ -e "$library" ] || continue
  if ldd "$library" | grep -E 'grpc|protobuf'; then
    echo "$library needs gRPC or Protobuf"
    exit 1
  fi
done

# The tree's headers are not there.
cp -r "$root/examples/kernels" "$folder/examples"
for step in "-S $folder/examples -B $folder/build -DCMAKE_PREFIX_PATH=$folder/prefix \
  -DCMAKE_DISABLE_FIND_PACKAGE_gRPC=ON -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON" \
  "--build $folder/build"; do
  # shellcheck disable=SC2086  # words
  "$cmake" $step >"$folder/build.log" 2>&1 || {
    cat "$folder/build.log"
    exit 1
  }
done

statistics='sum      299.9     299.8     299.7
mean    0.2999    0.2998    0.2997
std   0.200075       0.2  0.199875
min          0         0         0
max        0.6       0.6       0.6'
# expect PROGRAM TEXT
expect() {
  local said
  said=$("$folder/build/$1")
  if [ "$said" != "$2" ]; then
    echo "$1 printed: $said"
    exit 1
  fi
}
expect cpu_sum 'exact 1.001, in order 0.001'
expect cpu_statistics "$statistics"
if [ -x "$folder/build/cuda_sum" ] && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
  expect cuda_sum 'exact 1.001'
  expect cuda_statistics "$statistics"
fi

# A program may have headers of such names itself, be C++17 by habit, and a CUDA source.
mkdir -p "$folder/program/kernels"
for header in types plan; do
  echo '#error "not the installed one"' >"$folder/program/kernels/$header.h"
done
echo '#include <warpfold/cpu.h>' >"$folder/program/cpu.cc"
languages=CXX
sources=cpu.cc
if [ -e "$folder/prefix/include/warpfold/cuda.h" ]; then
  echo '#include <warpfold/cuda.h>' >"$folder/program/cuda.cu"
  languages='CXX CUDA'
  sources='cpu.cc cuda.cu'
fi
cat >"$folder/program/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.24)
project(program LANGUAGES $languages)
set(CMAKE_CXX_STANDARD 17)
find_package(warpfold REQUIRED COMPONENTS kernels)
add_library(program OBJECT $sources)
target_include_directories(program PRIVATE "$folder/program")
target_link_libraries(program PRIVATE warpfold::kernels)
CMAKE
if ! "$cmake" -S "$folder/program" -B "$folder/program/build" -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DCMAKE_CUDA_ARCHITECTURES=90 >"$folder/program.log" 2>&1 ||
  ! "$cmake" --build "$folder/program/build" >>"$folder/program.log" 2>&1; then
  cat "$folder/program.log"
  exit 1
fi
if ${CXX:-c++} -std=c++17 -fsyntax-only -I "$folder/prefix/include" "$folder/program/cpu.cc" \
  2>"$folder/program.log" || ! grep -q 'warpfold needs C++20' "$folder/program.log"; then
  cat "$folder/program.log"
  exit 1
fi

# A component that is not there is said to be missing.
mkdir "$folder/client"
printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' 'project(client LANGUAGES CXX)' \
  'find_package(warpfold REQUIRED COMPONENTS client)' >"$folder/client/CMakeLists.txt"
log=$folder/client.log
if "$cmake" -S "$folder/client" -B "$folder/client/build" \
  -DCMAKE_PREFIX_PATH="$folder/prefix" >"$log" 2>&1 ||
  ! grep -q 'component client is not installed' "$log"; then
  cat "$log"
  exit 1
fi
