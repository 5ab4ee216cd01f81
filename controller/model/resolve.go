package model

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// resolved is the objects of one kind that refer to others, with pointers in place of references.
type resolved[T any] struct {
	read   table[T]
	all    map[string]*resolution[T] // by uuid
	sorted []*T                      // by uuid
}

func (r resolved[T]) find(uuid string) *T {
	if found := r.all[uuid]; found != nil {
		return found.value
	}
	return nil
}

// resolution is one of them.
type resolution[T any] struct {
	value    *T
	refersTo []string // uuids, also those that nothing has
	findings []Finding
}

// resolve turns references into pointers, the referred before those who refer.
func (b *builder) resolve(former builder) {
	for _, kind := range []string{"cloudconnectoruser", "cloud", "serviceenginegroup", "serviceengine"} {
		if b.changedKinds[kind] { // a group and its engines point to each other: where one is new, all are
			former.clouds, former.groups, former.engines = resolved[Cloud]{}, resolved[Group]{}, resolved[Engine]{}
		}
	}
	resolve(b, "cloud", []string{"cloudconnectoruser"}, &b.clouds, former.clouds, b.resolveCloud)
	resolve(b, "serviceenginegroup", []string{"cloud"}, &b.groups, former.groups, func(from *source, group *Group) {
		group.Cloud = follow(from, b.clouds, "cloud_ref", group.CloudRef)
	})
	resolve(b, "serviceengine", []string{"serviceenginegroup"}, &b.engines, former.engines, func(from *source, engine *Engine) {
		if engine.Group = follow(from, b.groups, "se_group_ref", engine.SEGroupRef); engine.Group != nil {
			engine.Group.Engines = append(engine.Group.Engines, engine)
		}
	})
	resolve(b, "pool", []string{
		"healthmonitor", "sslprofile", "pkiprofile", "applicationpersistenceprofile", "sslkeyandcertificate",
	}, &b.pools, former.pools, b.resolvePool)
	resolve(b, "virtualservice", []string{
		"pool", "sslkeyandcertificate", "sslprofile", "serviceenginegroup", "applicationprofile", "networkprofile", "vsvip", "vrfcontext",
	}, &b.virtualServices, former.virtualServices, b.resolveVirtualService)
}

// resolve resolves the objects of a kind, which refer to some others. One that has not changed, and refers to nothing that
// has, is the one before.
func resolve[T any](b *builder, kind string, referred []string, to *resolved[T], former resolved[T], one func(*source, *T)) {
	if former.all != nil && !slices.ContainsFunc(append(referred, kind), func(kind string) bool { return b.changedKinds[kind] }) {
		to.all, to.sorted = former.all, former.sorted
		for _, r := range to.all {
			b.findings = append(b.findings, r.findings...)
		}
		return
	}
	to.all = make(map[string]*resolution[T], len(to.read))
	same := len(to.read) == len(former.all)
	for _, uuid := range slices.Sorted(maps.Keys(to.read)) {
		r := former.all[uuid]
		if r == nil || b.changed[uuid] || slices.ContainsFunc(r.refersTo, func(referred string) bool { return b.changed[referred] }) {
			own := *to.read[uuid]
			from := &source{kind: kind, uuid: uuid, name: textOf(b.read[kind].readings[uuid].object, "name")}
			one(from, &own)
			r, same = &resolution[T]{&own, from.refersTo, from.findings}, false
			b.hasChanged(kind, uuid)
		}
		to.all[uuid] = r
		to.sorted = append(to.sorted, r.value)
		b.findings = append(b.findings, r.findings...)
	}
	if same {
		to.sorted = former.sorted
	}
}

// source is the object that refers.
type source struct {
	kind, uuid, name string
	refersTo         []string
	findings         []Finding
}

func (s *source) find(field, message string, args ...any) {
	s.findings = append(s.findings, Finding{
		Kind: s.kind, UUID: s.uuid, Name: s.name, Field: field, Message: fmt.Sprintf(message, args...),
	})
}

func uuidIn(reference string) string { return reference[strings.LastIndexByte(reference, '/')+1:] }

// follow finds what a reference points to; nil if it is empty, or if there is nothing, which is a finding.
func follow[T any](from *source, to interface{ find(uuid string) *T }, field, reference string) *T {
	if reference == "" {
		return nil
	}
	uuid := uuidIn(reference)
	from.refersTo = append(from.refersTo, uuid)
	found := to.find(uuid)
	if found == nil {
		from.find(field, "%s is not there or cannot be used", reference)
	}
	return found
}

func followAll[T any](from *source, to interface{ find(uuid string) *T }, field string, references []string) []*T {
	var found []*T
	for i, reference := range references {
		if target := follow(from, to, fmt.Sprintf("%s[%d]", field, i), reference); target != nil {
			found = append(found, target)
		}
	}
	return found
}

func (b *builder) resolveCloud(from *source, cloud *Cloud) {
	if servers := cloud.LinuxServers; servers != nil {
		cloud.User = follow(from, b.connectorUsers, "linuxserver_configuration.ssh_user_ref", servers.SSHUserRef)
	}
}

func (b *builder) resolvePool(from *source, pool *Pool) {
	pool.HealthMonitors = followAll(from, b.monitors, "health_monitor_refs", pool.HealthMonitorRefs)
	pool.SSLProfile = follow(from, b.sslProfiles, "ssl_profile_ref", pool.SSLProfileRef)
	pool.PKIProfile = follow(from, b.pkiProfiles, "pki_profile_ref", pool.PKIProfileRef)
	pool.Persistence = follow(from, b.persistenceProfiles, "application_persistence_profile_ref", pool.PersistenceProfileRef)
	pool.Certificate = follow(from, b.certificates, "ssl_key_and_certificate_ref", pool.CertificateRef)
}

func (b *builder) resolveVirtualService(from *source, vs *VirtualService) {
	vs.Pool = follow(from, b.pools, "pool_ref", vs.PoolRef)
	vs.Certificates = followAll(from, b.certificates, "ssl_key_and_certificate_refs", vs.CertificateRefs)
	vs.SSLProfile = follow(from, b.sslProfiles, "ssl_profile_ref", vs.SSLProfileRef)
	vs.Group = follow(from, b.groups, "se_group_ref", vs.SEGroupRef)
	b.resolveProfiles(from, vs)
	vrfRef := vs.VrfContextRef
	if vs.SharedVip = follow(from, b.vsVips, "vsvip_ref", vs.VsVipRef); vs.SharedVip != nil {
		vs.Vips, vrfRef = vs.SharedVip.Vips, vs.SharedVip.VrfContextRef
	}
	vs.VrfContext = follow(from, b.vrfContexts, "vrf_context_ref", vrfRef)
	vs.Addresses = addresses(vs.Vips)
	for uuid := range vs.Concerns() {
		vs.Closed = vs.Closed || b.closed[uuid]
	}
}

func (b *builder) resolveProfiles(from *source, vs *VirtualService) {
	vs.ApplicationProfile = follow(from, b.applicationProfiles, "application_profile_ref", vs.ApplicationProfileRef)
	if profile := vs.ApplicationProfile; profile != nil {
		switch profile.Type {
		case "APPLICATION_PROFILE_TYPE_HTTP":
			vs.HTTP = orDefaults(profile.HTTP)
		case "APPLICATION_PROFILE_TYPE_L4", "APPLICATION_PROFILE_TYPE_SSL":
			vs.L4 = orDefaults(profile.TCP)
		}
	}
	vs.NetworkProfile = follow(from, b.networkProfiles, "network_profile_ref", vs.NetworkProfileRef)
	if profile := vs.NetworkProfile; profile != nil && profile.Profile.Type == "PROTOCOL_TYPE_TCP_PROXY" {
		vs.TCP = orDefaults(profile.Profile.TCPProxy)
	}
}

func orDefaults[T any](given *T) *T {
	if given != nil {
		return given
	}
	return schema.Defaults[T]()
}

func addresses(vips []kinds.Vip) []netip.Addr {
	var found []netip.Addr
	for _, vip := range vips {
		for _, ip := range []*kinds.IPAddr{vip.IPAddress, vip.IP6Address} {
			if ip == nil || !vip.Enabled {
				continue
			}
			if address := ip.Address(); address.IsValid() {
				found = append(found, address)
			}
		}
	}
	return found
}
