package plan

import (
	"net/netip"
	"strings"
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/sorted"
)

const usersOfAGroup = `
ipaddrgroup { "name": "home", "country_codes": ["DE"] }
networksecuritypolicy {
  "name": "at home",
  "rules": [{"name": "home", "index": 1, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_ALLOW",
    "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=home"]}}}]
}
vsdatascriptset {
  "name": "first", "ipgroup_refs": ["/api/ipaddrgroup?name=home"],
  "datascript": [{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": "avi.http.close_conn()"}]
}
pool { "name": "web", "servers": [{"ip": {"addr": "192.0.2.9", "type": "V4"}, "port": 80}] }
virtualservice {
  "name": "one", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
  "pool_ref": "/api/pool?name=web", "network_security_policy_ref": "/api/networksecuritypolicy?name=at+home"
}
virtualservice {
  "name": "two", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 81}],
  "pool_ref": "/api/pool?name=web",
  "vs_datascripts": [{"index": 1, "vs_datascript_set_ref": "/api/vsdatascriptset?name=first"}]
}
virtualservice {
  "name": "three", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 82}],
  "pool_ref": "/api/pool?name=web",
  "vs_datascripts": [{"index": 1, "vs_datascript_set_ref": "/api/vsdatascriptset?name=first"}]
}
`

func changesOf(objects map[string][]schema.Object) (all []model.Change) {
	for kind, list := range objects {
		for _, object := range list {
			all = append(all, model.Change{Kind: kind, UUID: object["uuid"].(string), Object: object})
		}
	}
	return all
}

func rangesOf(count int) (ranges []model.AddressRange) {
	for i := range count {
		address := netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1})
		ranges = append(ranges, model.AddressRange{First: address, Last: address})
	}
	return ranges
}

func TestThereIsOneCopyOfAnAddressGroupForAllThatNameItAndChangesKeepIt(t *testing.T) {
	keeper := model.Keeper{Countries: model.Countries{"DE": rangesOf(3), "FR": rangesOf(2)}}
	m, _ := keeper.Keep(1, changesOf(objectsIn(t, usersOfAGroup)))
	c := compilerOf(m, nil, placed(m))
	plan, findings := c.Compile(engineUUID, nil)
	if len(findings) > 0 {
		t.Fatalf("found %v", findings)
	}
	var uuid string
	var group *enginev1.Resource
	check := func(plan *enginev1.Plan, wantRanges int) {
		t.Helper()
		uses := 0
		for _, draft := range c.drafts {
			for _, part := range draft.parts {
				if part.GetAddressGroup() == nil {
					continue
				}
				uuid, uses = part.GetUuid(), uses+1
				if group == nil {
					group = part.Resource
				}
				if part.Resource != group {
					t.Error("there are two copies of the group")
				}
			}
		}
		if in := sorted.Find(plan.GetResources(), uuid, (*enginev1.Resource).GetUuid); in != group || uses != 3 {
			t.Errorf("the group is used %d times, and in the Plan it is another copy: %v", uses, in != group)
		}
		if ranges := len(group.GetAddressGroup().GetRanges()); ranges != wantRanges {
			t.Errorf("it has %d ranges", ranges)
		}
	}
	check(plan, 3)
	turn := func(revision int64, from, to string) {
		changes := changesOf(objectsIn(t, strings.Replace(usersOfAGroup, from, to, 1)))
		m, _ = keeper.Keep(revision, changes)
		c.Turn(m, nil, placed(m))
		plan, _ = c.Compile(engineUUID, plan)
	}
	turn(2, "192.0.2.9", "192.0.2.8") // of a server; all objects are read again, too
	check(plan, 3)
	turn(3, "DE", "FR")
	group = nil
	check(plan, 2)
	m, _ = keeper.Keep(4, nil)
	none := *m
	none.VirtualServices = nil
	c.Turn(&none, nil, nil)
	if len(c.addressGroups) > 0 {
		t.Error("a group that nobody uses is kept")
	}
}

func TestCompressionFiltersRefuseGroupsWithManyRangesBeforeTheyCopyThem(t *testing.T) {
	keeper := model.Keeper{Countries: model.Countries{"DE": rangesOf(20_000)}}
	m, _ := keeper.Keep(1, changesOf(objectsIn(t, `
ipaddrgroup { "name": "home", "country_codes": ["DE"] }
applicationprofile {
  "name": "custom", "type": "APPLICATION_PROFILE_TYPE_HTTP",
  "http_profile": {"compression_profile": {
    "compression": true, "type": "CUSTOM_COMPRESSION", "remove_accept_encoding_header": false,
    "filter": [{"index": 1, "name": "home", "level": "NO_COMPRESSION", "ip_addrs_ref": "/api/ipaddrgroup?name=home"}]}}
}
virtualservice {
  "name": "one", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
  "application_profile_ref": "/api/applicationprofile?name=custom"
}
`)))
	c := compilerOf(m, nil, placed(m))
	_, findings := c.Compile(engineUUID, nil)
	const why = "its filters name groups with 20000 ranges of addresses, and take about 8000: ipaddrgroup home has " +
		"20000; use groups with fewer addresses or countries"
	if len(findings) != 1 || findings[0].Message != why || findings[0].Field != ofCompression {
		t.Errorf("found %v", findings)
	}
	for _, draft := range c.drafts {
		if draft.service.GetHttp().GetCompression() != nil {
			t.Error("the refused profile is kept")
		}
	}
}
