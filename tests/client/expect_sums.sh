# shellcheck shell=bash
# Sourced by the tests of client programs.

# expect_sums BUILD FOLDER PROGRAM: starts BUILD's server on a free port, its files in FOLDER, and
# succeeds when PROGRAM ADDRESS prints the sums of the examples' rows.
expect_sums() {
  local build=$1 folder=$2 program=$3 sums
  "$build/server/warpfold-server" --backend=cpu --listen-address=127.0.0.1:0 \
    --metrics-address=127.0.0.1:0 --port-file="$folder/port" >"$folder/server.log" 2>&1 &
  server=$!
  trap 'kill "$server" 2>/dev/null || true; wait "$server" || true' EXIT
  while [ ! -s "$folder/port" ]; do
    kill -0 "$server" || {
      cat "$folder/server.log"
      exit 1
    }
    sleep 0.05
  done
  sums=$("$program" "127.0.0.1:$(cut -d ' ' -f 1 "$folder/port")")
  echo "sums: $sums"
  [ "$sums" = "6 15" ]
}
