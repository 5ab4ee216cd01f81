#!/bin/sh
# Compiles each program, which is named for its folder, into a folder of that name below $1 (default: where they are checked
# in). Needs clang 14, whose output is the same on every machine, and the headers of libbpf.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
go build -o "$tools" github.com/cilium/ebpf/cmd/bpf2go
for source in */*.c; do
  program=$(dirname "$source")
  mkdir -p "$out/$program"
  GOPACKAGE=$program "$tools/bpf2go" -cc clang-14 -strip llvm-strip-14 -target bpfel -output-dir "$out/$program" -output-stem "$program" \
    Kernel "$source" -- -O2 -mcpu=v3 -Wall -Wextra -Werror "-I/usr/include/$(uname -m)-linux-gnu" >/dev/null
done
