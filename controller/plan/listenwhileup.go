package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

const removesPorts = "remove_listening_port_on_vs_down"

// listenWhileUp is what must be up for a virtual service to listen; nil: it always listens.
func listenWhileUp(vs *model.VirtualService) *dataplanev1.ListenWhileUp {
	if !vs.RemovePortWhenDown || vs.UDP != nil || vs.IsParent() || neverDown(vs) {
		return nil
	}
	while := &dataplanev1.ListenWhileUp{MinPoolsUp: vs.MinPoolsUp}
	if vs.MinPoolsUp > 0 {
		while.CountedPoolUuids = countedPools(vs)
	}
	return while
}

// neverDown tells whether a virtual service is up whatever servers are.
func neverDown(vs *model.VirtualService) bool {
	return vs.Pool == nil && vs.PoolGroup == nil && vs.MinPoolsUp == 0
}

// countedPools are the uuids of the pools that min_pools_up counts.
func countedPools(vs *model.VirtualService) (uuids []string) {
	for _, pool := range vs.CountedPools() {
		uuids = append(uuids, pool.UUID)
	}
	return uuids
}

// staysOpen warns where remove_listening_port_on_vs_down has no effect.
func staysOpen() []unheeded[model.VirtualService] {
	when := func(holds func(*model.VirtualService) bool, why string) unheeded[model.VirtualService] {
		return unheeded[model.VirtualService]{removesPorts,
			func(vs *model.VirtualService) bool { return vs.RemovePortWhenDown && holds(vs) }, why + ": has no effect"}
	}
	return []unheeded[model.VirtualService]{
		when(func(vs *model.VirtualService) bool { return vs.UDP != nil }, "engines keep their sockets for datagrams"),
		when((*model.VirtualService).IsParent, "its children have pools of their own"),
		when((*model.VirtualService).IsChild, "clients connect to the parent"),
		when(func(vs *model.VirtualService) bool { return !vs.IsParent() && !vs.IsChild() && neverDown(vs) },
			"it has no pool that could be down"),
	}
}
