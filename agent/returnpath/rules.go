package returnpath

import (
	"hash/fnv"
	"net/netip"

	"github.com/weir-lb/weir/agent/plan"
)

// protocol marks our rules and routes, so that `ip rule` shows them as "proto 87". Nobody else has this number
// (iproute2, rt_protos).
const protocol = 87

// Each engine has a block of numbers: priorities of rules, and the first of them is also the number of its table. So
// engines that share a network namespace leave the rules of each other alone.
const (
	firstBlock = 100
	blocks     = 1000
)

// Stages of a packet in the block, in the order of their priorities. A rule can compare ports of a packet. It finds
// none in fragments of a datagram, which the kernel only puts together after it has chosen a route.
const (
	ours      = iota // a packet that this machine sends skips the other stages
	other            // so does one that is no datagram
	answer           // a datagram from the port of a server is delivered here
	otherPort        // a datagram from any other port skips the next stage
	fragment         // what is left from the address of a server is delivered here
	end
	blockLen
)

// lastPort of a range of ports: the kernel takes no range that ends at 65535.
const lastPort = 65534

// rule is one of the kernel's rules for choosing a routing table.
type rule struct {
	stage int
	is6   bool
	from  netip.Addr // invalid: anywhere
	ports [2]uint16  // that the packet is from, first and last; 0: any
}

// firstOf is the first number of an engine's block.
func firstOf(engineUUID string) int {
	hash := fnv.New32a()
	hash.Write([]byte(engineUUID))
	return firstBlock + int(hash.Sum32()%blocks)*blockLen
}

// rulesFor returns the rules by which the answers of these servers are delivered here, in the order in which to add
// them: no datagram is delivered here that is no answer, at no time. No servers need no rules.
func rulesFor(answerers []plan.Answerer) []rule {
	var frame, answers, fragments []rule
	known := map[bool]bool{}
	addresses := map[netip.Addr]bool{}
	for _, answerer := range answerers {
		address, is6 := answerer.At.Addr(), answerer.At.Addr().Is6()
		if !known[is6] {
			known[is6] = true
			frame = append(frame, frameOf(is6)...)
		}
		if port := answerer.At.Port(); port <= lastPort { // a datagram from port 65535 passes for a fragment
			answers = append(answers, rule{stage: answer, is6: is6, from: address, ports: [2]uint16{port, port}})
		}
		if !addresses[address] {
			addresses[address] = true
			fragments = append(fragments, rule{stage: fragment, is6: is6, from: address})
		}
	}
	return append(append(frame, answers...), fragments...)
}

// removal is the order in which to remove rules of these stages.
var removal = []int{fragment, answer, otherPort, other, ours, end}

// frameOf are the rules for packets that are no answers. The one that the others lead to comes first.
func frameOf(is6 bool) []rule {
	return []rule{
		{stage: end, is6: is6},
		{stage: ours, is6: is6},
		{stage: other, is6: is6},
		{stage: otherPort, is6: is6, ports: [2]uint16{1, lastPort}},
	}
}
