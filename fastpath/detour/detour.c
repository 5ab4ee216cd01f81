//go:build ignore

// Handles packets that a router sends to the wrong engine.
//
// When engines are added or removed, routers distribute flows anew, and packets of a connection arrive at an engine
// that does not hold it. The engine's kernel would answer with a reset. This program runs before that, at the ingress
// of an engine's uplink, and sends such a stray to the engine that holds its flow. To find that engine, it sends copies
// of the flow's first stray to all other engines. The holder takes its copy and answers; later strays go to the holder
// alone. The holder must confirm from time to time: if an engine hangs, its clients should get a reset, and connect to
// another engine.
//
// No packet is passed on twice, and a SYN never. An ICMP error does not follow the path of its flow, so it goes to all
// engines. This program knows no Plan.
#include "maps.h"
#include "../lib/socket.h"
#include "../lib/tunnel.h"

enum {
	NS_PER_MS = 1000000,
	// How long the holder's answer is fresh.
	FRESH_NS = 1000 * NS_PER_MS,
	// A search has failed if no engine answers within this time.
	ANSWER_NS = 100 * NS_PER_MS,
	// A flow is unowned after this many searches: an answer may be lost. Each begins with a packet of the client.
	SEARCHES = 3,
	// How many packets of one flow are sent along in one search: clients send several at once.
	PACKETS_PER_SEARCH = 16,
	// What each core may send: 17,000 searches of 63 engines, with packets without a body.
	SEARCH_BYTES_PER_S = 64 << 20,
};

// What is known about a flow expires after this time: by then, another flow may have its addresses.
static const __u64 KNOWN_NS = 10000ull * NS_PER_MS;
static const __u64 NS_PER_S = 1000ull * NS_PER_MS;

static __always_inline struct flow flow_of(const struct packet *p)
{
	return (struct flow){ .client = p->from, .vip = p->to, .client_port = p->from_port, .vip_port = p->to_port };
}

static __always_inline _Bool is_known(const struct address *a)
{
	return a->word[0] | a->word[1] | a->word[2] | a->word[3];
}

static __always_inline _Bool affordable(const struct __sk_buff *skb, __u32 copies)
{
	__u64 now_ns = bpf_ktime_get_ns(), bytes = (__u64)skb->len * copies;
	__u32 key = 0;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &key);

	if (!budget)
		return 0;
	if (now_ns - budget->since_ns > NS_PER_S)
		*budget = (struct budget){ .since_ns = now_ns };
	if (budget->bytes + bytes > SEARCH_BYTES_PER_S)
		return 0;
	budget->bytes += bytes;
	return 1;
}

// depart sends a wrapped packet to an engine. The kernel finds the route and the neighbour.
static __always_inline int depart(const struct address *engine)
{
	__u32 *interface = bpf_map_lookup_elem(&engines, engine);

	return interface ? bpf_redirect_neigh(*interface, NULL, 0, 0) : TC_ACT_SHOT;
}

// tell_each sends a copy of a packet to each other engine of an address, by way of the router that it came from: a copy
// cannot wait for the resolution of a neighbour. It stops early if the uplink takes no more. Below 0: the packet is
// unchanged. The function is not static, so that the verifier checks it once and not on each path that leads to it.
__noinline int tell_each(struct __sk_buff *skb, __u64 vip_high, __u64 vip_low, __u32 kind)
{
	struct { __u64 high, low; } vip = { vip_high, vip_low };
	struct siblings *siblings = bpf_map_lookup_elem(&vips, &vip);
	__u32 key = 0, i;
	struct address *from = bpf_map_lookup_elem(&own, &key);
	__be16 port = bpf_htons(0xc000 | (bpf_get_hash_recalc(skb) & 0x3fff));

	if (!siblings || !from || wrap(skb, from))
		return -1;
	if (turn_back(skb) || address_to(skb, from, &siblings->engine[0], kind, port))
		return 0;
	for (i = 0; i < SIBLINGS_MAX && i < siblings->count; i++) {
		if (readdress(skb, &siblings->engine[i ? i - 1 : 0], &siblings->engine[i]) || bpf_clone_redirect(skb, skb->ifindex, 0))
			break;
		count(SEARCHED);
	}
	return i == siblings->count;
}

static __always_inline int tell_all(struct __sk_buff *skb, const struct address *vip, enum kind kind)
{
	__u64 halves[2];

	__builtin_memcpy(halves, vip, sizeof(halves));
	return tell_each(skb, halves[0], halves[1], kind);
}

// begin records the first search for a flow.
static __always_inline _Bool begin(const struct flow *flow, __u64 now_ns)
{
	struct whereabouts first = { .asked_ns = now_ns, .asked = 1, .packets = 1 };

	return !bpf_map_update_elem(&flows, flow, &first, BPF_ANY);
}

// go_on counts a packet of the search, or begins the next search. It returns whether the packet may be sent along.
static __always_inline _Bool go_on(struct whereabouts *last, __u64 now_ns)
{
	if (now_ns - last->asked_ns > ANSWER_NS) {
		last->asked_ns = now_ns;
		last->asked += 1;
		last->packets = 0;
	}
	last->packets += 1;
	return last->packets <= PACKETS_PER_SEARCH;
}

// is_unowned returns whether enough searches failed. A search counts only if each engine knew this one by then.
static __always_inline _Bool is_unowned(const struct whereabouts *last, const struct siblings *siblings, __u64 now_ns)
{
	return last->asked >= SEARCHES && now_ns - last->asked_ns > ANSWER_NS && last->asked_ns > siblings->settled_ns;
}

static __always_inline int pass_on(struct __sk_buff *skb, const struct address *from, const struct address *to, enum kind kind)
{
	struct address engine = *to;
	__be16 port = bpf_htons(0xc000 | (bpf_get_hash_recalc(skb) & 0x3fff));

	if (wrap(skb, from) || address_to(skb, from, &engine, kind, port))
		return TC_ACT_SHOT;
	count(PASSED_ON);
	return depart(&engine);
}

// take_back does not count a search that did not reach all engines.
static __always_inline void take_back(const struct flow *flow)
{
	struct whereabouts *last = bpf_map_lookup_elem(&flows, flow);

	if (last && last->asked > 0 && last->packets == 1)
		last->asked -= 1;
}

// find_owner searches for the engine that holds a stray's flow.
static __always_inline int find_owner(struct __sk_buff *skb, const struct packet *p, const struct siblings *siblings, struct whereabouts *last, __u64 now_ns)
{
	struct flow flow = flow_of(p);

	if ((last ? go_on(last, now_ns) : begin(&flow, now_ns)) && affordable(skb, siblings->count) && tell_all(skb, &p->to, ASK) > 0)
		return TC_ACT_SHOT;
	take_back(&flow);
	count(DROPPED);
	return TC_ACT_SHOT;
}

// is_silent returns whether the flow's holder was asked to confirm, and has not answered in time.
static __always_inline _Bool is_silent(const struct whereabouts *last, __u64 now_ns)
{
	return last->asked > 0 && now_ns - last->asked_ns > ANSWER_NS && now_ns - last->heard_ns >= FRESH_NS;
}

static __always_inline _Bool is_worth_knowing(const struct whereabouts *last, __u64 now_ns)
{
	__u64 since_ns = last->asked_ns > last->heard_ns ? last->asked_ns : last->heard_ns;

	if (now_ns - since_ns > KNOWN_NS)
		return 0;
	return !is_known(&last->engine) || bpf_map_lookup_elem(&engines, &last->engine); // 0: that engine was removed
}

// lead_on chooses what happens to a stray.
static __always_inline int lead_on(struct __sk_buff *skb, const struct packet *p, const struct siblings *siblings)
{
	struct flow flow = flow_of(p);
	struct whereabouts *last = bpf_map_lookup_elem(&flows, &flow);
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 key = 0;
	struct address *from = bpf_map_lookup_elem(&own, &key);

	if (!from)
		return TC_ACT_UNSPEC;
	count(STRAYS);
	if (last && !is_worth_knowing(last, now_ns))
		last = NULL;
	if (last && is_unowned(last, siblings, now_ns)) {
		count(UNOWNED);
		return TC_ACT_UNSPEC;
	}
	if (last && is_silent(last, now_ns))
		last->engine = (struct address){};
	if (!last || !is_known(&last->engine))
		return find_owner(skb, p, siblings, last, now_ns);
	if (now_ns - last->heard_ns < FRESH_NS)
		return pass_on(skb, from, &last->engine, CARRY);
	go_on(last, now_ns);
	return pass_on(skb, from, &last->engine, ASK);
}

static __always_inline int from_client(struct __sk_buff *skb, const struct packet *p)
{
	struct siblings *siblings = bpf_map_lookup_elem(&vips, &p->to);

	if (!siblings)
		return TC_ACT_UNSPEC;
	if ((p->flags & (SYN | ACK)) == SYN) {
		struct flow flow = flow_of(p);

		bpf_map_delete_elem(&flows, &flow); // the flow that had these addresses before has ended
		return TC_ACT_UNSPEC;
	}
	if (held(skb, p) != NOTHING)
		return TC_ACT_UNSPEC;
	return lead_on(skb, p, siblings);
}

// spread sends an ICMP error to all engines, because routers cannot know which one it concerns. Each looks for the
// connection.
static __always_inline int spread(struct __sk_buff *skb, const struct packet *p)
{
	struct siblings *siblings = bpf_map_lookup_elem(&vips, &p->to);
	__u32 key = 0;
	struct address *from = bpf_map_lookup_elem(&own, &key);

	if (!siblings || !from || !affordable(skb, siblings->count))
		return TC_ACT_UNSPEC;
	if (tell_all(skb, &p->to, HEAR) < 0)
		return TC_ACT_UNSPEC;
	return unwrap(skb, !is_ipv4(from), p->is_ipv6) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

// learn records which engine holds a flow.
static __always_inline int learn(const struct packet *inner, const struct address *engine)
{
	struct flow flow = flow_of(inner);
	struct whereabouts found = { .engine = *engine, .heard_ns = bpf_ktime_get_ns() };

	if (!bpf_map_update_elem(&flows, &flow, &found, BPF_EXIST))
		count(FOUND);
	return TC_ACT_SHOT;
}

static __always_inline _Bool is_alive(void)
{
	__u32 key = 0;
	__u64 *until_ns = bpf_map_lookup_elem(&alive_until, &key);

	return until_ns && bpf_ktime_get_ns() < *until_ns;
}

// answer returns whether this engine takes a packet, and tells the engine that asked. It does not answer for a
// connection in TIME_WAIT, because another engine may hold that flow by now. Of such a flow it takes only a FIN, which
// clients repeat until it is acknowledged.
static __always_inline _Bool answer(struct __sk_buff *skb, const struct packet *outer, const struct packet *inner)
{
	enum holding holding = held(skb, inner);

	if (holding != ALIVE)
		return holding == ENDED && inner->flags & FIN;
	if (turn_back(skb) || address_to(skb, &outer->to, &outer->from, OWN, outer->from_port))
		return 0;
	bpf_clone_redirect(skb, skb->ifindex, 0);
	return 1;
}

// from_engine handles packets from other engines. It drops a packet of a search if this engine does not hold the flow.
// A packet sent to the known holder always goes to the kernel, which resets a connection that has ended.
static __always_inline int from_engine(struct __sk_buff *skb, const struct packet *outer)
{
	const __u32 tunnel_at = outer->payload + sizeof(struct udphdr), inner_at = tunnel_at + sizeof(struct tunnel);
	const __u32 ip_bytes = outer->is_ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	struct tunnel tunnel;
	struct packet inner;
	__u8 version;

	if (outer->payload != ETH_HLEN + ip_bytes || !bpf_map_lookup_elem(&engines, &outer->from))
		return TC_ACT_UNSPEC;
	if (bpf_skb_load_bytes(skb, tunnel_at, &tunnel, sizeof(tunnel)) || tunnel.version != TUNNEL_VERSION)
		return TC_ACT_SHOT;
	if (bpf_skb_load_bytes(skb, inner_at, &version, sizeof(version)))
		return TC_ACT_SHOT;
	if (!parse(skb, inner_at, version >> 4 == 6, &inner) || !bpf_map_lookup_elem(&vips, &inner.to))
		return TC_ACT_SHOT;
	if (tunnel.kind == HEAR && is_icmp_error(&inner))
		return unwrap(skb, outer->is_ipv6, inner.is_ipv6) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
	if (inner.protocol != IPPROTO_TCP)
		return TC_ACT_SHOT;
	switch (tunnel.kind) {
	case OWN:
		return learn(&inner, &outer->from);
	case ASK:
		if (!is_alive() || !answer(skb, outer, &inner))
			return TC_ACT_SHOT;
		break;
	case CARRY:
		if (!is_alive())
			return TC_ACT_SHOT;
		break;
	default:
		return TC_ACT_SHOT;
	}
	count(TAKEN);
	return unwrap(skb, outer->is_ipv6, inner.is_ipv6) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("tc")
int uplink(struct __sk_buff *skb)
{
	struct packet p;

	if (skb->pkt_type != PACKET_HOST || (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6)))
		return TC_ACT_UNSPEC;
	if (!parse(skb, ETH_HLEN, skb->protocol == bpf_htons(ETH_P_IPV6), &p))
		return TC_ACT_UNSPEC;
	if (p.protocol == IPPROTO_TCP)
		return from_client(skb, &p);
	if (is_icmp_error(&p))
		return spread(skb, &p);
	if (p.protocol != IPPROTO_UDP || p.to_port != bpf_htons(TUNNEL_PORT))
		return TC_ACT_UNSPEC;
	return from_engine(skb, &p);
}

char terms[] SEC("license") = "Dual BSD/GPL";
