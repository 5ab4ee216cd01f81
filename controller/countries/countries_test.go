package countries

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"github.com/weir-lb/weir/controller/model"
)

func TestTextFilesSayWhereAddressesAre(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"192.0.2.0/24,DE", "DE 192.0.2.0-192.0.2.255"},
		{"# of today\n\n192.0.2.0/25,DE\n192.0.2.128/25,de\n", "DE 192.0.2.0-192.0.2.255"},
		{"192.0.2.7,192.0.2.9,DE\n192.0.2.0/29,DE\n10.0.0.0/8,FR",
			"DE 192.0.2.0-192.0.2.9; FR 10.0.0.0-10.255.255.255"},
		{"2001:db8::/32,DE\n192.0.2.0/24,DE",
			"DE 192.0.2.0-192.0.2.255 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"::ffff:192.0.2.1,::ffff:192.0.2.2,DE", "DE 192.0.2.1-192.0.2.2"},
		{`"192.0.2.0","192.0.2.1","DE"`, "DE 192.0.2.0-192.0.2.1"},
		{"\uFEFF192.0.2.0/31,DE\r\n", "DE 192.0.2.0-192.0.2.1"},
		{"::/80,DE", "line 1: :: to 255.255.255.255 is no range of addresses of one family"},
		{"::ffff:192.0.2.0/127,DE", "DE 192.0.2.0-192.0.2.1"},
		{"fe80::1%eth0,fe80::2%eth0,DE", "line 1: fe80::1%eth0 to fe80::2%eth0 is no range of addresses of one family"},
		{"255.255.255.0/24,DE\n255.255.255.255/32,DE\n::/128,DE", "DE 255.255.255.0-255.255.255.255 ::-::"},
		{"192.0.2.0/24,DE\n192.0.2.0/33,DE", `line 2: netip.ParsePrefix("192.0.2.0/33"): prefix length out of range`},
		{"192.0.2.9,192.0.2.7,DE", "line 1: 192.0.2.9 to 192.0.2.7 is no range of addresses of one family"},
		{"192.0.2.9,::1,DE", "line 1: 192.0.2.9 to ::1 is no range of addresses of one family"},
		{"192.0.2.0/24", `line 1: "192.0.2.0/24" is neither SUBNET,COUNTRY nor FIRST,LAST,COUNTRY, ` +
			"with a country of two letters"},
		{"# nothing", "has no addresses of any country"},
	} {
		file := filepath.Join(t.TempDir(), "countries.csv")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(file); got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestDatabasesSayWhereAddressesAre(t *testing.T) {
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "GeoLite2-Country", IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	for subnet, code := range map[string]string{
		"192.0.2.0/25": "DE", "192.0.2.128/25": "DE", "198.51.100.0/24": "FR", "2001:db8::/32": "DE",
		"203.0.113.0/24": "",
	} {
		_, network, err := net.ParseCIDR(subnet)
		if err != nil {
			t.Fatal(err)
		}
		country := mmdbtype.Map{}
		continent := mmdbtype.Map{"code": mmdbtype.String("EU")}
		if subnet == "192.0.2.0/25" { // the first one of its country does not say where that is
			continent = mmdbtype.Map{}
		}
		if code != "" {
			country["iso_code"] = mmdbtype.String(code)
			country["names"] = mmdbtype.Map{"en": mmdbtype.String("Land of " + code)}
		}
		if err := tree.Insert(network, mmdbtype.Map{"country": country, "continent": continent}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "countries.mmdb")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "DE 192.0.2.0-192.0.2.255 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff; FR 198.51.100.0-198.51.100.255"
	if got := read(file); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, places, _ := Read(file)
	europe := places["ATTRIBUTE_CONTINENT_CODE EU"]
	slices.Sort(europe)
	if !slices.Equal(europe, []string{"DE", "FR"}) || len(places) != 3 ||
		!slices.Equal(places["ATTRIBUTE_COUNTRY_NAME LAND OF DE"], []string{"DE"}) {
		t.Errorf("the places are %v", places)
	}
	if err := os.WriteFile(file, []byte("192.0.2.0/24,DE"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(file); !strings.Contains(got, "invalid MaxMind DB file") {
		t.Errorf("of a text that is called .mmdb: %s", got)
	}
}

// read reads a file and writes what it says, or what is wrong with it.
func read(file string) string {
	found, _, err := Read(file)
	if err != nil {
		return strings.TrimPrefix(err.Error(), file+": ")
	}
	var all []string
	for _, code := range []string{"DE", "FR"} {
		if ranges := found[code]; len(ranges) > 0 {
			all = append(all, code+" "+text(ranges))
		}
	}
	return strings.Join(all, "; ")
}

func text(ranges []model.AddressRange) string {
	var all []string
	for _, span := range ranges {
		all = append(all, fmt.Sprintf("%s-%s", span.First, span.Last))
	}
	return strings.Join(all, " ")
}

// What is read goes to engines, which refuse a whole Plan because of one bad range.
func FuzzRangesAreOfOneFamilySortedAndApart(f *testing.F) {
	f.Add("192.0.2.0/24,DE\n192.0.2.7,192.0.3.9,DE\n::/80,DE\n::ffff:0:0/96,DE")
	f.Fuzz(func(t *testing.T, text string) {
		found := model.Countries{}
		if readLines([]byte(text), found) != nil {
			return
		}
		for _, ranges := range found {
			var last model.AddressRange
			for i, span := range joined(ranges) {
				if span.First.Is4() != span.Last.Is4() || span.Last.Less(span.First) || span.First.Zone() != "" {
					t.Errorf("%q: %v is no range", text, span)
				}
				if i > 0 && last.First.Is4() == span.First.Is4() && !last.Last.Less(span.First) {
					t.Errorf("%q: %v comes after %v", text, span, last)
				}
				last = span
			}
		}
	})
}
