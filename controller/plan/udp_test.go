package plan

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

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
