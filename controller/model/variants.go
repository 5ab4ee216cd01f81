package model

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Variant is what a virtual service is for those of its ports that have other profiles than it has. A profile that is
// not there is nil, and a Finding says so.
type Variant struct {
	At                 []int // the places of these ports in Services
	ApplicationProfile *kinds.ApplicationProfile
	NetworkProfile     *kinds.NetworkProfile
	ClientPKI          *kinds.PKIProfile // that the application profile names for the certificates of clients
	Content            *Content          // as of a virtual service
}

// Parts returns a virtual service once for each combination of profiles that its ports have, first with its own
// profiles, if a port has these.
func (vs *VirtualService) Parts() []*VirtualService {
	if len(vs.Variants) == 0 {
		return []*VirtualService{vs}
	}
	own := *vs
	own.Variants, own.PartAt = nil, []int{}
	for at := range vs.Services {
		varies := func(variant *Variant) bool { return slices.Contains(variant.At, at) }
		if !slices.ContainsFunc(vs.Variants, varies) {
			own.PartAt = append(own.PartAt, at)
		}
	}
	var parts []*VirtualService
	if len(own.PartAt) > 0 {
		parts = append(parts, &own)
	}
	for _, variant := range vs.Variants {
		part := own
		part.PartAt, part.ClientPKI, part.Content = variant.At, variant.ClientPKI, variant.Content
		part.speak(variant.ApplicationProfile, variant.NetworkProfile)
		parts = append(parts, &part)
	}
	for _, part := range parts {
		part.Whole = parts
	}
	return parts
}

// Beside returns all parts of the virtual service that this is a part of; itself, if it is none.
func (vs *VirtualService) Beside() []*VirtualService {
	if vs.Whole == nil {
		return []*VirtualService{vs}
	}
	return vs.Whole
}

// ClientPKIs returns the PKI profiles for the certificates of clients: its own, and those of its ports and its parent.
func (vs *VirtualService) ClientPKIs() (profiles []*kinds.PKIProfile) {
	all := []*kinds.PKIProfile{vs.ClientPKI, vs.ParentPKI}
	for _, variant := range vs.Variants {
		all = append(all, variant.ClientPKI)
	}
	return slices.DeleteFunc(all, func(profile *kinds.PKIProfile) bool { return profile == nil })
}

// contents returns what is done to the content of responses, at all ports.
func (vs *VirtualService) contents() (all []*Content) {
	all = append(all, vs.Content)
	for _, variant := range vs.Variants {
		all = append(all, variant.Content)
	}
	return slices.DeleteFunc(all, func(content *Content) bool { return content == nil })
}

// HasPort tells whether the entry of Services at this place is for this part of a virtual service.
func (vs *VirtualService) HasPort(at int) bool {
	return vs.PartAt == nil || slices.Contains(vs.PartAt, at)
}

// Ports returns the ports through which clients come: those of the parent, for a child.
func (vs *VirtualService) Ports() []kinds.Service {
	if vs.Parent != nil {
		return vs.Parent.Services
	}
	if vs.PartAt == nil {
		return vs.Services
	}
	ports := make([]kinds.Service, 0, len(vs.PartAt))
	for _, at := range vs.PartAt {
		ports = append(ports, vs.Services[at])
	}
	return ports
}

// resolveVariants finds the profiles that ports have for themselves.
func (k *Keeper) resolveVariants(from *source, vs *VirtualService) {
	for at, service := range vs.Services {
		application, network := vs.ApplicationProfile, vs.NetworkProfile
		field := fmt.Sprintf("services[%d].", at)
		if ref := service.ApplicationProfileRef; ref != "" {
			application = follow(from, k.applicationProfiles, field+"override_application_profile_ref", ref)
		}
		if ref := service.NetworkProfileRef; ref != "" {
			network = follow(from, k.networkProfiles, field+"override_network_profile_ref", ref)
		}
		if application == vs.ApplicationProfile && network == vs.NetworkProfile {
			continue
		}
		variant := vs.variant(application, network)
		if variant == nil {
			variant = &Variant{ApplicationProfile: application, NetworkProfile: network, ClientPKI: vs.ClientPKI,
				Content: vs.Content}
			if application != vs.ApplicationProfile {
				k.resolveOwn(from, field+"override_application_profile_ref", vs, variant)
			}
			vs.Variants = append(vs.Variants, variant)
		}
		variant.At = append(variant.At, at)
	}
}

// resolveOwn finds what the application profile of a port refers to.
func (k *Keeper) resolveOwn(from *source, field string, vs *VirtualService, variant *Variant) {
	own := &source{}
	wanted := variant.ApplicationProfile.ClientCertificates()
	variant.ClientPKI = follow(own, k.pkiProfiles, field+"."+wanted.Path+"pki_profile_ref", wanted.PKIProfileRef)
	variant.Content = k.resolveContent(own, field, variant.ApplicationProfile, vs.ContentRewrite)
	from.refersTo = append(from.refersTo, own.refersTo...)
	for _, finding := range own.findings {
		finding.Kind, finding.UUID, finding.Name = from.kind, from.uuid, from.name
		if !slices.Contains(from.findings, finding) { // content_rewrite is that of all ports
			from.findings = append(from.findings, finding)
		}
	}
}

// variant returns the variant with these profiles; nil: there is none yet.
func (vs *VirtualService) variant(application *kinds.ApplicationProfile, network *kinds.NetworkProfile) *Variant {
	for _, variant := range vs.Variants {
		if variant.ApplicationProfile == application && variant.NetworkProfile == network {
			return variant
		}
	}
	return nil
}

// speak gives a virtual service its profiles; nil: they are not there.
func (vs *VirtualService) speak(application *kinds.ApplicationProfile, network *kinds.NetworkProfile) {
	vs.ApplicationProfile, vs.HTTP, vs.L4 = application, httpOf(application), nil
	if application != nil {
		switch application.Type {
		case "APPLICATION_PROFILE_TYPE_L4", "APPLICATION_PROFILE_TYPE_SSL", "APPLICATION_PROFILE_TYPE_DNS",
			"APPLICATION_PROFILE_TYPE_SYSLOG":
			vs.L4 = orDefaults(application.TCP)
		}
	}
	vs.NetworkProfile, vs.TCP, vs.UDP = network, nil, nil
	if network == nil {
		return
	}
	vs.TCP = tcpOf(network)
	switch setting := network.Profile; setting.Type {
	case "PROTOCOL_TYPE_UDP_FAST_PATH":
		vs.UDP = orDefaults(setting.UDPFastPath)
	case "PROTOCOL_TYPE_UDP_PROXY":
		vs.UDP = schema.Defaults[kinds.UDPFastPath]()
		vs.UDP.SessionIdleTimeoutS = orDefaults(setting.UDPProxy).SessionIdleTimeoutS
	}
}

// httpOf returns what an application profile says of HTTP; nil: it is not there, or not for HTTP.
func httpOf(profile *kinds.ApplicationProfile) *kinds.HTTPProfile {
	if profile == nil || profile.Type != "APPLICATION_PROFILE_TYPE_HTTP" {
		return nil
	}
	return orDefaults(profile.HTTP)
}
