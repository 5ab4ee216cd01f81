// Package model turns all objects at one revision into typed structs whose references are pointers. It is the stage
// between store and place and plan: a pure function of what operators wrote, made for each revision, never changed
// after, and the same where what operators wrote is the same. Nothing here may do I/O, read a clock or write a log.
package model

import (
	"net/netip"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Model is every object that placing and planning look at, each list sorted by uuid.
type Model struct {
	Revision        int64
	VirtualServices []*VirtualService
	Pools           []*Pool
	Groups          []*Group
	Engines         []*Engine
	VrfContexts     []*kinds.VrfContext
}

// VirtualService is a virtual service with all that it needs to serve. What could not be found is nil, and a Finding.
// Its Vips are those of its VsVip where it has one, and so is how they are advertised.
type VirtualService struct {
	kinds.VirtualService
	SharedVip          *kinds.VsVip // nil: its addresses are its own
	VrfContext         *kinds.VrfContext
	Addresses          []netip.Addr // of its Vips; those that are enabled
	ApplicationProfile *kinds.ApplicationProfile
	HTTP               *kinds.HTTPProfile   // nil: its application profile is not one of HTTP
	L4                 *kinds.TCPAppProfile // nil: its application profile is not one of layer 4, with TLS or without
	NetworkProfile     *kinds.NetworkProfile
	TCP                *kinds.TCPProxy // nil: its network profile is not one of a TCP proxy
	SSLProfile         *kinds.SSLProfile
	Certificates       []*Certificate
	Pool               *Pool
	Group              *Group
	// Closed: it, or what it is served by, has a field that would keep somebody out and that Weir does not act on. It
	// is not to be served; findings say why.
	Closed bool
}

// Tenant is the uuid of the tenant that it belongs to.
func (vs *VirtualService) Tenant() string { return uuidIn(vs.TenantRef) }

// Pool is a pool with its monitors.
type Pool struct {
	kinds.Pool
	Members        []Member
	Conn           *kinds.ConnPool
	HealthMonitors []*HealthMonitor
	SSLProfile     *kinds.SSLProfile // nil: its servers are spoken to in plain
	PKIProfile     *kinds.PKIProfile
	Persistence    *kinds.ApplicationPersistenceProfile
	Certificate    *Certificate // shown to servers
}

// Tenant is the uuid of the tenant that it belongs to.
func (p *Pool) Tenant() string { return uuidIn(p.TenantRef) }

// Member is a server that has an address.
type Member struct {
	kinds.Server
	ID      string // "10.0.0.1:80"
	Address netip.AddrPort
}

// HealthMonitor is a health monitor; HTTP and HTTPS have their check at hand.
type HealthMonitor struct {
	kinds.HealthMonitor
	Check *kinds.HTTPMonitor // of its type; nil: neither HTTP nor HTTPS
}

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

// Cloud is where engines of groups run, with what it takes to start them there.
type Cloud struct {
	kinds.Cloud
	User *kinds.CloudConnectorUser // nil: none is named
}

// Engine is an engine that has joined.
type Engine struct {
	kinds.ServiceEngine
	Group *Group
}

// Finding is what keeps an object from taking effect as it was written.
type Finding struct {
	Kind    string // "virtualservice"
	UUID    string
	Name    string
	Field   string // "ssl_key_and_certificate_refs[0]"; empty: the object as a whole
	Message string
}
