package model

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"strconv"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// reading is the result of reading one object, before its references are resolved.
type reading struct {
	object   schema.Object
	findings []Finding
	closes   bool    // see VirtualService.Closed
	purges   *Purges // see Change

	countries Countries // see Keeper
}

// is tells whether this is the reading of an object, by pointer. A deleted object is nil, and so is its reading.
func (r *reading) is(o schema.Object) bool {
	if r == nil || o == nil {
		return r == nil && o == nil
	}
	return reflect.ValueOf(r.object).UnsafePointer() == reflect.ValueOf(o).UnsafePointer()
}

// readers read an object of each kind into a Keeper: first as S, the struct of the schema, then as T, the struct of the
// model. Objects of other kinds are not part of a model.
var readers = map[string]func(*Keeper, *reading, subject){
	"applicationprofile": into(func(k *Keeper) *table[kinds.ApplicationProfile] {
		return &k.applicationProfiles
	}, (*reading).applicationProfile),
	"networkprofile": into(func(k *Keeper) *table[kinds.NetworkProfile] { return &k.networkProfiles }, itself),
	"sslprofile":     into(func(k *Keeper) *table[kinds.SSLProfile] { return &k.sslProfiles }, itself),
	"pkiprofile":     into(func(k *Keeper) *table[kinds.PKIProfile] { return &k.pkiProfiles }, itself),
	"applicationpersistenceprofile": into(
		func(k *Keeper) *table[kinds.ApplicationPersistenceProfile] { return &k.persistenceProfiles }, itself),
	"analyticsprofile": into(func(k *Keeper) *table[kinds.AnalyticsProfile] { return &k.analyticsProfiles }, itself),
	"errorpagebody":    into(func(k *Keeper) *table[kinds.ErrorPageBody] { return &k.errorBodies }, itself),
	"prioritylabels":   into(func(k *Keeper) *table[kinds.PriorityLabels] { return &k.priorityLabels }, itself),
	"stringgroup":      into(func(k *Keeper) *table[kinds.StringGroup] { return &k.stringGroups }, itself),
	"ipaddrgroup":      into(func(k *Keeper) *table[AddressGroup] { return &k.addressGroups }, (*reading).addressGroup),
	"httppolicyset": into(func(k *Keeper) *table[HTTPPolicySet] { return &k.policySets.read },
		(*reading).policySet),
	"vsdatascriptset": into(func(k *Keeper) *table[ScriptSet] { return &k.scriptSets.read },
		(*reading).scriptSet),
	"l4policyset": into(func(k *Keeper) *table[L4PolicySet] { return &k.l4Sets.read },
		func(_ *reading, s *kinds.L4PolicySet) *L4PolicySet { return &L4PolicySet{L4PolicySet: *s} }),
	"networksecuritypolicy": into(func(k *Keeper) *table[NetworkPolicy] { return &k.networkPolicies.read },
		func(_ *reading, p *kinds.NetworkSecurityPolicy) *NetworkPolicy {
			return &NetworkPolicy{NetworkSecurityPolicy: *p}
		}),
	"vsvip":      into(func(k *Keeper) *table[kinds.VsVip] { return &k.vsVips }, itself),
	"vrfcontext": into(func(k *Keeper) *table[kinds.VrfContext] { return &k.vrfContexts }, itself),
	"sslkeyandcertificate": into(func(k *Keeper) *table[Certificate] {
		return &k.certificates
	}, (*reading).certificate),
	"healthmonitor":      into(func(k *Keeper) *table[HealthMonitor] { return &k.monitors.read }, monitor),
	"cloudconnectoruser": into(func(k *Keeper) *table[kinds.CloudConnectorUser] { return &k.connectorUsers }, itself),
	"pool":               into(func(k *Keeper) *table[Pool] { return &k.pools.read }, (*reading).pool),
	"jwtserverprofile":   into(func(k *Keeper) *table[kinds.JWTServerProfile] { return &k.tokenIssuers }, itself),
	"authprofile": into(func(k *Keeper) *table[AuthProfile] { return &k.authProfiles.read },
		func(_ *reading, p *kinds.AuthProfile) *AuthProfile { return &AuthProfile{AuthProfile: *p} }),
	"ssopolicy": into(func(k *Keeper) *table[SSOPolicy] { return &k.ssoPolicies.read }, (*reading).ssoPolicy),
	"errorpageprofile": into(func(k *Keeper) *table[ErrorPages] { return &k.errorPages.read },
		func(_ *reading, p *kinds.ErrorPageProfile) *ErrorPages { return &ErrorPages{ErrorPageProfile: *p} }),
	"poolgroup": into(func(k *Keeper) *table[PoolGroup] { return &k.poolGroups.read },
		func(_ *reading, g *kinds.PoolGroup) *PoolGroup { return &PoolGroup{PoolGroup: *g} }),
	"cloud": into(func(k *Keeper) *table[Cloud] { return &k.clouds.read },
		func(_ *reading, c *kinds.Cloud) *Cloud { return &Cloud{Cloud: *c} }),
	"serviceenginegroup": into(func(k *Keeper) *table[Group] { return &k.groups.read },
		func(_ *reading, g *kinds.ServiceEngineGroup) *Group { return &Group{ServiceEngineGroup: *g} }),
	"serviceengine": into(func(k *Keeper) *table[Engine] { return &k.engines.read },
		func(_ *reading, e *kinds.ServiceEngine) *Engine { return &Engine{ServiceEngine: *e} }),
	"virtualservice": into(func(k *Keeper) *table[VirtualService] { return &k.virtualServices.read },
		(*reading).virtualService),
}

// into returns a function that reads an object into a table. An object for which wrap returns nil is left out.
func into[S, T any](tableOf func(*Keeper) *table[T], wrap func(*reading, *S) *T) func(*Keeper, *reading, subject) {
	return func(k *Keeper, r *reading, about subject) {
		table := tableOf(k)
		if *table == nil {
			*table = map[string]*T{}
		}
		if value := readOne(about.kind, r, wrap); value != nil {
			(*table)[about.uuid] = value
		} else {
			delete(*table, about.uuid)
		}
	}
}

// take applies a change. It returns false if the object is the same as before, or if models have no objects of its
// kind.
func (k *Keeper) take(change Change) bool {
	about, read := subject{change.Kind, change.UUID}, readers[change.Kind]
	if read == nil || k.read[about].is(change.Object) && k.read[about].purges.equal(change.Purges) {
		return false
	}
	r := &reading{object: change.Object, purges: change.Purges, countries: k.Countries}
	if change.Modified != 0 && change.Object != nil {
		r.object = maps.Clone(change.Object) // for a moment: there are many objects
		r.object["_last_modified"] = strconv.FormatInt(change.Modified, 10)
	}
	read(k, r, about)
	if r.object = change.Object; change.Object == nil {
		delete(k.read, about)
	} else {
		k.read[about] = r
	}
	return true
}

// readOne returns nil for an object that is deleted, that cannot be read, or that wrap leaves out.
func readOne[S, T any](kind string, r *reading, wrap func(*reading, *S) *T) *T {
	if r.object == nil {
		return nil
	}
	typed, err := schema.Into[S](r.object)
	if err != nil {
		r.find(kind, "", "%v", err)
		return nil
	}
	wrapped := wrap(r, typed)
	if wrapped != nil {
		r.tellKept(kind)
	}
	return wrapped
}

func itself[S any](_ *reading, typed *S) *S { return typed }

// tellKept adds a finding for each field that Weir stores and does not act on.
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
		Kind: kind, UUID: textOf(r.object, "uuid"), Name: textOf(r.object, "name"), Field: field,
		Message: fmt.Sprintf(message, args...),
	})
}

func textOf(o schema.Object, field string) string {
	text, _ := o[field].(string)
	return text
}

// certificate leaves out the certificates of CAs: engines present none of them.
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
	fill(&p.MaxConnRatePerServer, r.object["max_conn_rate_per_server"])
	wrapped := &Pool{Pool: *p, Conn: orDefaults(p.ConnPool)}
	owner := map[string]int{}
	for i, server := range p.Servers {
		address := server.IP.Address()
		if !address.IsValid() {
			r.find("pool", fmt.Sprintf("servers[%d].ip", i),
				"the name %q has no address yet: events of the pool say why", server.IP.Addr)
			continue
		}
		if why := kinds.NoServer(address, server.PortOr(p.DefaultServerPort)); why != "" {
			r.find("pool", fmt.Sprintf("servers[%d]", i), "%s: it gets no requests", why)
			continue
		}
		id := server.ID(p.DefaultServerPort)
		if first, there := owner[id]; there {
			r.find("pool", fmt.Sprintf("servers[%d]", i), "%s is already servers[%d]", id, first)
			continue
		}
		owner[id] = i
		port := uint16(server.PortOr(p.DefaultServerPort))
		wrapped.Members = append(wrapped.Members, Member{
			Server: server, ID: id, Address: netip.AddrPortFrom(address, port),
		})
	}
	return wrapped
}
