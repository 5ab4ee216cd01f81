// What the programs read of a packet. Addresses are IPv6; IPv4 addresses are mapped (::ffff:0:0/96).
#pragma once

#include <stddef.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct address {
	__be32 word[4];
};

struct packet {
	struct address from, to;
	__be16 from_port, to_port;
	__u32 payload;	// offset of the bytes after the IP header
	__u32 ack_number;	// TCP with ACK only
	__u8 protocol;
	__u8 flags;	// of TCP; for ICMP, its type
	_Bool is_ipv6;
};

enum {
	FRAGMENT = 0x3fff,	// in the IPv4 field of flags and offset: set if the packet is a fragment
	FIN = 0x01,
	SYN = 0x02,
	ACK = 0x10,
	UNREACHABLE = 3,	// ICMP; includes "packet too big"
	TOO_BIG = 2,		// ICMPv6
};

static __always_inline struct address mapped(__be32 ipv4)
{
	return (struct address){ .word = { 0, 0, bpf_htonl(0xffff), ipv4 } };
}

static __always_inline _Bool is_ipv4(const struct address *a)
{
	return !(a->word[0] | a->word[1]) && a->word[2] == bpf_htonl(0xffff);
}

// parse_payload reads the relevant fields of TCP, UDP or ICMP.
static __always_inline _Bool parse_payload(struct __sk_buff *skb, struct packet *p)
{
	__be16 words[7];	// for TCP: ports, sequence numbers, flags

	p->flags = 0;
	p->ack_number = 0;
	switch (p->protocol) {
	case IPPROTO_UDP:
		if (bpf_skb_load_bytes(skb, p->payload, words, sizeof(struct udphdr)))
			return 0;
		break;
	case IPPROTO_TCP:
		if (bpf_skb_load_bytes(skb, p->payload, words, sizeof(words)))
			return 0;
		p->ack_number = (__u32)bpf_ntohs(words[4]) << 16 | bpf_ntohs(words[5]);
		p->flags = bpf_ntohs(words[6]);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if (bpf_skb_load_bytes(skb, p->payload, words, 8))
			return 0;
		p->flags = bpf_ntohs(words[0]) >> 8;
		return 1;
	default:
		return 0;
	}
	p->from_port = words[0];
	p->to_port = words[1];
	return 1;
}

static __always_inline _Bool is_icmp_error(const struct packet *p)
{
	return p->is_ipv6 ? p->protocol == IPPROTO_ICMPV6 && p->flags == TOO_BIG : p->protocol == IPPROTO_ICMP && p->flags == UNREACHABLE;
}

// parse reads an IP packet at an offset: whole TCP segments, UDP datagrams and ICMP messages without extension headers.
// It returns 0 for all other packets.
static __always_inline _Bool parse(struct __sk_buff *skb, __u32 offset, _Bool is_ipv6, struct packet *p)
{
	p->is_ipv6 = is_ipv6;
	if (is_ipv6) {
		struct ipv6hdr ip;

		if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)))
			return 0;
		__builtin_memcpy(&p->from, &ip.saddr, sizeof(p->from));
		__builtin_memcpy(&p->to, &ip.daddr, sizeof(p->to));
		p->protocol = ip.nexthdr;
		p->payload = offset + sizeof(ip);
	} else {
		struct iphdr ip;

		if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)))
			return 0;
		if (ip.frag_off & bpf_htons(FRAGMENT))
			return 0;
		p->from = mapped(ip.saddr);
		p->to = mapped(ip.daddr);
		p->protocol = ip.protocol;
		p->payload = offset + ip.ihl * 4;
	}
	return parse_payload(skb, p);
}
