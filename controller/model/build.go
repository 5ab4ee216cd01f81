package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// Build makes the model of all objects, by kind. It never fails: what cannot be read or resolved is left out, and the
// findings say so, in the order of kind and uuid.
func Build(revision int64, objects map[string][]schema.Object) (*Model, []Finding) {
	b := builder{objects: objects, closed: map[string]bool{}}
	b.read()
	b.resolve()
	return b.model(revision), b.findings
}

type builder struct {
	objects  map[string][]schema.Object
	findings []Finding
	closed   map[string]bool // uuids of objects that nobody is to be served by

	applicationProfiles table[schema.ApplicationProfile]
	networkProfiles     table[schema.NetworkProfile]
	sslProfiles         table[schema.SSLProfile]
	pkiProfiles         table[schema.PKIProfile]
	persistenceProfiles table[schema.ApplicationPersistenceProfile]
	vsVips              table[schema.VsVip]
	vrfContexts         table[schema.VrfContext]
	certificates        table[Certificate]
	monitors            table[HealthMonitor]
	pools               table[Pool]
	connectorUsers      table[schema.CloudConnectorUser]
	clouds              table[Cloud]
	groups              table[Group]
	engines             table[Engine]
	virtualServices     table[VirtualService]
}

// table is the objects of one kind by uuid.
type table[T any] map[string]*T

func (b *builder) read() {
	b.applicationProfiles = read(b, "applicationprofile", itself[schema.ApplicationProfile])
	b.networkProfiles = read(b, "networkprofile", itself[schema.NetworkProfile])
	b.sslProfiles = read(b, "sslprofile", itself[schema.SSLProfile])
	b.pkiProfiles = read(b, "pkiprofile", itself[schema.PKIProfile])
	b.persistenceProfiles = read(b, "applicationpersistenceprofile", itself[schema.ApplicationPersistenceProfile])
	b.vsVips = read(b, "vsvip", itself[schema.VsVip])
	b.vrfContexts = read(b, "vrfcontext", itself[schema.VrfContext])
	b.certificates = read(b, "sslkeyandcertificate", b.certificate)
	b.monitors = read(b, "healthmonitor", monitor)
	b.pools = read(b, "pool", b.pool)
	b.connectorUsers = read(b, "cloudconnectoruser", itself[schema.CloudConnectorUser])
	b.clouds = read(b, "cloud", func(c *schema.Cloud) *Cloud { return &Cloud{Cloud: *c} })
	b.groups = read(b, "serviceenginegroup", func(g *schema.ServiceEngineGroup) *Group { return &Group{ServiceEngineGroup: *g} })
	b.engines = read(b, "serviceengine", func(e *schema.ServiceEngine) *Engine { return &Engine{ServiceEngine: *e} })
	b.virtualServices = read(b, "virtualservice",
		func(vs *schema.VirtualService) *VirtualService { return &VirtualService{VirtualService: *vs} })
}

func itself[S any](typed *S) *S { return typed }

// read turns the objects of one kind into S, as the schema has it, and then into T; nil leaves it out.
func read[S, T any](b *builder, kind string, wrap func(*S) *T) table[T] {
	all := table[T]{}
	for _, o := range b.objects[kind] {
		uuid, _ := o["uuid"].(string)
		name, _ := o["name"].(string)
		typed, err := schema.Into[S](o)
		if err != nil {
			b.find(kind, uuid, name, "", "%v", err)
			continue
		}
		if wrapped := wrap(typed); wrapped != nil {
			all[uuid] = wrapped
			b.tellKept(kind, uuid, name, o)
		}
	}
	return all
}

// tellKept tells of the fields that are kept and not acted on.
func (b *builder) tellKept(kind, uuid, name string, o schema.Object) {
	described, ok := schema.Lookup(kind)
	if !ok {
		return
	}
	for _, kept := range described.KeptFields(o) {
		b.find(kind, uuid, name, kept.Field, "%s", kept.Why)
		b.closed[uuid] = b.closed[uuid] || kept.Closes
	}
}

func (b *builder) find(kind, uuid, name, field, message string, args ...any) {
	b.findings = append(b.findings, Finding{
		Kind: kind, UUID: uuid, Name: name, Field: field, Message: fmt.Sprintf(message, args...),
	})
}

func (b *builder) model(revision int64) *Model {
	slices.SortFunc(b.findings, func(x, y Finding) int {
		return cmp.Or(strings.Compare(x.Kind, y.Kind), strings.Compare(x.UUID, y.UUID), strings.Compare(x.Field, y.Field))
	})
	return &Model{
		Revision:        revision,
		VirtualServices: sorted(b.virtualServices),
		Pools:           sorted(b.pools),
		Groups:          sorted(b.groups),
		Engines:         sorted(b.engines),
		VrfContexts:     sorted(b.vrfContexts),
	}
}

func sorted[T any](all table[T]) []*T {
	list := make([]*T, 0, len(all))
	for _, uuid := range uuids(all) {
		list = append(list, all[uuid])
	}
	return list
}

func uuids[T any](all table[T]) []string {
	list := make([]string, 0, len(all))
	for uuid := range all {
		list = append(list, uuid)
	}
	slices.Sort(list)
	return list
}

// certificate leaves out those of a CA, which serve nobody.
func (b *builder) certificate(c *schema.SSLKeyAndCertificate) *Certificate {
	if c.Type == "SSL_CERTIFICATE_TYPE_CA" {
		return nil
	}
	pair, err := schema.DecodeKeyPair(c.Certificate.PEM, c.Key)
	if err != nil {
		b.find("sslkeyandcertificate", c.UUID, c.Name, "certificate", "%v", err)
		return nil
	}
	return &Certificate{SSLKeyAndCertificate: *c, KeyPair: *pair}
}

func monitor(m *schema.HealthMonitor) *HealthMonitor {
	wrapped := &HealthMonitor{HealthMonitor: *m}
	switch m.Type {
	case "HEALTH_MONITOR_HTTP":
		wrapped.Check = m.HTTP
	case "HEALTH_MONITOR_HTTPS":
		wrapped.Check = m.HTTPS
	}
	return wrapped
}

func (b *builder) pool(p *schema.Pool) *Pool {
	wrapped := &Pool{Pool: *p, Conn: orDefaults(p.ConnPool)}
	for i, server := range p.Servers {
		address := server.IP.Address()
		if !address.IsValid() {
			b.find("pool", p.UUID, p.Name, fmt.Sprintf("servers[%d].ip", i), "%q is a name; give an address", server.IP.Addr)
			continue
		}
		port := uint16(server.PortOr(p.DefaultServerPort))
		wrapped.Members = append(wrapped.Members, Member{
			Server: server, ID: server.ID(p.DefaultServerPort), Address: netip.AddrPortFrom(address, port),
		})
	}
	return wrapped
}
