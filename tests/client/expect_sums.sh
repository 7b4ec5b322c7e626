# shellcheck shell=bash
# Sourced by the tests of client programs.

# expect_sums BUILD FOLDER PROGRAM...: starts BUILD's server on a free port, its files in FOLDER,
# and succeeds when each PROGRAM ADDRESS prints the sums of the examples' rows.
expect_sums() {
  local build=$1 folder=$2 sums program
  shift 2
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
  for program in "$@"; do
    sums=$("$program" "127.0.0.1:$(cut -d ' ' -f 1 "$folder/port")")
    echo "$(basename "$program"): $sums"
    [ "$sums" = "6 15" ] || return 1
  done
}
