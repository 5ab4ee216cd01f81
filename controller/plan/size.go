package plan

import (
	"cmp"
	"slices"
	"strings"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/sorted"
)

// bytesMost limits the resources that virtual services add to the Plan of an engine. The agent and the data plane take
// 64 MiB; the rest is for what the Plan has beside them. A Plan travels whole when a process starts, so what comes in
// small changes has to fit, too.
const bytesMost = 60 << 20

// oversizeOf returns the virtual services with which a Plan would have more than most bytes. known are left out of the
// Plan already. What is left of the Plan has room for none of the result, so that the next Plan leaves out the same.
func oversizeOf(shares []*share, known map[string]bool, before []*enginev1.Resource, most int) map[string]bool {
	needs := needsOf(shares)
	shares = slices.DeleteFunc(inTurn(shares, before), func(share *share) bool { return known[share.draft.vs.UUID] })
	has, bytes, fits := map[string]bool{}, 0, map[string]bool{}
	for tries := true; tries; { // each share that fits may bring what another one needs, too
		tries = false
		for _, share := range shares {
			vs := share.draft.vs
			if fits[vs.UUID] || vs.IsChild() && !fits[vs.SeatsOf()] {
				continue
			}
			adds := 0
			for part, bytes := range needs[vs.UUID] {
				if !has[part] {
					adds += bytes
				}
			}
			if bytes+adds > most {
				continue
			}
			bytes, tries, fits[vs.UUID] = bytes+adds, true, true
			for part := range needs[vs.UUID] {
				has[part] = true
			}
		}
	}
	oversize := map[string]bool{}
	for _, share := range shares {
		vs := share.draft.vs
		if !fits[vs.UUID] && (!vs.IsChild() || fits[vs.SeatsOf()]) { // other children go with their parent
			oversize[vs.UUID] = true
		}
	}
	return oversize
}

// needsOf returns the bytes that each virtual service needs, by the uuids of resources. A parent needs room for the
// refusals of its children: it refuses the clients of those that are left out.
func needsOf(shares []*share) map[string]map[string]int {
	needs := make(map[string]map[string]int, len(shares))
	need := func(uuid string, parts []part) {
		if needs[uuid] == nil {
			needs[uuid] = map[string]int{}
		}
		for _, part := range parts {
			needs[uuid][part.GetUuid()] = part.bytes
		}
	}
	for _, share := range shares {
		vs := share.draft.vs
		need(vs.UUID, share.brings)
		switch {
		case !vs.IsChild() || share.absent:
		case share.report.blocked:
			need(vs.SeatsOf(), share.brings)
		default:
			if refusal := share.draft.refusalUnder(vs.Parent); refusal != nil {
				need(vs.SeatsOf(), refusal.parts)
			}
		}
	}
	return needs
}

// inTurn returns shares in the order in which they get room. Those come first that need no more than they have in the
// Plan before, because what grows must not displace them. A parent that grows comes with the first of its children:
// they are not served without it.
func inTurn(shares []*share, before []*enginev1.Resource) []*share {
	grows, ranks := map[string]bool{}, map[*share]int{}
	for _, share := range shares {
		grows[share.draft.vs.UUID] = share.grows(before)
	}
	const stays, staysIfParentDoes, more = 0, 1, 2
	leads := map[string]bool{} // parents that grow, of children that do not
	for _, share := range shares {
		switch vs := share.draft.vs; {
		case grows[vs.UUID]:
			ranks[share] = more
		case grows[vs.SeatsOf()]:
			ranks[share], leads[vs.SeatsOf()] = staysIfParentDoes, true
		default:
			ranks[share] = stays
		}
	}
	for _, share := range shares {
		if leads[share.draft.vs.UUID] {
			ranks[share] = staysIfParentDoes
		}
	}
	return slices.SortedFunc(slices.Values(shares), func(a, b *share) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), bySeat(a, b))
	})
}

// grows tells whether a share needs more bytes than it has in the Plan before.
func (s *share) grows(before []*enginev1.Resource) bool {
	return slices.ContainsFunc(s.brings, func(is part) bool {
		was := sorted.Find(before, is.GetUuid(), (*enginev1.Resource).GetUuid)
		return was == nil || was != is.Resource && partOf(was).bytes < is.bytes
	})
}

// refuseSize blocks a share for which the Plan has no room.
func (s *share) refuseSize(most int) {
	if s.absent {
		return
	}
	bytes, largest := 0, part{}
	for _, part := range s.draft.parts {
		if bytes += part.bytes; part.bytes > largest.bytes {
			largest = part
		}
	}
	advice := "make that smaller"
	if largest.GetAddressGroup() != nil {
		advice = "use smaller address groups (fewer countries)"
	}
	if bytes <= most {
		advice += ", or give its engine group (se_group_ref) another engine"
	}
	s.report.block(s.draft.subject, "",
		"needs %d bytes of the Plan of its engine, %d of them for %s, and a Plan takes %d with all virtual services of "+
			"the engine: %s", bytes, largest.bytes, largest.title(), most, advice)
	s.absent = true
}

// title names a resource for operators: by its kind, with which each uuid begins, and by its name.
func (p part) title() string {
	kind, _, _ := strings.Cut(p.GetUuid(), "-")
	resource := p.ProtoReflect()
	body := resource.Get(resource.WhichOneof(resource.Descriptor().Oneofs().ByName("body"))).Message().Interface()
	if pool := p.GetPool(); pool != nil {
		body = pool.GetPool()
	}
	if named, is := body.(interface{ GetName() string }); is {
		return kind + " " + named.GetName()
	}
	return p.GetUuid()
}
