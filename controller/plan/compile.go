// Package plan compiles what one engine shall do: a pure function of the model and the placement, the stage between
// place and link. Units and names of the API end here; what an engine cannot do yet is a finding, not a surprise.
//
// compile.go is one virtual service at a time; http, tcp, tls and pool convert one object each; cipherlist reads cipher
// strings; delta is the difference of two Plans.
package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// listenersMax bounds one virtual service: its addresses times its ports.
const listenersMax = 256

// Compile makes the Plan of one engine, its resources sorted by uuid. A virtual service that cannot be served is left
// out and a finding says why; the others go on. Of two that want the same port, the one in the Plan before keeps it.
func Compile(m *model.Model, placement place.Placement, engineUUID string, before *enginev1.Plan) (*enginev1.Plan, []model.Finding) {
	c := compiler{resources: map[string]*enginev1.Resource{}, taken: map[netip.AddrPort]string{}}
	for _, vs := range incumbentsFirst(placement.Services(engineUUID), before) {
		c.virtualService(vs)
	}
	plan := &enginev1.Plan{Revision: uint64(m.Revision)}
	for _, resource := range c.resources {
		plan.Resources = append(plan.Resources, resource)
	}
	slices.SortFunc(plan.GetResources(), func(a, b *enginev1.Resource) int { return strings.Compare(a.GetUuid(), b.GetUuid()) })
	return plan, sortFindings(c.findings)
}

func incumbentsFirst(services []*model.VirtualService, before *enginev1.Plan) []*model.VirtualService {
	served := map[string]bool{}
	for _, resource := range before.GetResources() {
		served[resource.GetUuid()] = true
	}
	rank := func(vs *model.VirtualService) int {
		if served[vs.UUID] {
			return 0
		}
		return 1
	}
	ordered := slices.Clone(services)
	slices.SortStableFunc(ordered, func(a, b *model.VirtualService) int { return cmp.Compare(rank(a), rank(b)) })
	return ordered
}

type compiler struct {
	resources map[string]*enginev1.Resource
	findings  []model.Finding
	taken     map[netip.AddrPort]string // by which virtual service
}

func (c *compiler) virtualService(vs *model.VirtualService) {
	report := &report{}
	compiled, parts := c.compile(vs, report)
	c.findings = append(c.findings, report.findings...)
	if report.blocked {
		return
	}
	for _, resource := range parts {
		c.resources[resource.GetUuid()] = resource
	}
	c.resources[vs.UUID] = &enginev1.Resource{
		Uuid: vs.UUID,
		Body: &enginev1.Resource_VirtualService{VirtualService: compiled},
	}
	for _, listener := range compiled.GetListeners() {
		c.taken[addressOf(listener)] = vs.Name
	}
}

// compile makes a virtual service and the parts it needs; several may need the same.
func (c *compiler) compile(vs *model.VirtualService, report *report) (*dataplanev1.VirtualService, []*enginev1.Resource) {
	subject := about("virtualservice", vs.Identity, vs.Named)
	refuseUnserved(subject, vs, report)
	if report.blocked {
		return nil, nil
	}
	compiled := &dataplanev1.VirtualService{
		Uuid:      vs.UUID,
		Name:      vs.Name,
		Listeners: c.listeners(subject, vs, report),
		Http:      httpProfile(vs, httpsPort(vs), report),
		Tcp:       tcpProfile(vs.TCP),
	}
	var parts []*enginev1.Resource
	if vs.Pool != nil {
		compiled.PoolUuid = vs.Pool.UUID
		parts = pool(vs.Pool, report)
	}
	if httpsPort(vs) != 0 {
		parts = append(parts, secure(subject, vs, compiled, report)...)
	}
	return compiled, parts
}

// refuseUnserved blocks what engines cannot serve at all.
func refuseUnserved(subject subject, vs *model.VirtualService, report *report) {
	if vs.Type != "VS_TYPE_NORMAL" {
		report.block(subject, "type", "engines cannot serve %s yet: use VS_TYPE_NORMAL", vs.Type)
	}
	switch profile := vs.ApplicationProfile; {
	case profile == nil:
		report.blocked = true // model has said why
	case vs.HTTP == nil:
		report.block(subject, "application_profile_ref",
			"%s has type %s, engines can only serve APPLICATION_PROFILE_TYPE_HTTP yet", profile.Name, profile.Type)
	}
	switch profile := vs.NetworkProfile; {
	case profile == nil:
		report.blocked = true
	case vs.TCP == nil:
		report.block(subject, "network_profile_ref",
			"%s has type %s, which cannot carry HTTP: use one of PROTOCOL_TYPE_TCP_PROXY", profile.Name, profile.Profile.Type)
	}
	if vs.PoolRef != "" && vs.Pool == nil {
		report.blocked = true
	}
	for i, service := range vs.Services {
		field := fmt.Sprintf("services[%d].", i)
		if ref := service.ApplicationProfileRef; ref != "" && ref != vs.ApplicationProfileRef {
			report.block(subject, field+"override_application_profile_ref", "engines cannot treat ports differently yet: remove it")
		}
		if ref := service.NetworkProfileRef; ref != "" && ref != vs.NetworkProfileRef {
			report.block(subject, field+"override_network_profile_ref", "engines cannot treat ports differently yet: remove it")
		}
		if service.EnableHTTP2 {
			report.warn(subject, field+"enable_http2", "engines do not speak HTTP/2 yet: HTTP/1.1 is offered")
		}
	}
}

// httpsPort is the first port with TLS; 0: none.
func httpsPort(vs *model.VirtualService) uint32 {
	for _, service := range vs.Services {
		if service.EnableSSL {
			return service.Port
		}
	}
	return 0
}

// listeners are all addresses with all ports, in the order of the object.
func (c *compiler) listeners(subject subject, vs *model.VirtualService, report *report) []*dataplanev1.Listener {
	if len(vs.Addresses) == 0 {
		report.block(subject, "vsvip_ref", "has no address that is enabled: give the VsVip an ip_address")
	}
	if len(vs.Services) == 0 {
		report.block(subject, "services", "has no port: add one")
	}
	var listeners []*dataplanev1.Listener
	for _, address := range vs.Addresses {
		for i, service := range vs.Services {
			if len(listeners)+int(service.PortRangeEnd-service.Port) >= listenersMax {
				report.block(subject, fmt.Sprintf("services[%d].port_range_end", i),
					"makes more than %d listeners, addresses times ports: give fewer", listenersMax)
				return nil
			}
			for port := service.Port; port <= service.PortRangeEnd; port++ {
				listener := &dataplanev1.Listener{Address: address.String(), Port: port, Tls: service.EnableSSL}
				if owner, taken := c.taken[addressOf(listener)]; taken {
					report.block(subject, fmt.Sprintf("services[%d].port", i),
						"%s is served by virtual service %s already", addressOf(listener), owner)
				}
				listeners = append(listeners, listener)
			}
		}
	}
	return listeners
}

func addressOf(listener *dataplanev1.Listener) netip.AddrPort {
	address, _ := netip.ParseAddr(listener.GetAddress()) // it was one before
	return netip.AddrPortFrom(address, uint16(listener.GetPort()))
}

// secure gives a virtual service its TLS; the parts are its certificates.
func secure(subject subject, vs *model.VirtualService, into *dataplanev1.VirtualService, report *report) []*enginev1.Resource {
	if vs.SSLProfile == nil {
		report.block(subject, "ssl_profile_ref", "a port with enable_ssl needs an SSL profile")
		return nil
	}
	if len(vs.Certificates) == 0 {
		report.block(subject, "ssl_key_and_certificate_refs", "a port with enable_ssl needs a certificate that can be used")
	}
	into.Tls = tlsProfile(vs.SSLProfile, report)
	var parts []*enginev1.Resource
	for _, from := range vs.Certificates {
		into.CertificateUuids = append(into.CertificateUuids, from.UUID)
		compiled := &dataplanev1.Certificate{Uuid: from.UUID, Name: from.Name, ChainDer: from.ChainDER, KeyPkcs8Der: from.KeyDER}
		parts = append(parts, &enginev1.Resource{
			Uuid: from.UUID,
			Body: &enginev1.Resource_Certificate{Certificate: compiled},
		})
	}
	return parts
}

// sortFindings orders them by object and drops what several virtual services found in the same one.
func sortFindings(findings []model.Finding) []model.Finding {
	slices.SortStableFunc(findings, func(a, b model.Finding) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.UUID, b.UUID), strings.Compare(a.Field, b.Field),
			strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}
