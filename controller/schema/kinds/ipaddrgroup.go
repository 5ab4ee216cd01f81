package kinds

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// IpAddrGroup is a set of addresses that rules compare with, or the servers of a pool.
type IpAddrGroup struct {
	Identity
	Named
	Owned
	Description string         `json:"description"`
	Markers     []Marker       `json:"markers"`
	Addrs       []IPAddr       `json:"addrs" items:"10000"`
	Ranges      []IPAddrRange  `json:"ranges" items:"10000"`
	Prefixes    []IPAddrPrefix `json:"prefixes" items:"10000"`
	IPPorts     []IPAddrPort   `json:"ip_ports" items:"10000"` // servers of pools, at ports of their own

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
			column.Of("SERVERS", countOf("ip_ports")),
		},
		Example: `  weir ipaddrgroup create office prefixes[0].ip_addr.addr=192.0.2.0 prefixes[0].mask=24`,
		Kept: []schema.Rule{
			schema.Closes("Weir asks no other system for addresses", "marathon_app_name marathon_service_port"),
			schema.NoEffect(schema.Unheeded, ""),
		},
		Unread: []schema.Rule{
			schema.NoEffect("servers are known by address and port, and their name is hostname", "ip_ports.name"),
		},
	})
}

// IPAddrPort is an address and a port. Without an address, it has a name that nobody resolves.
type IPAddrPort struct {
	IP       *IPAddr `json:"ip"`
	Hostname string  `json:"hostname"`
	Name     string  `json:"name"`
	Port     uint32  `json:"port" min:"1" max:"65535" required:"true"`
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
	for i := range g.IPPorts {
		if ip := g.IPPorts[i].IP; ip != nil {
			if problem := ip.problem(fmt.Sprintf("ip_ports[%d].ip", i)); problem != nil {
				return problem
			}
			if why := noServer(ip, g.IPPorts[i].Port); why != "" {
				return refuse(fmt.Sprintf("ip_ports[%d].ip.addr", i), "%s", why)
			}
		}
	}
	return checkAddresses("", g.Addrs, g.Ranges, g.Prefixes)
}
