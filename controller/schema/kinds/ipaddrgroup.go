package kinds

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// IpAddrGroup is a set of addresses that rules compare with.
type IpAddrGroup struct {
	Identity
	Named
	Owned
	Description string         `json:"description"`
	Markers     []Marker       `json:"markers"`
	Addrs       []IPAddr       `json:"addrs" items:"10000"`
	Ranges      []IPAddrRange  `json:"ranges" items:"10000"`
	Prefixes    []IPAddrPrefix `json:"prefixes" items:"10000"`

	CountryCodes []string `json:"country_codes" items:"256"` // ISO 3166, two letters
}

func init() {
	schema.Register[IpAddrGroup](schema.Definition{
		Serving: schema.PartOfService,
		Columns: []column.Column{
			column.Of("ADDRESSES", countOf("addrs")),
			column.Of("RANGES", countOf("ranges")),
			column.Of("SUBNETS", countOf("prefixes")),
			column.Of("COUNTRIES", countOf("country_codes")),
		},
		Example: `  weir ipaddrgroup create office prefixes[0].ip_addr.addr=192.0.2.0 prefixes[0].mask=24`,
		Kept: []schema.Rule{
			schema.Closes("engines compare addresses without ports", "ip_ports"),
			schema.Closes("Weir asks no other system for addresses", "marathon_app_name marathon_service_port"),
			schema.NoEffect(schema.Unheeded, ""),
		},
	})
}

// countOf counts the items of a list.
func countOf(field string) func(column.Row) string {
	return func(row column.Row) string { return fmt.Sprint(len(column.List(row.Object, field))) }
}

var countryCode = regexp.MustCompile(`^[A-Z]{2}$`)

func (g *IpAddrGroup) Validate() *schema.FieldError {
	for i, code := range g.CountryCodes {
		at := fmt.Sprintf("country_codes[%d]", i)
		switch {
		case !countryCode.MatchString(code):
			return refuse(at, "%s is no country: give two capital letters of ISO 3166, such as DE", schema.Show(code))
		case slices.Contains(g.CountryCodes[:i], code):
			return refuse(at, "%s is in the list already", code)
		}
	}
	return checkAddresses("", g.Addrs, g.Ranges, g.Prefixes)
}
