#!/bin/sh
# Generates the Go side of the contract into $1 (default: where it is checked in). Needs protoc.
set -eu
cd "$(dirname "$0")"
out=${1:-gen/go}
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
go build -o "$tools" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
mkdir -p "$out"
PATH=$tools:$PATH protoc -I. \
  --go_out="$out" --go_opt=module=github.com/weir-lb/weir/api/gen/go \
  --go-grpc_out="$out" --go-grpc_opt=module=github.com/weir-lb/weir/api/gen/go \
  dataplane/v1/dataplane.proto dataplane/v1/connections.proto dataplane/v1/content.proto dataplane/v1/groups.proto dataplane/v1/identity.proto dataplane/v1/rules.proto dataplane/v1/scripts.proto engine/v1/engine.proto
