// How one engine hands a packet to another: whole, behind an Ethernet header of its own, an IPv4 and a UDP header and four
// bytes that say what it is.
#pragma once

#include "packet.h"

enum {
	TUNNEL_PORT = 6090,
	TUNNEL_VERSION = 1,
	TUNNEL_TTL = 64,
};

enum kind {
	CARRY = 0,	// a packet of a flow that you hold
	ASK = 1,	// the same, if you hold it; then say so
	OWN = 2,	// I hold the flow of the packet that you asked with, and have taken it
};

struct tunnel {
	__u8 version;
	__u8 kind;
	__be16 reserved;
};

struct outer {
	struct iphdr ip;
	struct udphdr udp;
	struct tunnel tunnel;
};

enum { // offsets in a packet that has all of these
	OUTER_AT = ETH_HLEN,
	TUNNEL_AT = OUTER_AT + sizeof(struct iphdr) + sizeof(struct udphdr),
	INNER_AT = OUTER_AT + sizeof(struct outer),
};

enum { // of bpf_skb_adjust_room; older headers do not have them
	DECAP_L3_IPV4 = 1 << 7,
	DECAP_L3_IPV6 = 1 << 8,
};

static __always_inline __be16 checksum(const struct iphdr *ip)
{
	const __u16 *words = (const void *)ip;
	__u32 sum = 0;

#pragma unroll
	for (int i = 0; i < (int)(sizeof(*ip) / 2); i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

// address_to writes the headers of a packet that has room for them.
static __always_inline long address_to(struct __sk_buff *skb, const struct address *from, const struct address *to, enum kind kind, __be16 from_port)
{
	__u32 bytes = skb->len - OUTER_AT;
	struct outer outer = {
		.ip = {
			.version = 4, .ihl = 5, .tot_len = bpf_htons(bytes), .frag_off = bpf_htons(0x4000), .ttl = TUNNEL_TTL,
			.protocol = IPPROTO_UDP, .saddr = from->word[3], .daddr = to->word[3],
		},
		.udp = { .source = from_port, .dest = bpf_htons(TUNNEL_PORT), .len = bpf_htons(bytes - sizeof(struct iphdr)) },
		.tunnel = { .version = TUNNEL_VERSION, .kind = kind },
	};

	outer.ip.check = checksum(&outer.ip);
	return bpf_skb_store_bytes(skb, OUTER_AT, &outer, sizeof(outer), 0);
}

// wrap makes the room. Segments that the kernel has yet to cut keep their size: listeners left room for these headers.
static __always_inline long wrap(struct __sk_buff *skb)
{
	const __u64 how = BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP | BPF_F_ADJ_ROOM_FIXED_GSO;
	const __be16 protocol = bpf_htons(ETH_P_IP);
	long failed = bpf_skb_adjust_room(skb, sizeof(struct outer), BPF_ADJ_ROOM_MAC, how);

	if (failed)
		return failed;
	return bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_proto), &protocol, sizeof(protocol), 0);
}

// unwrap makes a packet what it was.
static __always_inline long unwrap(struct __sk_buff *skb, _Bool is_ipv6)
{
	const __u64 how = BPF_F_ADJ_ROOM_FIXED_GSO | (is_ipv6 ? DECAP_L3_IPV6 : DECAP_L3_IPV4);
	const __be16 protocol = is_ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	long failed = bpf_skb_adjust_room(skb, -(int)sizeof(struct outer), BPF_ADJ_ROOM_MAC, how);

	if (failed)
		return failed;
	return bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_proto), &protocol, sizeof(protocol), 0);
}

// turn_back readies a packet to go where it came from.
static __always_inline long turn_back(struct __sk_buff *skb, const struct packet *outer)
{
	__u8 hardware[2][ETH_ALEN];
	long failed = bpf_skb_load_bytes(skb, 0, hardware, sizeof(hardware));

	if (!failed)
		failed = bpf_skb_store_bytes(skb, 0, hardware[1], ETH_ALEN, 0);
	if (!failed)
		failed = bpf_skb_store_bytes(skb, ETH_ALEN, hardware[0], ETH_ALEN, 0);
	if (!failed)
		failed = address_to(skb, &outer->to, &outer->from, OWN, outer->from_port);
	return failed;
}
