#!/usr/bin/env bash
# Writes to FILE what protoc makes of the contract; the Python client carries it as contract.binpb.
# Usage: tools/catalogue/contract.sh FILE
set -euo pipefail
protoc --proto_path="$(dirname "$0")/../../proto" --include_imports --descriptor_set_out="$1" \
  warpfold/v1/reduction.proto warpfold/v1/tensor.proto google/rpc/error_details.proto
