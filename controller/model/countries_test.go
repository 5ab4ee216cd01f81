package model

import (
	"net/netip"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestGroupsHaveTheAddressesOfTheirCountries(t *testing.T) {
	ranges := []AddressRange{{netip.MustParseAddr("192.0.2.0"), netip.MustParseAddr("192.0.2.255")}}
	for _, c := range []struct {
		what      string
		countries Countries
		closes    bool
		why       string
	}{
		{"a country of the file", Countries{"DE": ranges}, false, ""},
		{"a country that is not in the file", Countries{"FR": ranges}, true,
			"the file of the controller has no addresses of the country DE; no virtual service with this ipaddrgroup is served"},
		{"no file", nil, true,
			"which addresses are in DE is not known: start the controller with --countries FILE; no virtual service with this ipaddrgroup is served"},
	} {
		keeper := Keeper{Countries: c.countries}
		_, findings := keeper.Keep(1, []Change{{Kind: "ipaddrgroup", UUID: "group", Object: schema.Object{
			"uuid": "group", "name": "home", "country_codes": []any{"DE"}}}})
		group := keeper.addressGroups["group"]
		if located := group != nil && len(group.Located) == 1 && group.Located[0][0] == ranges[0]; located == c.closes {
			t.Errorf("%s: the group is %+v", c.what, group)
		}
		if closes := keeper.closes(subject{"ipaddrgroup", "group"}); closes != c.closes {
			t.Errorf("%s: closes is %v", c.what, closes)
		}
		switch {
		case c.why == "" && len(findings) > 0:
			t.Errorf("%s: %v", c.what, findings)
		case c.why != "" && (len(findings) != 1 || findings[0].Message != c.why ||
			findings[0].Field != "country_codes[0]"):
			t.Errorf("%s: %v", c.what, findings)
		}
	}
}
