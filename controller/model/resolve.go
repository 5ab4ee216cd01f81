package model

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// resolve turns references into pointers, the referred before those who refer.
func (b *builder) resolve() {
	for _, cloud := range sorted(b.clouds) {
		if servers := cloud.LinuxServers; servers != nil {
			at := source{b, "cloud", &cloud.Identity, cloud.Name}
			cloud.User = follow(at, b.connectorUsers, "linuxserver_configuration.ssh_user_ref", servers.SSHUserRef)
		}
	}
	for _, group := range sorted(b.groups) {
		group.Cloud = follow(source{b, "serviceenginegroup", &group.Identity, group.Name}, b.clouds, "cloud_ref", group.CloudRef)
	}
	for _, engine := range sorted(b.engines) {
		at := source{b, "serviceengine", &engine.Identity, engine.Name}
		if engine.Group = follow(at, b.groups, "se_group_ref", engine.SEGroupRef); engine.Group != nil {
			engine.Group.Engines = append(engine.Group.Engines, engine)
		}
	}
	for _, pool := range sorted(b.pools) {
		b.resolvePool(pool)
	}
	for _, vs := range sorted(b.virtualServices) {
		b.resolveVirtualService(vs)
	}
}

// source is the object that refers.
type source struct {
	builder *builder
	kind    string
	id      *schema.Identity
	name    string
}

func uuidIn(reference string) string { return reference[strings.LastIndexByte(reference, '/')+1:] }

// follow finds what a reference points to; nil if it is empty, or if there is nothing, which is a finding.
func follow[T any](from source, to table[T], field, reference string) *T {
	if reference == "" {
		return nil
	}
	found, ok := to[uuidIn(reference)]
	if !ok {
		from.find(field, "%s is not there or cannot be used", reference)
	}
	return found
}

func (s source) find(field, message string, args ...any) {
	s.builder.find(s.kind, s.id.UUID, s.name, field, message, args...)
}

func followAll[T any](from source, to table[T], field string, references []string) []*T {
	var found []*T
	for i, reference := range references {
		if target := follow(from, to, fmt.Sprintf("%s[%d]", field, i), reference); target != nil {
			found = append(found, target)
		}
	}
	return found
}

func (b *builder) resolvePool(pool *Pool) {
	from := source{b, "pool", &pool.Identity, pool.Name}
	pool.HealthMonitors = followAll(from, b.monitors, "health_monitor_refs", pool.HealthMonitorRefs)
	pool.SSLProfile = follow(from, b.sslProfiles, "ssl_profile_ref", pool.SSLProfileRef)
	pool.PKIProfile = follow(from, b.pkiProfiles, "pki_profile_ref", pool.PKIProfileRef)
	pool.Persistence = follow(from, b.persistenceProfiles, "application_persistence_profile_ref", pool.PersistenceProfileRef)
	pool.Certificate = follow(from, b.certificates, "ssl_key_and_certificate_ref", pool.CertificateRef)
}

func (b *builder) resolveVirtualService(vs *VirtualService) {
	from := source{b, "virtualservice", &vs.Identity, vs.Name}
	vs.Pool = follow(from, b.pools, "pool_ref", vs.PoolRef)
	vs.Certificates = followAll(from, b.certificates, "ssl_key_and_certificate_refs", vs.CertificateRefs)
	vs.SSLProfile = follow(from, b.sslProfiles, "ssl_profile_ref", vs.SSLProfileRef)
	if vs.Group = follow(from, b.groups, "se_group_ref", vs.SEGroupRef); vs.Group != nil {
		vs.Group.VirtualServices = append(vs.Group.VirtualServices, vs)
	}
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

func (b *builder) resolveProfiles(from source, vs *VirtualService) {
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

func addresses(vips []schema.Vip) []netip.Addr {
	var found []netip.Addr
	for _, vip := range vips {
		for _, ip := range []*schema.IPAddr{vip.IPAddress, vip.IP6Address} {
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
