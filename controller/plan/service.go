package plan

import (
	"fmt"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/tickets"
)

// listenersMax bounds the listeners of one virtual service: its addresses times its ports.
const listenersMax = 256

// draft is a compiled virtual service, with the resources that it needs. It does not depend on an engine. Several
// drafts may contain the same resource.
type draft struct {
	vs      *model.VirtualService
	subject subject
	service *dataplanev1.VirtualService
	claims  []claim
	parts   []part // service last
	report  report

	hostGroups      []part // that a child compares requests with; in parts, too
	expressionBytes int    // what its regular expressions need in each worker; of children

	limits bool // it has limits of rates, which its engines share out

	refusal *draft // of a child that is not served; nil: not made yet, or not needed

	advertisement *enginev1.Resource // nil: its addresses are not advertised
}

// newDraft compiles a virtual service, with what it is for the ports that have other profiles.
func (c *Compiler) newDraft(vs *model.VirtualService) *draft {
	var d *draft
	if len(vs.Variants) > 0 && !vs.IsParent() && !vs.IsChild() {
		d = c.newDraftWithVariants(vs)
	} else if d = c.newPart(vs); len(vs.Variants) > 0 {
		d.refuseVariants()
	}
	d.refuseTwins()
	return d
}

func (c *Compiler) newPart(vs *model.VirtualService) *draft {
	d := &draft{vs: vs, subject: about("virtualservice", vs.Identity, vs.Named)}
	if vs.IsChild() {
		d.claims, d.hostGroups = wishesOf(vs), c.addressGroupsOf(vs.HostGroups)
	}
	refuseUnserved(d.subject, vs, &d.report)
	if d.report.blocked {
		return d
	}
	warnUnheeded(d.subject, unheededOfVirtualService, vs, &d.report)
	warnUnheeded(d.subject, unheededOfConnections, vs, &d.report)
	if group := vs.Group; group != nil {
		warnUnheeded(about("serviceenginegroup", group.Identity, group.Named), unheededOfGroup,
			&group.ServiceEngineGroup, &d.report)
	}
	d.service = &dataplanev1.VirtualService{
		Uuid: vs.UUID,
		Name: vs.Name,

		Analytics: analytics(d.subject, vs, &d.report),
	}
	if vs.UDP != nil {
		d.service.Udp = udpProfile(vs, &d.report)
	} else {
		d.service.Tcp = tcpProfile(vs, &d.report)
	}
	if vs.IsChild() {
		d.expressionBytes = child(d.subject, vs, d.service, &d.report)
		d.parts = append(d.parts, d.hostGroups...)
		d.noteShadowsOfChild()
	} else {
		d.service.Listeners = listeners(d.subject, vs, &d.report)
		d.service.ListenWhileUp = listenWhileUp(vs)
		d.service.Hosting = hosting(vs)
		d.claims = claimsOn(d.service.GetListeners())
	}
	if vs.UDP == nil && !vs.IsChild() {
		d.limitConnections()
	}
	if vs.HTTP != nil {
		d.service.Http = httpProfile(vs, redirectPort(vs), &d.report)
		d.service.Http.ContentRewrite = contentRewrite(d.subject, vs, &d.report)
		d.service.Http.Compression = compression(d.subject, vs, &d.report)
		d.service.Http.Cache = cache(d.subject, vs, &d.report)
		d.limitRequests()
		d.limitStrangers()
	} else {
		d.service.L4 = l4Profile(vs, &d.report)
		if vs.ContentRewrite != nil {
			d.report.warn(d.subject, ofRewrite, "engines see no responses at layer 4: has no effect")
		}
	}
	clients, authorities := clientCertificates(d.subject, vs, &d.report)
	d.service.ClientCertificates = clients
	if vs.Pool != nil {
		d.service.PoolUuid = vs.Pool.UUID
	}
	d.parts = append(d.parts, partsOf(authorities)...)
	d.service.Tokens = tokenRules(d.subject, vs, &d.report)
	if access := d.service.GetTokens().GetAccess(); access != nil {
		groups := c.groupsOf(comparedIn(vs.SSOPolicy))
		d.parts = append(d.parts, groups...)
		d.noteShadowsOfAccess(access, groupsIn(groups))
	}
	if vs.PoolGroup != nil {
		d.service.PoolGroupUuid = vs.PoolGroup.UUID
	}
	d.addPools()
	d.addErrorPages()
	c.addPolicies(d)
	c.addScripts(d)
	c.addNetworkPolicy(d)
	c.addPoolRules(d)
	if d.limits = d.hasLimits(); d.limits {
		// However many engines there are: with another seed, all keys would begin anew.
		d.service.KeySeed = keySeed(c.LimitSecret, vs.UUID)
	}
	if httpsPort(vs) != 0 && hasOwnTLS(vs) {
		d.parts = append(d.parts, partsOf(secure(d.subject, vs, c.rings, d.service, &d.report))...)
		d.parts = append(d.parts, c.addressGroupsOf(vs.SelectorGroups)...)
	}
	d.noteSessionsOfTLS()
	d.noteOwnCookies()
	d.parts = append(d.parts, partOf(resourceOf(d.service)))
	if !vs.IsChild() {
		d.advertisement = advertisement(d.subject, vs, &d.report)
	}
	return d
}

// addPolicies adds the sets of policies of a virtual service.
func (c *Compiler) addPolicies(d *draft) {
	if len(d.vs.HTTPPolicies) > 0 && d.vs.HTTP == nil {
		d.report.block(d.subject, "http_policies", "rules for requests need an application profile of "+
			"APPLICATION_PROFILE_TYPE_HTTP: remove them, or use another profile")
		return
	}
	if len(d.vs.Policies) < len(d.vs.HTTPPolicies) {
		d.report.blocked = true // model has a finding about that
	}
	var sets []*compiledSet
	for _, set := range d.vs.Policies {
		if c.sets[set] == nil {
			c.sets[set] = c.compileSet(set)
		}
		compiled := c.sets[set]
		d.report.findings = append(d.report.findings, compiled.report.findings...)
		d.report.blocked = d.report.blocked || compiled.report.blocked
		d.service.HttpPolicySetUuids = append(d.service.HttpPolicySetUuids, set.UUID)
		d.parts = append(d.parts, compiled.parts...)
		sets = append(sets, compiled)
	}
	d.noteShadows(sets)
}

func resourceOf(service *dataplanev1.VirtualService) *enginev1.Resource {
	return &enginev1.Resource{Uuid: service.GetUuid(), Body: &enginev1.Resource_VirtualService{VirtualService: service}}
}

// refuseUnserved blocks virtual services that engines cannot serve at all.
func refuseUnserved(subject subject, vs *model.VirtualService, report *report) {
	if vs.Closed {
		report.blocked = true // model has a finding about that
	}
	refuseRole(subject, vs, report)
	switch profile := vs.ApplicationProfile; {
	case profile == nil:
		report.blocked = true // model has a finding about that
	case vs.HTTP == nil && vs.L4 == nil:
		report.block(subject, "application_profile_ref",
			"%s has type %s, engines can only serve APPLICATION_PROFILE_TYPE_HTTP, _L4, _SSL, _DNS and _SYSLOG yet",
			profile.Name, profile.Type)
	case vs.UDP != nil:
		refuseUnservedUDP(subject, vs, report)
	case profile.Type != "APPLICATION_PROFILE_TYPE_SSL" && vs.L4 != nil && httpsPort(vs) != 0:
		report.block(subject, portField(vs, httpsPort(vs)),
			"has enable_ssl, and %s passes on what comes as it is: use a profile of APPLICATION_PROFILE_TYPE_SSL",
			profile.Name)
	}
	switch profile := vs.NetworkProfile; {
	case profile == nil:
		report.blocked = true
	case vs.TCP == nil && vs.UDP == nil:
		report.block(subject, "network_profile_ref", "%s has type %s, engines do not serve that yet: "+
			"use one of PROTOCOL_TYPE_TCP_PROXY, _TCP_FAST_PATH, _UDP_PROXY or _UDP_FAST_PATH", profile.Name,
			profile.Profile.Type)
	}
	if vs.PoolRef != "" && vs.Pool == nil || vs.PoolGroupRef != "" && vs.PoolGroup == nil {
		report.blocked = true
	}
	for i, service := range vs.Services {
		if vs.HasPort(i) && service.EnableHTTP2 && vs.HTTP == nil {
			report.warn(subject, fmt.Sprintf("services[%d].enable_http2", i),
				"layer 4 passes on what clients speak: has no effect")
		}
	}
}

// portField returns the field in which the operator wrote a port.
func portField(vs *model.VirtualService, port uint32) string {
	for i, service := range vs.Services {
		if vs.HasPort(i) && service.Port <= port && port <= service.PortRangeEnd {
			return fmt.Sprintf("services[%d].port", i)
		}
	}
	return "services"
}

// httpsPort returns the first port with TLS; 0: there is none.
func httpsPort(vs *model.VirtualService) uint32 {
	for _, service := range vs.Ports() {
		if service.EnableSSL {
			return service.Port
		}
	}
	return 0
}

// listeners combines all addresses with all ports, in the order of the object.
func listeners(subject subject, vs *model.VirtualService, report *report) []*dataplanev1.Listener {
	if len(vs.Addresses) == 0 {
		report.block(subject, "vsvip_ref", "has no address that is enabled: give the VsVip an ip_address")
	}
	if len(vs.Services) == 0 {
		report.block(subject, "services", "has no port: add one")
	}
	var listeners []*dataplanev1.Listener
	protocol := dataplanev1.TransportProtocol_TRANSPORT_PROTOCOL_TCP
	if vs.UDP != nil {
		protocol = dataplanev1.TransportProtocol_TRANSPORT_PROTOCOL_UDP
	}
	for _, address := range vs.Addresses {
		for i, service := range vs.Services {
			if len(listeners)+int(service.PortRangeEnd-service.Port) >= listenersMax {
				report.block(subject, fmt.Sprintf("services[%d].port_range_end", i),
					"makes more than %d listeners, addresses times ports: give fewer", listenersMax)
				return nil
			}
			if !vs.HasPort(i) {
				continue
			}
			for port := service.Port; port <= service.PortRangeEnd; port++ {
				listeners = append(listeners, &dataplanev1.Listener{Address: address.String(), Port: port,
					Tls: service.EnableSSL, Http2: service.EnableHTTP2 && vs.HTTP != nil, Protocol: protocol})
			}
		}
	}
	return listeners
}

// secure sets the TLS of a virtual service. It returns the certificates as resources.
func secure(
	subject subject, vs *model.VirtualService, rings tickets.Rings, into *dataplanev1.VirtualService, report *report,
) []*enginev1.Resource {
	who := "a port with enable_ssl"
	if vs.IsChild() {
		who = "a child whose parent has a port with enable_ssl"
	}
	if vs.SSLProfile == nil {
		report.block(subject, "ssl_profile_ref", "%s needs an SSL profile", who)
		return nil
	}
	if len(vs.Certificates) == 0 {
		report.block(subject, "ssl_key_and_certificate_refs", "%s needs a certificate that can be used", who)
	}
	into.Tls = withTickets(tlsProfile(vs.SSLProfile, report), rings, vs)
	selectProfiles(subject, vs, rings, into, report)
	var parts []*enginev1.Resource
	for _, from := range vs.Certificates {
		into.CertificateUuids = append(into.CertificateUuids, from.UUID)
		parts = append(parts, certificate(from))
		if answer, _ := from.Staple(); from.MustStaple() && answer == nil {
			why := "has no answer that says that the certificate is good"
			if !from.EnableOCSPStapling {
				why = "is false"
			}
			report.warn(about("sslkeyandcertificate", from.Identity, from.Named), "enable_ocsp_stapling", "%s, and "+
				"the certificate says that clients must not accept it without a stapled answer (RFC 7633)", why)
		}
	}
	return parts
}
