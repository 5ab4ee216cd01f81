package model

import (
	"iter"
	"maps"
	"slices"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Concerns returns the uuids of all objects that a virtual service consists of. A problem of one of these objects is a
// problem of the virtual service.
func (vs *VirtualService) Concerns() map[string]bool {
	uuids := map[string]bool{}
	for _, part := range vs.parts() {
		uuids[part.uuid] = true
	}
	return uuids
}

// parts returns the objects that a virtual service consists of.
func (vs *VirtualService) parts() subjects {
	parts := subjects{{"virtualservice", vs.UUID}}
	add(&parts, "vsvip", vs.SharedVip, func(v *kinds.VsVip) string { return v.UUID })
	add(&parts, "applicationprofile", vs.ApplicationProfile, uuidOfApplication)
	add(&parts, "pkiprofile", vs.ClientPKI, uuidOfPKIProfile)
	add(&parts, "networkprofile", vs.NetworkProfile, uuidOfNetwork)
	for _, variant := range vs.Variants {
		add(&parts, "applicationprofile", variant.ApplicationProfile, uuidOfApplication)
		add(&parts, "pkiprofile", variant.ClientPKI, uuidOfPKIProfile)
		add(&parts, "networkprofile", variant.NetworkProfile, uuidOfNetwork)
	}
	add(&parts, "analyticsprofile", vs.Analytics, uuidOfAnalytics)
	for _, profile := range vs.SSLProfiles() {
		add(&parts, "sslprofile", profile, uuidOfSSLProfile)
	}
	for _, certificate := range vs.Certificates {
		add(&parts, "sslkeyandcertificate", certificate, uuidOfCertificate)
	}
	add(&parts, "serviceenginegroup", vs.Group, (*Group).Key)
	if vs.EnableRHI {
		add(&parts, "vrfcontext", vs.VrfContext, uuidOfVrf)
	}
	for _, set := range vs.Policies {
		parts = append(parts, subject{"httppolicyset", set.UUID})
		for _, group := range set.StringGroups {
			parts = append(parts, subject{"stringgroup", group.UUID})
		}
	}
	for _, set := range vs.Scripts {
		parts = append(parts, subject{"vsdatascriptset", set.UUID})
		for _, group := range set.StringGroups {
			parts = append(parts, subject{"stringgroup", group.UUID})
		}
	}
	for _, content := range vs.contents() {
		for _, group := range content.StringGroups {
			parts = append(parts, subject{"stringgroup", group.UUID})
		}
	}
	for _, set := range vs.L4Sets {
		parts = append(parts, subject{"l4policyset", set.UUID})
	}
	if policy := vs.NetworkPolicy; policy != nil {
		parts = append(parts, subject{"networksecuritypolicy", policy.UUID})
	}
	for group := range vs.AddressGroups() {
		if !group.IsPlace {
			parts = append(parts, subject{"ipaddrgroup", group.UUID})
		}
	}
	if pages := vs.ErrorPages; pages != nil {
		parts = append(parts, subject{"errorpageprofile", pages.UUID})
		for _, body := range pages.Bodies {
			parts = append(parts, subject{"errorpagebody", body.UUID})
		}
	}
	if policy := vs.SSOPolicy; policy != nil {
		parts = append(parts, subject{"ssopolicy", policy.UUID})
		for _, group := range policy.StringGroups {
			parts = append(parts, subject{"stringgroup", group.UUID})
		}
		if auth := policy.Default; auth != nil {
			parts = append(parts, subject{"authprofile", auth.UUID})
			add(&parts, "jwtserverprofile", auth.Issuer, func(p *kinds.JWTServerProfile) string { return p.UUID })
		}
	}
	for _, group := range vs.Groups() {
		parts = append(parts, subject{"poolgroup", group.UUID})
		add(&parts, "prioritylabels", group.Labels, func(l *kinds.PriorityLabels) string { return l.UUID })
	}
	for _, pool := range vs.Pools() {
		pool.addParts(&parts)
	}
	return parts
}

// AddressGroups are those that the rules, scripts and profiles of a virtual service name. One may come several times.
func (vs *VirtualService) AddressGroups() iter.Seq[*AddressGroup] {
	var all []iter.Seq[*AddressGroup]
	for _, set := range vs.Policies {
		all = append(all, maps.Values(set.AddressGroups))
	}
	for _, set := range vs.Scripts {
		all = append(all, slices.Values(set.AddressGroups))
	}
	for _, set := range vs.L4Sets {
		all = append(all, maps.Values(set.AddressGroups))
	}
	for _, content := range vs.contents() {
		all = append(all, maps.Values(content.AddressGroups))
	}
	all = append(all, maps.Values(vs.HostGroups), maps.Values(vs.SelectorGroups))
	if vs.SSOPolicy != nil {
		all = append(all, maps.Values(vs.SSOPolicy.AddressGroups))
	}
	if vs.NetworkPolicy != nil {
		all = append(all, maps.Values(vs.NetworkPolicy.AddressGroups))
	}
	return func(yield func(*AddressGroup) bool) {
		for _, groups := range all {
			for group := range groups {
				if !yield(group) {
					return
				}
			}
		}
	}
}

func (p *Pool) addParts(parts *subjects) {
	*parts = append(*parts, subject{"pool", p.UUID})
	for _, monitor := range p.HealthMonitors {
		add(parts, "healthmonitor", monitor, (*HealthMonitor).Key)
		add(parts, "sslprofile", monitor.SSLProfile, uuidOfSSLProfile)
		add(parts, "pkiprofile", monitor.PKIProfile, uuidOfPKIProfile)
		add(parts, "sslkeyandcertificate", monitor.Certificate, uuidOfCertificate)
	}
	add(parts, "sslprofile", p.SSLProfile, uuidOfSSLProfile)
	add(parts, "pkiprofile", p.PKIProfile, uuidOfPKIProfile)
	add(parts, "applicationpersistenceprofile", p.Persistence,
		func(p *kinds.ApplicationPersistenceProfile) string { return p.UUID })
	add(parts, "analyticsprofile", p.Analytics, uuidOfAnalytics)
	add(parts, "sslkeyandcertificate", p.Certificate, uuidOfCertificate)
	add(parts, "ipaddrgroup", p.Group, func(g *AddressGroup) string { return g.UUID })
}

func uuidOfApplication(p *kinds.ApplicationProfile) string { return p.UUID }

func uuidOfNetwork(p *kinds.NetworkProfile) string { return p.UUID }

func uuidOfAnalytics(p *kinds.AnalyticsProfile) string { return p.UUID }

func uuidOfSSLProfile(p *kinds.SSLProfile) string { return p.UUID }

func uuidOfPKIProfile(p *kinds.PKIProfile) string { return p.UUID }

func uuidOfCertificate(c *Certificate) string { return c.UUID }

func uuidOfVrf(vrf *kinds.VrfContext) string { return vrf.UUID }

type subjects []subject

// add adds an object, unless it is nil.
func add[T any](parts *subjects, kind string, object *T, uuidOf func(*T) string) {
	if object != nil {
		*parts = append(*parts, subject{kind, uuidOf(object)})
	}
}
