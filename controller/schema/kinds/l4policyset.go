package kinds

import (
	"cmp"
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// L4PolicySet has rules that choose where connections, and sessions of datagrams, go. Virtual services list the sets
// that they use.
type L4PolicySet struct {
	Identity
	Named
	Owned
	Description string              `json:"description"`
	Markers     []Marker            `json:"markers"`
	CreatedBy   string              `json:"created_by"`
	Internal    bool                `json:"is_internal_policy"` // of a program, which looks for it
	Connection  *L4ConnectionPolicy `json:"l4_connection_policy"`
}

// L4ConnectionPolicy is a list of rules. The first that matches chooses.
type L4ConnectionPolicy struct {
	Rules []L4Rule `json:"rules" items:"1024"`
}

// L4Rule is a rule that chooses for a connection.
type L4Rule struct {
	Name   string             `json:"name" required:"true"`
	Index  uint32             `json:"index" required:"true"`
	Enable bool               `json:"enable" default:"true"`
	Match  *L4RuleMatchTarget `json:"match"`
	Action *L4RuleAction      `json:"action"`
}

// L4RuleMatchTarget is what a connection is compared with. One of its parts must match, or there is none.
type L4RuleMatchTarget struct {
	ClientIP *IPAddrMatch         `json:"client_ip"` // as a PROXY header gives it, else that of the connection
	Port     *L4RulePortMatch     `json:"port"`      // that clients connect to
	Protocol *L4RuleProtocolMatch `json:"protocol"`
}

// L4RulePortMatch compares a port.
type L4RulePortMatch struct {
	Criteria string      `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Ports    []uint32    `json:"ports" min:"1" max:"65535" items:"256"`
	Ranges   []PortRange `json:"port_ranges" items:"256"`
}

// L4RuleProtocolMatch compares the protocol under the bytes of clients.
type L4RuleProtocolMatch struct {
	Criteria string `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Protocol string `json:"protocol" enum:"L4RuleProtocol" required:"true"`
}

// L4RuleAction is what happens to a connection that matches.
type L4RuleAction struct {
	SelectPool *L4RuleActionSelectPool `json:"select_pool"`
}

// L4RuleActionSelectPool chooses a pool, or a group of pools.
type L4RuleActionSelectPool struct {
	Type         string `json:"action_type" enum:"L4RuleActionSelectPoolType" required:"true"`
	PoolRef      string `json:"pool_ref" ref:"pool"`
	PoolGroupRef string `json:"pool_group_ref" ref:"poolgroup"`
}

// L4Policies is a set that a virtual service uses, and its place among the others.
type L4Policies struct {
	SetRef string `json:"l4_policy_set_ref" ref:"l4policyset" required:"true"`
	Index  uint32 `json:"index" required:"true"`
}

// ServicePoolSelector chooses the pool, or the group of pools, of some ports.
type ServicePoolSelector struct {
	Port         uint32 `json:"service_port" min:"1" max:"65535" required:"true"`
	PortRangeEnd uint32 `json:"service_port_range_end" min:"1" max:"65535" also:"0"` // 0: only the port
	// empty: that of the virtual service
	Protocol     string `json:"service_protocol" enum:"ProtocolType"`
	PoolRef      string `json:"service_pool_ref" ref:"pool"`
	PoolGroupRef string `json:"service_pool_group_ref" ref:"poolgroup"`
}

const (
	selectPool      = "L4_RULE_ACTION_SELECT_POOL"
	selectPoolGroup = "L4_RULE_ACTION_SELECT_POOLGROUP"
)

var (
	_ = schema.Enum("L4RuleProtocol", "PROTOCOL_ICMP", "PROTOCOL_TCP", "PROTOCOL_UDP", "PROTOCOL_SCTP")
	_ = schema.Enum("L4RuleActionSelectPoolType", selectPool, selectPoolGroup)
)

func init() {
	schema.Register[L4PolicySet](schema.Definition{
		Private: true,
		Serving: schema.PartOfService,
		Columns: []column.Column{column.Of("RULES", rulesIn("l4_connection_policy"))},
		Example: "  weir l4policyset create ports l4_connection_policy.rules[0].name=admin " +
			"l4_connection_policy.rules[0].index=1 l4_connection_policy.rules[0].match.port.match_criteria=IS_IN " +
			"l4_connection_policy.rules[0].match.port.ports[0]=8443 " +
			"l4_connection_policy.rules[0].action.select_pool.action_type=" + selectPool + " " +
			"l4_connection_policy.rules[0].action.select_pool.pool_ref=admin",
		Kept: []schema.Rule{schema.NoEffect(schema.Unheeded, "")},
	})
}

// SwitchedOff tells whether a rule is one that nobody tries.
func (*L4Rule) SwitchedOff(o schema.Object) bool { return o["enable"] == false }

// Rules are the rules in force, in their order, with their places in the list.
func (s *L4PolicySet) Rules() []Placed[L4Rule] {
	if s.Connection == nil {
		return nil
	}
	return inForce(s.Connection.Rules, func(r *L4Rule) (bool, uint32) { return r.Enable, r.Index })
}

func (s *L4PolicySet) Validate() *schema.FieldError {
	if s.Connection == nil {
		return nil
	}
	return checkRules("l4_connection_policy.rules", s.Connection.Rules,
		func(r *L4Rule, at string) (string, uint32, *schema.FieldError) { return r.Name, r.Index, r.check(at) })
}

func (r *L4Rule) check(field string) *schema.FieldError {
	if r.Action == nil || r.Action.SelectPool == nil {
		return refuse(field+".action.select_pool", "is required: say where the connections that match go")
	}
	return cmp.Or(r.Match.check(field+".match"), r.Action.SelectPool.check(field+".action.select_pool"))
}

func (m *L4RuleMatchTarget) check(field string) *schema.FieldError {
	if m == nil {
		return nil
	}
	if problem := m.ClientIP.check(field + ".client_ip"); problem != nil || m.Port == nil {
		return problem
	}
	return checkPortMatch(field+".port", m.Port.Ports, "port_ranges", m.Port.Ranges)
}

func (a *L4RuleActionSelectPool) check(field string) *schema.FieldError {
	wanted, other := "pool_ref", "pool_group_ref"
	has, hasOther := a.PoolRef != "", a.PoolGroupRef != ""
	if a.Type == selectPoolGroup {
		wanted, other, has, hasOther = other, wanted, hasOther, has
	}
	switch {
	case !has:
		return refuse(field+"."+wanted, "is required by %s", a.Type)
	case hasOther:
		return refuse(field+"."+other, "is not for %s", a.Type)
	}
	return nil
}

// LastPort is the end of its range of ports.
func (s *ServicePoolSelector) LastPort() uint32 { return max(s.Port, s.PortRangeEnd) }

// IsForPort tells whether it is for one of these ports of a virtual service.
func (s *ServicePoolSelector) IsForPort(ports Service) bool {
	return ports.Port <= s.LastPort() && s.Port <= ports.PortRangeEnd
}

func (s *ServicePoolSelector) check(field string) *schema.FieldError {
	switch {
	case s.PortRangeEnd != 0 && s.PortRangeEnd < s.Port:
		return refuse(field+".service_port_range_end", "%d is before port %d", s.PortRangeEnd, s.Port)
	case s.PoolRef == "" && s.PoolGroupRef == "":
		return refuse(field+".service_pool_ref", "is required, or service_pool_group_ref")
	case s.PoolRef != "" && s.PoolGroupRef != "":
		return refuse(field+".service_pool_group_ref", "cannot be beside service_pool_ref: remove one of them")
	}
	return nil
}

// checkL4Policies refuses a list of sets that has no order, or the same set twice, and selectors that choose nothing.
func (vs *VirtualService) checkL4Policies() *schema.FieldError {
	for i, policy := range vs.L4Policies {
		at := fmt.Sprintf("l4_policies[%d]", i)
		for j, earlier := range vs.L4Policies[:i] {
			switch {
			case earlier.Index == policy.Index:
				return refuse(at+".index", "%d is the index of l4_policies[%d] already: the order would be open",
					policy.Index, j)
			case earlier.SetRef == policy.SetRef:
				return refuse(at+".l4_policy_set_ref", "is in l4_policies[%d] already", j)
			}
		}
	}
	for i := range vs.ServicePools {
		if problem := vs.ServicePools[i].check(fmt.Sprintf("service_pool_select[%d]", i)); problem != nil {
			return problem
		}
	}
	return nil
}

// L4PolicyOrder returns the places of l4_policies in the order of their indexes.
func (vs *VirtualService) L4PolicyOrder() []int {
	return orderOf(len(vs.L4Policies), func(at int) uint32 { return vs.L4Policies[at].Index })
}
