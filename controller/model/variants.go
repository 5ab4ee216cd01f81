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
		part.PartAt, part.ClientPKI = variant.At, variant.ClientPKI
		part.speak(variant.ApplicationProfile, variant.NetworkProfile)
		parts = append(parts, &part)
	}
	return parts
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
			wanted := application.ClientCertificates()
			variant = &Variant{ApplicationProfile: application, NetworkProfile: network,
				ClientPKI: follow(from, k.pkiProfiles, field+"override_application_profile_ref."+wanted.Path+
					"pki_profile_ref", wanted.PKIProfileRef)}
			vs.Variants = append(vs.Variants, variant)
		}
		variant.At = append(variant.At, at)
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
	vs.ApplicationProfile, vs.HTTP, vs.L4 = application, nil, nil
	if application != nil {
		switch application.Type {
		case "APPLICATION_PROFILE_TYPE_HTTP":
			vs.HTTP = orDefaults(application.HTTP)
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
