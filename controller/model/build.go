package model

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weir-lb/weir/controller/schema"
)

// Build makes the model of all objects, by kind. It never fails: what cannot be read or resolved is left out, and the
// findings say so, in the order of kind and uuid.
func Build(revision int64, objects map[string][]schema.Object) (*Model, []Finding) {
	return new(Keeper).Build(revision, objects)
}

// Keeper makes models of objects of which most are those of the model before: it reads only those that are new.
type Keeper struct {
	mutex sync.Mutex
	known map[string]map[string]*reading // by kind and uuid
}

// reading is what an object says, before references are resolved.
type reading struct {
	object   schema.Object
	value    any // *T of a table; nil: it is left out
	findings []Finding
	closes   bool
}

// Build makes the model of all objects. Objects are not changed in place: one that was given before says what it said.
func (k *Keeper) Build(revision int64, objects map[string][]schema.Object) (*Model, []Finding) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	b := builder{keeper: k, objects: objects, closed: map[string]bool{}}
	b.read()
	b.resolve()
	return b.model(revision), b.findings
}

// readings are those of a kind, without any of objects that are no more.
func (k *Keeper) readings(kind string, objects []schema.Object) map[string]*reading {
	if k.known == nil {
		k.known = map[string]map[string]*reading{}
	}
	if k.known[kind] == nil {
		k.known[kind] = map[string]*reading{}
	}
	if known := k.known[kind]; len(known) > len(objects) {
		there := make(map[string]bool, len(objects))
		for _, o := range objects {
			there[textOf(o, "uuid")] = true
		}
		maps.DeleteFunc(known, func(uuid string, _ *reading) bool { return !there[uuid] })
	}
	return k.known[kind]
}

// is tells whether this is the reading of an object.
func (r *reading) is(o schema.Object) bool {
	return r != nil && reflect.ValueOf(r.object).UnsafePointer() == reflect.ValueOf(o).UnsafePointer()
}

type builder struct {
	keeper   *Keeper
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
	b.certificates = read(b, "sslkeyandcertificate", (*reading).certificate)
	b.monitors = read(b, "healthmonitor", monitor)
	b.pools = read(b, "pool", (*reading).pool)
	b.connectorUsers = read(b, "cloudconnectoruser", itself[schema.CloudConnectorUser])
	b.clouds = read(b, "cloud", func(_ *reading, c *schema.Cloud) *Cloud { return &Cloud{Cloud: *c} })
	b.groups = read(b, "serviceenginegroup", func(_ *reading, g *schema.ServiceEngineGroup) *Group { return &Group{ServiceEngineGroup: *g} })
	b.engines = read(b, "serviceengine", func(_ *reading, e *schema.ServiceEngine) *Engine { return &Engine{ServiceEngine: *e} })
	b.virtualServices = read(b, "virtualservice",
		func(_ *reading, vs *schema.VirtualService) *VirtualService {
			return &VirtualService{VirtualService: *vs}
		})
}

// read turns the objects of one kind into S, as the schema has it, and then into T; nil leaves it out.
func read[S, T any](b *builder, kind string, wrap func(*reading, *S) *T) table[T] {
	objects := b.objects[kind]
	known, all := b.keeper.readings(kind, objects), make(table[T], len(objects))
	for _, o := range objects {
		uuid := textOf(o, "uuid")
		r := known[uuid]
		if !r.is(o) {
			r = readOne(kind, o, wrap)
			known[uuid] = r
		}
		b.findings = append(b.findings, r.findings...)
		if r.closes {
			b.closed[uuid] = true
		}
		if value, _ := r.value.(*T); value != nil {
			own := *value // references are resolved in it
			all[uuid] = &own
		}
	}
	return all
}

func readOne[S, T any](kind string, o schema.Object, wrap func(*reading, *S) *T) *reading {
	r := &reading{object: o}
	typed, err := schema.Into[S](o)
	if err != nil {
		r.find(kind, "", "%v", err)
		return r
	}
	if wrapped := wrap(r, typed); wrapped != nil {
		r.value = wrapped
		r.tellKept(kind)
	}
	return r
}

func itself[S any](_ *reading, typed *S) *S { return typed }

// tellKept tells of the fields that are kept and not acted on.
func (r *reading) tellKept(kind string) {
	described, ok := schema.Lookup(kind)
	if !ok {
		return
	}
	for _, kept := range described.KeptFields(r.object) {
		r.find(kind, kept.Field, "%s", kept.Why)
		r.closes = r.closes || kept.Closes
	}
}

func (r *reading) find(kind, field, message string, args ...any) {
	r.findings = append(r.findings, Finding{
		Kind: kind, UUID: textOf(r.object, "uuid"), Name: textOf(r.object, "name"), Field: field, Message: fmt.Sprintf(message, args...),
	})
}

func textOf(o schema.Object, field string) string {
	text, _ := o[field].(string)
	return text
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
func (r *reading) certificate(c *schema.SSLKeyAndCertificate) *Certificate {
	if c.Type == "SSL_CERTIFICATE_TYPE_CA" {
		return nil
	}
	pair, err := schema.DecodeKeyPair(c.Certificate.PEM, c.Key)
	if err != nil {
		r.find("sslkeyandcertificate", "certificate", "%v", err)
		return nil
	}
	return &Certificate{SSLKeyAndCertificate: *c, KeyPair: *pair}
}

func monitor(_ *reading, m *schema.HealthMonitor) *HealthMonitor {
	wrapped := &HealthMonitor{HealthMonitor: *m}
	switch m.Type {
	case "HEALTH_MONITOR_HTTP":
		wrapped.Check = m.HTTP
	case "HEALTH_MONITOR_HTTPS":
		wrapped.Check = m.HTTPS
	}
	return wrapped
}

func (r *reading) pool(p *schema.Pool) *Pool {
	wrapped := &Pool{Pool: *p, Conn: orDefaults(p.ConnPool)}
	for i, server := range p.Servers {
		address := server.IP.Address()
		if !address.IsValid() {
			r.find("pool", fmt.Sprintf("servers[%d].ip", i), "%q is a name; give an address", server.IP.Addr)
			continue
		}
		port := uint16(server.PortOr(p.DefaultServerPort))
		wrapped.Members = append(wrapped.Members, Member{
			Server: server, ID: server.ID(p.DefaultServerPort), Address: netip.AddrPortFrom(address, port),
		})
	}
	return wrapped
}
