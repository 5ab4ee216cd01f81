package kinds

import (
	"fmt"

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
}

func init() {
	schema.Register[IpAddrGroup](schema.Definition{
		Serving: schema.PartOfService,
		Columns: []column.Column{
			column.Of("ADDRESSES", countOf("addrs")),
			column.Of("RANGES", countOf("ranges")),
			column.Of("SUBNETS", countOf("prefixes")),
		},
		Example: `  weir ipaddrgroup create office prefixes[0].ip_addr.addr=192.0.2.0 prefixes[0].mask=24`,
		Kept: []schema.Rule{
			schema.Closes("engines do not know where addresses are", "country_codes"),
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

func (g *IpAddrGroup) Validate() *schema.FieldError {
	return checkAddresses("", g.Addrs, g.Ranges, g.Prefixes)
}
