package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestAddressesOfClientsAreNotKeptTowardsTooManyServers(t *testing.T) {
	for members, blocked := range map[int]bool{keptServersMax: false, keptServersMax + 1: true} {
		pool := &model.Pool{Members: make([]model.Member, members)}
		for i := range pool.Members {
			pool.Members[i].Address = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 53)
		}
		vs := &model.VirtualService{Pool: pool, NetworkProfile: &kinds.NetworkProfile{}}
		var found report
		if refuseUnkeptAddresses(subject{}, vs, &found); found.blocked != blocked {
			t.Errorf("%d servers: blocked is %t, findings are %v", members, found.blocked, found.findings)
		}
	}
}

func TestAddressesOfClientsAreKeptOnOneEngineOnly(t *testing.T) {
	for name, c := range map[string]struct {
		least, most uint32
		mode        string
		field       string
		blocked     bool
	}{
		"always on two":       {2, 4, "", "min_scaleout_per_vs", true},
		"perhaps on two":      {1, 2, "", "max_scaleout_per_vs", false},
		"on one":              {1, 1, "", "", false},
		"one and a standby":   {2, 4, "HA_MODE_LEGACY_ACTIVE_STANDBY", "", false},
		"two that are active": {1, 1, "HA_MODE_SHARED_PAIR", "min_scaleout_per_vs", true},
	} {
		group := &model.Group{ServiceEngineGroup: kinds.ServiceEngineGroup{HAMode: c.mode, MinScaleoutPerVS: c.least,
			MaxScaleoutPerVS: c.most}}
		var found report
		refuseUnkeptAddresses(subject{}, &model.VirtualService{Group: group}, &found)
		var fields []string
		for _, finding := range found.findings {
			fields = append(fields, finding.Field)
		}
		if strings.Join(fields, " ") != c.field || found.blocked != c.blocked {
			t.Errorf("%s: blocked is %t, findings are %v", name, found.blocked, found.findings)
		}
	}
}
