#!/bin/sh
# Compiles the programs into $1 (default: where they are checked in). Needs clang 14, whose output is the same on every
# machine, and the headers of libbpf.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
go build -o "$tools" github.com/cilium/ebpf/cmd/bpf2go
GOPACKAGE=fastpath "$tools/bpf2go" -cc clang-14 -strip llvm-strip-14 -target bpfel -type siblings -output-dir "$out" Detour detour.c -- \
  -O2 -mcpu=v3 -Wall -Wextra -Werror "-I/usr/include/$(uname -m)-linux-gnu" >/dev/null
