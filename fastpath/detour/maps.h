// What the agent tells the program, and what the program remembers and counts.
#pragma once

#include "../lib/packet.h"

enum {
	VIPS_MAX = 4096,
	SIBLINGS_MAX = 63,	// routers distribute over at most 64 engines
	ENGINES_MAX = 1024,
	FLOWS_MAX = 65536,	// the least recently used one is replaced
};

// The other engines that may hold flows to an address.
struct siblings {
	// When all of them knew each other, by the monotonic clock: Plans do not reach all engines at once.
	__u64 settled_ns;
	__u32 count;
	struct address engine[SIBLINGS_MAX];
};

struct flow {
	struct address client, vip;
	__be16 client_port, vip_port;
};

// What is known about the flow of a stray.
struct whereabouts {
	struct address engine;	// which holds the flow; all zero: unknown
	__u64 heard_ns;		// when that engine last confirmed it
	__u64 asked_ns;		// when the last search since then began
	__u32 asked;		// how many searches there were since then
	__u32 packets;		// how many packets were sent in the last search
};

// What searches have sent in the current second.
struct budget {
	__u64 since_ns;
	__u64 bytes;
};

enum count { // explained at message Detours in api/engine/v1
	STRAYS,
	SEARCHED,
	FOUND,
	PASSED_ON,
	TAKEN,
	UNOWNED,
	DROPPED,
	COUNTS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct address);
} own SEC(".maps");

// Until when this engine takes packets from others, by the monotonic clock. The agent extends it while the data plane
// lives.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} alive_until SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, VIPS_MAX);
	__type(key, struct address);
	__type(value, struct siblings);
} vips SEC(".maps");

// The engines that exchange packets with this one, each with the interface that leads to it.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ENGINES_MAX);
	__type(key, struct address);
	__type(value, __u32);
} engines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS_MAX);
	__type(key, struct flow);
	__type(value, struct whereabouts);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct budget);
} budgets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(enum count which)
{
	__u32 key = which;
	__u64 *counter = bpf_map_lookup_elem(&counters, &key);

	if (counter)
		*counter += 1;
}
