package kinds

import (
	"cmp"
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// NetworkSecurityPolicy says whose connections a virtual service accepts. The first rule that decides ends it.
type NetworkSecurityPolicy struct {
	Identity
	Named
	Owned
	Description   string                `json:"description"`
	Markers       []Marker              `json:"markers"`
	CreatedBy     string                `json:"created_by"`
	CloudChecksum string                `json:"cloud_config_cksum"`
	Internal      bool                  `json:"internal"` // of a program, which looks for it
	Rules         []NetworkSecurityRule `json:"rules" items:"1024"`
}

// NetworkSecurityRule is a rule that decides about a connection, or about a session of datagrams.
type NetworkSecurityRule struct {
	Name      string                              `json:"name" required:"true"`
	Index     uint32                              `json:"index" required:"true"`
	Enable    bool                                `json:"enable" required:"true"`
	Match     *NetworkSecurityMatchTarget         `json:"match" required:"true"`
	Action    string                              `json:"action" enum:"NetworkSecurityAction" required:"true"`
	Rate      *NetworkSecurityPolicyActionRLParam `json:"rl_param"`
	Age       uint32                              `json:"age"` // minutes after the policy was written; 0: for ever
	CreatedBy string                              `json:"created_by"`
	Log       bool                                `json:"log"`
}

// NetworkSecurityMatchTarget is what a connection is compared with. All of its parts must match.
type NetworkSecurityMatchTarget struct {
	ClientIP   *IPAddrMatch      `json:"client_ip"` // as a PROXY header gives it, else that of the connection
	ClientPort *PortMatchGeneric `json:"client_port"`
	VSPort     *PortMatch        `json:"vs_port"`
	GeoMatches []GeoMatch        `json:"geo_matches" items:"1"` // where the client is
}

// PortMatchGeneric compares a port.
type PortMatchGeneric struct {
	Criteria string      `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Ports    []uint32    `json:"ports" min:"1" max:"65535" items:"256"`
	Ranges   []PortRange `json:"ranges" items:"256"`
}

// PortRange is a range of ports; both ends are in it.
type PortRange struct {
	Start uint32 `json:"start" min:"1" max:"65535" required:"true"`
	End   uint32 `json:"end" min:"1" max:"65535" required:"true"`
}

// NetworkSecurityPolicyActionRLParam is the rate of the connections that a rule matches, all together.
type NetworkSecurityPolicyActionRLParam struct {
	MaxRate   uint32 `json:"max_rate" min:"1" required:"true"` // in a second
	BurstSize uint32 `json:"burst_size" required:"true"`
}

const (
	AllowConnections = "NETWORK_SECURITY_POLICY_ACTION_TYPE_ALLOW"
	DenyConnections  = "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY"
	LimitConnections = "NETWORK_SECURITY_POLICY_ACTION_TYPE_RATE_LIMIT"
)

var _ = schema.Enum("NetworkSecurityAction", AllowConnections, DenyConnections, LimitConnections)

func init() {
	schema.Register[NetworkSecurityPolicy](schema.Definition{
		Private: true,
		Serving: schema.PartOfService,
		Columns: []column.Column{column.Of("RULES", rulesOf("rules"))},
		Example: "  weir networksecuritypolicy create house rules[0].name=scanners rules[0].index=1 " +
			"rules[0].enable=true rules[0].action=" + DenyConnections +
			" rules[0].match.client_ip.match_criteria=IS_IN " +
			"rules[0].match.client_ip.prefixes[0].ip_addr.addr=192.0.2.0 " +
			"rules[0].match.client_ip.prefixes[0].mask=24",
		Kept: []schema.Rule{
			schema.Closes(noReputation, "rules.match.ip_reputation_type"),
			schema.Closes("engines know no groups of microservices", "rules.match.microservice"),
			schema.NoEffect(geoDB, "geo_db_ref"),
			schema.NoEffect(reputationDB, "ip_reputation_db_ref"),
			schema.NoEffect(schema.Unheeded, ""),
		},
		Unread: []schema.Rule{unknownPlaces("rules.match")},
	})
}

// SwitchedOff tells whether a rule is one that nobody tries.
func (*NetworkSecurityRule) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// RulesInForce are the rules in force, in their order, with their places in the list.
func (p *NetworkSecurityPolicy) RulesInForce() []Placed[NetworkSecurityRule] {
	return inForce(p.Rules, func(r *NetworkSecurityRule) (bool, uint32) { return r.Enable, r.Index })
}

func (p *NetworkSecurityPolicy) Validate() *schema.FieldError {
	return checkRules("rules", p.Rules, func(r *NetworkSecurityRule, at string) (string, uint32, *schema.FieldError) {
		return r.Name, r.Index, r.check(at)
	})
}

func (r *NetworkSecurityRule) check(field string) *schema.FieldError {
	switch {
	case r.Action == LimitConnections && r.Rate == nil:
		return refuse(field+".rl_param", "is required by %s: say how many connections in a second", LimitConnections)
	case r.Action != LimitConnections && r.Rate != nil:
		return refuse(field+".rl_param", "is for %s", LimitConnections)
	}
	return cmp.Or(r.Match.ClientIP.check(field+".match.client_ip"), r.Match.VSPort.check(field+".match.vs_port"),
		r.Match.ClientPort.check(field+".match.client_port"),
		CheckPlaces(field+".match.geo_matches", r.Match.GeoMatches))
}

func (m *PortMatchGeneric) check(field string) *schema.FieldError {
	if m == nil {
		return nil
	}
	return checkPortMatch(field, m.Ports, "ranges", m.Ranges)
}

// checkPortMatch checks ports and ranges of ports; ranges is the name of their field.
func checkPortMatch(field string, ports []uint32, ranges string, spans []PortRange) *schema.FieldError {
	if len(ports)+len(spans) == 0 {
		return refuse(field, "names no port: give ports or %s", ranges)
	}
	for i, span := range spans {
		if span.End < span.Start {
			return refuse(fmt.Sprintf("%s.%s[%d].end", field, ranges, i), "%d is before start %d", span.End, span.Start)
		}
	}
	return nil
}
