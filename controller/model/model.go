// Package model turns all objects of one revision into typed structs whose references are pointers. It is the stage
// between store and place. A model is a pure function of what operators wrote. Each revision has its own model, and a
// model never changes. Objects that did not change, and do not refer to changed objects, are the same structs in the
// next model. Nothing here may do I/O, read a clock or write a log.
package model

import (
	"net/netip"
	"slices"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Model has all objects that place and plan need. Each list is sorted by uuid.
type Model struct {
	Revision        int64
	VirtualServices []*VirtualService
	Pools           []*Pool
	Groups          []*Group
	Engines         []*Engine
	VrfContexts     []*kinds.VrfContext
}

// VirtualService is a virtual service with all objects that it needs. A reference that could not be resolved is nil,
// and a Finding says so. If the virtual service has a VsVip, Vips and VrfContext are those of the VsVip.
type VirtualService struct {
	kinds.VirtualService
	SharedVip          *kinds.VsVip // nil: the addresses belong to the virtual service itself
	VrfContext         *kinds.VrfContext
	Addresses          []netip.Addr // of the enabled Vips
	ApplicationProfile *kinds.ApplicationProfile
	HTTP               *kinds.HTTPProfile   // nil: the application profile is not for HTTP
	L4                 *kinds.TCPAppProfile // nil: the application profile is not for layer 4, with or without TLS
	NetworkProfile     *kinds.NetworkProfile
	TCP                *kinds.TCPProxy    // nil: the network profile is not for TCP
	UDP                *kinds.UDPFastPath // nil: the network profile is not for UDP, as fast path or as proxy
	Analytics          *kinds.AnalyticsProfile
	SSLProfile         *kinds.SSLProfile
	Certificates       []*Certificate
	Pool               *Pool
	PoolGroup          *PoolGroup       // instead of a pool
	L4Sets             []*L4PolicySet   // in their order
	PortPools          []*Pool          // of service_pool_select, each once
	PortGroups         []*PoolGroup     // the same
	Backups            []*Pool          // of its pools, also of those that rules choose; each once
	Policies           []*HTTPPolicySet // in their order
	Scripts            []*ScriptSet     // in their order
	NetworkPolicy      *NetworkPolicy   // nil: everybody may connect
	ErrorPages         *ErrorPages      // nil: clients get the pages of engines
	Content            *Content         // nil: nothing is done to the content of responses
	SSOPolicy          *SSOPolicy       // nil: requests need no token
	Purges             *Purges          // nil: no stored response was purged
	Group              *Group
	ClientPKI          *kinds.PKIProfile // that the application profile names for the certificates of clients

	Variants []*Variant        // for ports that have other profiles; each port is in one at most
	PartAt   []int             // of a part for some ports: their places in Services; nil: it is for all
	Whole    []*VirtualService // of a part: all parts of the same virtual service, also itself

	SelectedProfiles []*kinds.SSLProfile      // of ssl_profile_selectors, in their order; nil: it is not there
	SelectorGroups   map[string]*AddressGroup // that these compare with, by reference

	LogGroups  Content                  // that the filters of logs name
	HostGroups map[string]*AddressGroup // of a child: what vh_matches compares with, by reference
	// of a child: which texts of vh_matches are those of string groups
	TextOrigins kinds.Origins
	// of a child: a VS_TYPE_VH_PARENT as it was read, with its references unresolved
	Parent *VirtualService
	// Of the parent: its profile, and the PKI profile that this names. Nil also if they are not there.
	ParentProfile *kinds.ApplicationProfile
	ParentPKI     *kinds.PKIProfile
	// Of the parent, which accepts the connections: what vs.TCP is of others.
	ParentTCP *kinds.TCPProxy
	// Closed: the virtual service, or an object that it uses, has a field that restricts access, and Weir does not act
	// on that field. The virtual service must not be served; findings say why.
	Closed bool
}

// SSLProfiles returns all that clients may have.
func (vs *VirtualService) SSLProfiles() []*kinds.SSLProfile {
	all := append([]*kinds.SSLProfile{vs.SSLProfile}, vs.SelectedProfiles...)
	return slices.DeleteFunc(all, func(profile *kinds.SSLProfile) bool { return profile == nil })
}

// Key returns the uuid, by which lists in the model are sorted.
func (vs *VirtualService) Key() string { return vs.UUID }

// Tenant returns the uuid of the tenant that the virtual service belongs to.
func (vs *VirtualService) Tenant() string { return UUIDIn(vs.TenantRef) }

// SeatsOf returns the uuid of the virtual service whose engines serve this one: the parent of a child, or itself.
func (vs *VirtualService) SeatsOf() string {
	if vs.IsChild() {
		return UUIDIn(vs.VHParentRef)
	}
	return vs.UUID
}

// TakesTraffic tells whether an operator wants the virtual service to be served.
func (vs *VirtualService) TakesTraffic() bool { return vs.Enabled && vs.TrafficEnabled }

// Pools returns the pools that requests may go to, each once: its own first, or those of its group, and at the end
// those that take over for others.
func (vs *VirtualService) Pools() []*Pool { return append(vs.CountedPools(), vs.BackupPools()...) }

// CountedPools returns the pools that min_pools_up counts, each once: all but those that only take over for others.
func (vs *VirtualService) CountedPools() []*Pool { return append(vs.OwnPools(), vs.RulePools()...) }

// RulePools returns the pools beside its own that requests go to because of a rule, each once.
func (vs *VirtualService) RulePools() (pools []*Pool) {
	own := vs.OwnPools()
	add := func(more []*Pool) {
		for _, pool := range more {
			if !slices.Contains(own, pool) && !slices.Contains(pools, pool) {
				pools = append(pools, pool)
			}
		}
	}
	for _, set := range vs.Scripts {
		add(set.Pools)
	}
	for _, set := range vs.Policies {
		add(set.Pools)
	}
	for _, set := range vs.L4Sets {
		add(set.Pools)
	}
	add(vs.PortPools)
	for _, group := range vs.Groups() {
		if group != vs.PoolGroup {
			add(group.Pools())
		}
	}
	return pools
}

// HTTPPolicySet is a set of policies with all objects that its rules need: those in force. A reference that could not
// be resolved is not in the maps, and a Finding says so.
type HTTPPolicySet struct {
	kinds.HTTPPolicySet
	Pools         []*Pool                       // that rules choose, in the order of the rules, each once
	Groups        []*PoolGroup                  // the same
	StringGroups  map[string]*kinds.StringGroup // by reference
	AddressGroups map[string]*AddressGroup      // by reference
}

// ScriptSet is a set of scripts with all objects that they may name. A Finding says which could not be resolved.
type ScriptSet struct {
	kinds.VSDataScriptSet
	InScripts     []kinds.ScriptName // the names in them
	Pools         []*Pool
	Groups        []*PoolGroup
	StringGroups  []*kinds.StringGroup
	AddressGroups []*AddressGroup
}

// Key returns the uuid, by which lists in the model are sorted.
func (s *ScriptSet) Key() string { return s.UUID }

// Whole tells whether all objects that the scripts may name are there.
func (s *ScriptSet) Whole() bool {
	return len(s.Pools) == len(s.PoolRefs) && len(s.Groups) == len(s.PoolGroupRefs) &&
		len(s.StringGroups) == len(s.StringGroupRefs) && len(s.AddressGroups) == len(s.IPAddrGroupRefs)
}

// GroupOf returns the pool group that a reference of a rule names; nil: it could not be resolved.
func (s *HTTPPolicySet) GroupOf(reference string) *PoolGroup { return ByUUID(s.Groups, reference) }

// PoolOf returns the pool that a reference of a rule names; nil: it could not be resolved.
func (s *HTTPPolicySet) PoolOf(reference string) *Pool { return ByUUID(s.Pools, reference) }

// Key returns the uuid, by which lists in the model are sorted.
func (s *HTTPPolicySet) Key() string { return s.UUID }

// NetworkPolicy is a network security policy with the address groups that its rules in force need, by reference. A
// reference that could not be resolved is not in the map, and a Finding says so.
type NetworkPolicy struct {
	kinds.NetworkSecurityPolicy
	AddressGroups map[string]*AddressGroup
}

// Key returns the uuid, by which lists in the model are sorted.
func (p *NetworkPolicy) Key() string { return p.UUID }

// L4PolicySet is a set of policies of layer 4 with all objects that its rules in force need. A reference that could not
// be resolved is in none of them, and a Finding says so.
type L4PolicySet struct {
	kinds.L4PolicySet
	Pools         []*Pool      // that rules choose, in the order of the rules, each once
	Groups        []*PoolGroup // the same
	AddressGroups map[string]*AddressGroup
}

// Key returns the uuid, by which lists in the model are sorted.
func (s *L4PolicySet) Key() string { return s.UUID }

// ByUUID finds the object that a reference names among some; nil: it could not be resolved.
func ByUUID[T interface{ Key() string }](among []T, reference string) (found T) {
	for _, one := range among {
		if reference != "" && one.Key() == UUIDIn(reference) {
			return one
		}
	}
	return found
}

// Pool is a pool with all objects that it needs.
type Pool struct {
	kinds.Pool
	Members        []Member
	Group          *AddressGroup // whose addresses are servers; nil: there is none
	ofGroup        int           // of the members, those of the group
	Conn           *kinds.ConnPool
	HealthMonitors []*HealthMonitor
	SSLProfile     *kinds.SSLProfile // nil: engines connect to its servers without TLS
	PKIProfile     *kinds.PKIProfile
	Persistence    *kinds.ApplicationPersistenceProfile
	Analytics      *kinds.AnalyticsProfile
	Certificate    *Certificate // presented to servers
}

// Key returns the uuid, by which lists in the model are sorted.
func (p *Pool) Key() string { return p.UUID }

// Tenant returns the uuid of the tenant that the pool belongs to.
func (p *Pool) Tenant() string { return UUIDIn(p.TenantRef) }

// Member is a server that has an address.
type Member struct {
	kinds.Server
	ID      string // "10.0.0.1:80"
	Address netip.AddrPort
	OfGroup bool // ipaddrgroup_ref brings it
}

// HealthMonitor is a health monitor. Check has the settings of HTTP and HTTPS monitors.
type HealthMonitor struct {
	kinds.HealthMonitor
	Check       *kinds.HTTPMonitor // nil: the type is neither HTTP nor HTTPS
	SSLProfile  *kinds.SSLProfile
	PKIProfile  *kinds.PKIProfile // nil: servers are not verified
	Certificate *Certificate      // presented to servers
}

// Key returns the uuid, by which lists in the model are sorted.
func (m *HealthMonitor) Key() string { return m.UUID }

// Certificate is a certificate that a TLS server can use.
type Certificate struct {
	kinds.SSLKeyAndCertificate
	kinds.KeyPair
}

// Group is a group of engines.
type Group struct {
	kinds.ServiceEngineGroup
	Cloud   *Cloud
	Engines []*Engine
}

// Key returns the uuid, by which lists in the model are sorted.
func (g *Group) Key() string { return g.UUID }

// Cloud is the place where the engines of groups run, with the user that can start them there.
type Cloud struct {
	kinds.Cloud
	User *kinds.CloudConnectorUser // nil: the cloud names no user
}

// Key returns the uuid, by which lists in the model are sorted.
func (c *Cloud) Key() string { return c.UUID }

// Engine is an engine that has joined.
type Engine struct {
	kinds.ServiceEngine
	Group *Group
}

// Key returns the uuid, by which lists in the model are sorted.
func (e *Engine) Key() string { return e.UUID }
