#!/usr/bin/env bash
# Draws the diagrams of docs/ from their text.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'HELP'
Usage: docs/pictures/draw.sh

Draws NAME.svg from each NAME.dot beside this script, by Graphviz (Debian's package graphviz). Each
SVG names the SHA-256 of its source, by which tests/docs sees that it was drawn from it.
HELP
}

case "${1:-}" in
  "") ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac
if ! command -v dot >/dev/null; then
  echo "draw: there is no dot; install graphviz" >&2
  exit 1
fi
for source in *.dot; do
  hash=$(sha256sum "$source" | cut -d ' ' -f 1)
  dot -Tsvg "$source" >"${source%.dot}.svg.new"
  # White space at line ends is Graphviz's; the comment comes after the XML declaration.
  sed -e 's/[[:space:]]*$//' -e "1a <!-- drawn from $source, sha256 $hash -->" \
    "${source%.dot}.svg.new" >"${source%.dot}.svg"
  rm "${source%.dot}.svg.new"
  echo "drawn: docs/pictures/${source%.dot}.svg"
done
