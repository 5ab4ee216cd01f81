// How one engine sends a packet to another: whole, behind an IP header, a UDP header and four bytes that give its kind.
#pragma once

#include "packet.h"

enum {
	TUNNEL_PORT = 6090,
	TUNNEL_VERSION = 1,
	TUNNEL_TTL = 64,
	DONT_FRAGMENT = 0x4000,
};

enum kind {
	CARRY = 0,	// a packet of a flow that the receiver holds
	ASK = 1,	// a packet whose flow the receiver may hold: then it answers with OWN
	OWN = 2,	// the answer to ASK: the sender holds the flow, and has taken the packet
	HEAR = 3,	// an ICMP error about a packet that the receiver may have sent
};

struct tunnel {
	__u8 version;
	__u8 kind;
	__be16 reserved;
};

// The headers after the IP header, which is IPv4 or IPv6 like the address of this engine.
struct shim {
	struct udphdr udp;
	struct tunnel tunnel;
};

struct outer4 {
	struct iphdr ip;
	struct shim shim;
};

struct outer6 {
	struct ipv6hdr ip;
	struct shim shim;
};

enum { // for bpf_skb_adjust_room, since Linux 6.3; older headers lack them
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

static __always_inline struct shim shim(__be16 from_port, enum kind kind, __u32 bytes)
{
	return (struct shim){
		.udp = { .source = from_port, .dest = bpf_htons(TUNNEL_PORT), .len = bpf_htons(bytes) },
		.tunnel = { .version = TUNNEL_VERSION, .kind = kind },
	};
}

// address_to writes the headers in front of a packet. The UDP checksum is 0, because the inner packet has its own.
static __always_inline long address_to(struct __sk_buff *skb, const struct address *from, const struct address *to, enum kind kind, __be16 from_port)
{
	__u32 bytes = skb->len - ETH_HLEN;

	if (is_ipv4(from)) {
		struct outer4 outer = {
			.ip = {
				.version = 4, .ihl = 5, .tot_len = bpf_htons(bytes), .frag_off = bpf_htons(DONT_FRAGMENT), .ttl = TUNNEL_TTL,
				.protocol = IPPROTO_UDP, .saddr = from->word[3], .daddr = to->word[3],
			},
			.shim = shim(from_port, kind, bytes - sizeof(struct iphdr)),
		};

		outer.ip.check = checksum(&outer.ip);
		return bpf_skb_store_bytes(skb, ETH_HLEN, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM);
	}
	struct outer6 outer = {
		.ip = {
			.version = 6, .payload_len = bpf_htons(bytes - sizeof(struct ipv6hdr)), .nexthdr = IPPROTO_UDP, .hop_limit = TUNNEL_TTL,
		},
		.shim = shim(from_port, kind, bytes - sizeof(struct ipv6hdr)),
	};

	__builtin_memcpy(&outer.ip.saddr, from, sizeof(*from));
	__builtin_memcpy(&outer.ip.daddr, to, sizeof(*to));
	return bpf_skb_store_bytes(skb, ETH_HLEN, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM);
}

// readdress changes the destination of a packet that has its headers.
static __always_inline long readdress(struct __sk_buff *skb, const struct address *before, const struct address *to)
{
	const __u32 at = ETH_HLEN + offsetof(struct iphdr, daddr);

	if (!is_ipv4(to))
		return bpf_skb_store_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, daddr), to, sizeof(*to), BPF_F_RECOMPUTE_CSUM);
	bpf_l3_csum_replace(skb, ETH_HLEN + offsetof(struct iphdr, check), before->word[3], to->word[3], sizeof(to->word[3]));
	return bpf_skb_store_bytes(skb, at, &to->word[3], sizeof(to->word[3]), 0);
}

// resize adds or removes room after the Ethernet header; the packet is IPv4 or IPv6 afterwards. Segments that the
// kernel has yet to cut keep their size: listeners have left room for these headers.
static __always_inline long resize(struct __sk_buff *skb, int bytes, __u64 how, _Bool is_ipv6)
{
	const __be16 protocol = is_ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	long failed = bpf_skb_adjust_room(skb, bytes, BPF_ADJ_ROOM_MAC, how | BPF_F_ADJ_ROOM_FIXED_GSO);

	if (failed)
		return failed;
	return bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_proto), &protocol, sizeof(protocol), 0);
}

// wrap makes room for the headers.
static __always_inline long wrap(struct __sk_buff *skb, const struct address *from)
{
	if (is_ipv4(from))
		return resize(skb, sizeof(struct outer4), BPF_F_ADJ_ROOM_ENCAP_L4_UDP | BPF_F_ADJ_ROOM_ENCAP_L3_IPV4, 0);
	return resize(skb, sizeof(struct outer6), BPF_F_ADJ_ROOM_ENCAP_L4_UDP | BPF_F_ADJ_ROOM_ENCAP_L3_IPV6, 1);
}

// unwrap removes the headers. Older kernels refuse to if the two address families differ.
static __always_inline long unwrap(struct __sk_buff *skb, _Bool outer_is_ipv6, _Bool is_ipv6)
{
	const int bytes = outer_is_ipv6 ? sizeof(struct outer6) : sizeof(struct outer4);
	const __u64 changed = is_ipv6 ? DECAP_L3_IPV6 : DECAP_L3_IPV4;

	return resize(skb, -bytes, outer_is_ipv6 == is_ipv6 ? 0 : changed, is_ipv6);
}

// turn_back addresses a packet to the router that it came from.
static __always_inline long turn_back(struct __sk_buff *skb)
{
	__u8 hardware[2][ETH_ALEN];
	long failed = bpf_skb_load_bytes(skb, 0, hardware, sizeof(hardware));

	if (!failed)
		failed = bpf_skb_store_bytes(skb, 0, hardware[1], ETH_ALEN, 0);
	if (!failed)
		failed = bpf_skb_store_bytes(skb, ETH_ALEN, hardware[0], ETH_ALEN, 0);
	return failed;
}
