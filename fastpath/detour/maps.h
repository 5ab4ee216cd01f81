// What the agent tells the fast path, and what it remembers and counts.
#pragma once

#include "../lib/packet.h"

enum {
	VIPS_MAX = 4096,
	SIBLINGS_MAX = 63,	// routers spread over no more than 64 engines
	ENGINES_MAX = 1024,
	FLOWS_MAX = 65536,	// the one that was seen longest ago makes room
};

// The other engines that may hold flows to an address.
struct siblings {
	// From when on each of them knows the others, by the monotonic clock: Plans do not reach all at the same moment.
	__u64 settled_ns;
	__u32 count;
	struct address engine[SIBLINGS_MAX];
};

struct flow {
	struct address client, vip;
	__be16 client_port, vip_port;
};

// What is known of the flow of a stray packet.
struct whereabouts {
	struct address engine;	// that holds it; all zero: not known
	__u64 heard_ns;		// when that engine said so last
	__u64 asked_ns;		// when the last search began, since then
	__u32 asked;		// how many there were
	__u32 packets;		// that went along in the last one
};

// How much went out in search of flows lately.
struct budget {
	__u64 since_ns;
	__u64 bytes;
};

enum count { // message Detours of api/engine/v1 says what they are
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

// Until when this engine takes packets from others, by the monotonic clock: the agent puts it off while the data plane lives.
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

// Engines that packets are taken from and passed on to, each with the interface that leads there.
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
