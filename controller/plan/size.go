package plan

import (
	"cmp"
	"slices"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/sorted"
)

// bytesMost limits the resources that virtual services add to the Plan of an engine. The agent and the data plane take
// 64 MiB; the rest is for what the Plan has beside them. A Plan travels whole when a process starts, so what comes in
// small changes has to fit, too.
const bytesMost = 60 << 20

// oversizeOf returns the virtual services with which a Plan would have more than most bytes. Those come first that need
// no more than they have in the Plan before: what grows must not displace them. known are left out of the Plan already.
func oversizeOf(shares []*share, known map[string]bool, before []*enginev1.Resource, most int) map[string]bool {
	ranks := map[*share]int{}
	for _, share := range shares {
		if share.grows(before) {
			ranks[share] = 1
		}
	}
	shares = slices.Clone(shares)
	slices.SortStableFunc(shares, func(a, b *share) int { return cmp.Compare(ranks[a], ranks[b]) })
	has, bytes, oversize := map[string]bool{}, 0, map[string]bool{}
	for _, share := range shares {
		adds := 0
		for _, part := range share.brings {
			if !has[part.GetUuid()] {
				adds += part.bytes
			}
		}
		if bytes+adds > most && !known[share.draft.vs.UUID] {
			oversize[share.draft.vs.UUID] = true
			continue
		}
		bytes += adds
		for _, part := range share.brings {
			has[part.GetUuid()] = true
		}
	}
	return oversize
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
	s.report.block(s.draft.subject, "",
		"needs %d bytes of the Plan of its engine, %d of them for %s, and a Plan takes %d with all virtual services of "+
			"the engine: use smaller address groups (fewer countries), or another engine group (se_group_ref)",
		bytes, largest.bytes, largest.title(), most)
	s.absent = true
}

// title names a resource for operators.
func (p part) title() string {
	if group := p.GetAddressGroup(); group != nil {
		return "ipaddrgroup " + group.GetName()
	}
	return p.GetUuid()
}
