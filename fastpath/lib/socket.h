// Whether this engine holds a packet's flow: its kernel has a socket for it.
#pragma once

#include "packet.h"

enum holding {
	NOTHING,
	ENDED,	// in TIME_WAIT
	ALIVE,
};

// is_cookie returns whether a packet completes a handshake by SYN cookie, of which the kernel keeps no state.
static __always_inline _Bool is_cookie(struct __sk_buff *skb, const struct packet *p, struct bpf_sock *listener)
{
	struct tcphdr tcp;

	if (bpf_skb_load_bytes(skb, p->payload, &tcp, sizeof(tcp)))
		return 0;
	if (p->is_ipv6) {
		struct ipv6hdr ip;

		return !bpf_skb_load_bytes(skb, p->payload - sizeof(ip), &ip, sizeof(ip)) &&
		       !bpf_tcp_check_syncookie(listener, &ip, sizeof(ip), &tcp, sizeof(tcp));
	}
	struct iphdr ip = { .version = 4, .ihl = 5, .saddr = p->from.word[3], .daddr = p->to.word[3] };

	return !bpf_tcp_check_syncookie(listener, &ip, sizeof(ip), &tcp, sizeof(tcp));
}

// The offset, in the kernel's request socket, of the initial sequence number of the SYN-ACK. It differs between
// kernels. 0: unknown, and each handshake counts as this engine's.
const volatile __u32 answer_number_at;

// goes_on returns whether a packet belongs to the handshake that this engine has begun. Another engine may have
// received a repetition of the SYN, and may have answered first. Until the handshake is complete, a client acknowledges
// the sequence number after the SYN-ACK's, because it has received nothing else. A request of another kind (MPTCP)
// counts as this engine's.
static __always_inline _Bool goes_on(const struct packet *p, struct bpf_sock *socket)
{
	const __u32 at = answer_number_at;
	const void *request;

	if (!at || !(p->flags & ACK))
		return 1;
	request = bpf_skc_to_tcp_request_sock(socket);
	return !request || p->ack_number == *(const __u32 *)(request + at) + 1;
}

static __noinline enum holding held(struct __sk_buff *skb, const struct packet *p)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *socket;
	__u32 size;
	enum holding holding;

	if (p->is_ipv6) {
		__builtin_memcpy(tuple.ipv6.saddr, &p->from, sizeof(p->from));
		__builtin_memcpy(tuple.ipv6.daddr, &p->to, sizeof(p->to));
		tuple.ipv6.sport = p->from_port;
		tuple.ipv6.dport = p->to_port;
		size = sizeof(tuple.ipv6);
	} else {
		tuple.ipv4.saddr = p->from.word[3];
		tuple.ipv4.daddr = p->to.word[3];
		tuple.ipv4.sport = p->from_port;
		tuple.ipv4.dport = p->to_port;
		size = sizeof(tuple.ipv4);
	}
	socket = bpf_skc_lookup_tcp(skb, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return NOTHING;
	switch (socket->state) {
	case BPF_TCP_LISTEN:
		holding = is_cookie(skb, p, socket) ? ALIVE : NOTHING;
		break;
	case BPF_TCP_NEW_SYN_RECV:
		holding = goes_on(p, socket) ? ALIVE : NOTHING;
		break;
	case BPF_TCP_TIME_WAIT:
		holding = ENDED;
		break;
	default:
		holding = ALIVE;
	}
	bpf_sk_release(socket);
	return holding;
}
