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
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Build makes the model of all objects, by kind. It never fails: what cannot be read or resolved is left out, and the
// findings say so, in the order of kind and uuid.
func Build(revision int64, objects map[string][]schema.Object) (*Model, []Finding) {
	return new(Keeper).Build(revision, objects)
}

// Keeper makes models of objects of which most are those of the model before. It reads only those that are new; and what has
// not changed, nor anything that it refers to, is the same in both models, by its pointer.
type Keeper struct {
	mutex  sync.Mutex
	former builder
}

// Build makes the model of all objects. Objects and lists of them are not changed in place: what was given before says what it said.
func (k *Keeper) Build(revision int64, objects map[string][]schema.Object) (*Model, []Finding) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	b := builder{
		objects: objects, former: k.former.read, read: map[string]*kindRead{},
		closed: map[string]bool{}, changed: map[string]bool{}, changedKinds: map[string]bool{},
	}
	b.readAll()
	b.resolve(k.former)
	b.objects, b.former = nil, nil
	k.former = b
	return b.model(revision), b.findings
}

type builder struct {
	objects  map[string][]schema.Object
	former   map[string]*kindRead // of the model before, by kind
	read     map[string]*kindRead
	findings []Finding
	closed   map[string]bool // uuids of objects that nobody is to be served by

	changed      map[string]bool // uuids of what is not as in the model before, or refers to what is not
	changedKinds map[string]bool // kinds of which an object has changed

	applicationProfiles table[kinds.ApplicationProfile]
	networkProfiles     table[kinds.NetworkProfile]
	sslProfiles         table[kinds.SSLProfile]
	pkiProfiles         table[kinds.PKIProfile]
	persistenceProfiles table[kinds.ApplicationPersistenceProfile]
	vsVips              table[kinds.VsVip]
	vrfContexts         table[kinds.VrfContext]
	certificates        table[Certificate]
	monitors            table[HealthMonitor]
	connectorUsers      table[kinds.CloudConnectorUser]

	pools           resolved[Pool]
	clouds          resolved[Cloud]
	groups          resolved[Group]
	engines         resolved[Engine]
	virtualServices resolved[VirtualService]
}

// table is the objects of one kind by uuid, as they were read.
type table[T any] map[string]*T

func (t table[T]) find(uuid string) *T { return t[uuid] }

// kindRead is what the objects of a kind say.
type kindRead struct {
	objects  []schema.Object
	readings map[string]*reading // by uuid
	table    any                 // table[T]
	findings []Finding
	closes   []string // uuids
}

// reading is what an object says, before references are resolved.
type reading struct {
	object   schema.Object
	value    any // *T of a table; nil: it is left out
	findings []Finding
	closes   bool
}

// is tells whether this is the reading of an object.
func (r *reading) is(o schema.Object) bool {
	return r != nil && reflect.ValueOf(r.object).UnsafePointer() == reflect.ValueOf(o).UnsafePointer()
}

func (b *builder) readAll() {
	b.applicationProfiles = read(b, "applicationprofile", itself[kinds.ApplicationProfile])
	b.networkProfiles = read(b, "networkprofile", itself[kinds.NetworkProfile])
	b.sslProfiles = read(b, "sslprofile", itself[kinds.SSLProfile])
	b.pkiProfiles = read(b, "pkiprofile", itself[kinds.PKIProfile])
	b.persistenceProfiles = read(b, "applicationpersistenceprofile", itself[kinds.ApplicationPersistenceProfile])
	b.vsVips = read(b, "vsvip", itself[kinds.VsVip])
	b.vrfContexts = read(b, "vrfcontext", itself[kinds.VrfContext])
	b.certificates = read(b, "sslkeyandcertificate", (*reading).certificate)
	b.monitors = read(b, "healthmonitor", monitor)
	b.connectorUsers = read(b, "cloudconnectoruser", itself[kinds.CloudConnectorUser])
	b.pools.read = read(b, "pool", (*reading).pool)
	b.clouds.read = read(b, "cloud", func(_ *reading, c *kinds.Cloud) *Cloud { return &Cloud{Cloud: *c} })
	b.groups.read = read(b, "serviceenginegroup",
		func(_ *reading, g *kinds.ServiceEngineGroup) *Group { return &Group{ServiceEngineGroup: *g} })
	b.engines.read = read(b, "serviceengine", func(_ *reading, e *kinds.ServiceEngine) *Engine { return &Engine{ServiceEngine: *e} })
	b.virtualServices.read = read(b, "virtualservice",
		func(_ *reading, vs *kinds.VirtualService) *VirtualService {
			return &VirtualService{VirtualService: *vs}
		})
}

// read turns the objects of one kind into S, as the schema has it, and then into T; nil leaves it out.
func read[S, T any](b *builder, kind string, wrap func(*reading, *S) *T) table[T] {
	objects, k := b.objects[kind], b.former[kind]
	if k == nil || !isOne(objects, k.objects) {
		k = readKind(b, kind, objects, wrap)
	}
	b.read[kind] = k
	b.findings = append(b.findings, k.findings...)
	for _, uuid := range k.closes {
		b.closed[uuid] = true
	}
	return k.table.(table[T])
}

// isOne tells whether two lists are one.
func isOne(a, b []schema.Object) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func readKind[S, T any](b *builder, kind string, objects []schema.Object, wrap func(*reading, *S) *T) *kindRead {
	var known map[string]*reading
	if former := b.former[kind]; former != nil {
		known = former.readings
	}
	all := make(table[T], len(objects))
	k := &kindRead{objects: objects, readings: make(map[string]*reading, len(objects)), table: all}
	for _, o := range objects {
		uuid := textOf(o, "uuid")
		r := known[uuid]
		if !r.is(o) {
			r = readOne(kind, o, wrap)
			b.hasChanged(kind, uuid)
		}
		k.readings[uuid] = r
		k.findings = append(k.findings, r.findings...)
		if r.closes {
			k.closes = append(k.closes, uuid)
		}
		if value, _ := r.value.(*T); value != nil {
			all[uuid] = value
		}
	}
	for uuid := range known {
		if k.readings[uuid] == nil {
			b.hasChanged(kind, uuid)
		}
	}
	return k
}

func (b *builder) hasChanged(kind, uuid string) { b.changed[uuid], b.changedKinds[kind] = true, true }

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

func (b *builder) model(revision int64) *Model {
	slices.SortFunc(b.findings, func(x, y Finding) int {
		return cmp.Or(strings.Compare(x.Kind, y.Kind), strings.Compare(x.UUID, y.UUID), strings.Compare(x.Field, y.Field),
			strings.Compare(x.Message, y.Message))
	})
	return &Model{
		Revision:        revision,
		VirtualServices: b.virtualServices.sorted,
		Pools:           b.pools.sorted,
		Groups:          b.groups.sorted,
		Engines:         b.engines.sorted,
		VrfContexts:     sorted(b.vrfContexts),
	}
}

func sorted[T any](all table[T]) []*T {
	list := make([]*T, 0, len(all))
	for _, uuid := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[uuid])
	}
	return list
}

// certificate leaves out those of a CA, which serve nobody.
func (r *reading) certificate(c *kinds.SSLKeyAndCertificate) *Certificate {
	if c.Type == "SSL_CERTIFICATE_TYPE_CA" {
		return nil
	}
	pair, err := kinds.DecodeKeyPair(c.Certificate.PEM, c.Key)
	if err != nil {
		r.find("sslkeyandcertificate", "certificate", "%v", err)
		return nil
	}
	return &Certificate{SSLKeyAndCertificate: *c, KeyPair: *pair}
}

func monitor(_ *reading, m *kinds.HealthMonitor) *HealthMonitor {
	wrapped := &HealthMonitor{HealthMonitor: *m}
	switch m.Type {
	case "HEALTH_MONITOR_HTTP":
		wrapped.Check = m.HTTP
	case "HEALTH_MONITOR_HTTPS":
		wrapped.Check = m.HTTPS
	}
	return wrapped
}

func (r *reading) pool(p *kinds.Pool) *Pool {
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
