# shellcheck shell=bash
# What scripts of .ci/ say about the machine. Sourced.

cpu_model() { sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1; }

load() { cut -d ' ' -f 1-3 /proc/loadavg; }

# first_processors N: the first N that this process may use, as taskset takes them.
first_processors() {
  taskset --cpu-list --pid $$ | sed 's/.*: //' | tr , '\n' |
    while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done |
    head -n "$1" | paste -sd ,
}
