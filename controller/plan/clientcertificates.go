package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

var certificateModes = map[string]dataplanev1.ClientCertificateMode{
	kinds.NoClientCertificate:      dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_NONE,
	kinds.RequestClientCertificate: dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_REQUEST,
	kinds.RequireClientCertificate: dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_REQUIRE,
}

// asked is who must have signed the certificates of clients, and whether clients need one.
type asked struct {
	mode dataplanev1.ClientCertificateMode
	pki  *kinds.PKIProfile
}

// clientCertificates says what engines do about the certificates of clients; nil: nothing. It also returns the
// resources that this needs. It blocks the virtual service if clients without a good certificate could get in.
func clientCertificates(
	subject subject, vs *model.VirtualService, report *report,
) (*dataplanev1.ClientCertificates, []*enginev1.Resource) {
	wanted := vs.ApplicationProfile.ClientCertificates()
	own := asked{certificateModes[wanted.Mode], vs.ClientPKI}
	profile := about("applicationprofile", vs.ApplicationProfile.Identity, vs.ApplicationProfile.Named)
	if wanted.PKIProfileRef != "" && vs.ClientPKI == nil {
		report.blocked = true // model has a finding about that
		return nil, nil
	}
	noteUselessOfCertificates(profile, wanted, own, report)
	in := inForce(subject, vs, own, report)
	compiled := &dataplanev1.ClientCertificates{Mode: in.mode, Close: closes(vs, wanted),
		AllowInvalid: allowsInvalid(subject, vs, in, report)}
	for i, header := range wanted.Action.Headers {
		variable, known := headerVariables[header.Value]
		if !known {
			report.block(profile, wanted.Path+"ssl_client_certificate_action.headers",
				"engines do not know %s of headers[%d] yet", header.Value, i)
		}
		compiled.Headers = append(compiled.Headers,
			&dataplanev1.ClientCertificateHeader{Name: header.Name, Variable: variable})
	}
	if !asksClients(in) {
		if len(compiled.GetHeaders()) == 0 {
			return nil, nil
		}
		return compiled, nil // no client may send these fields
	}
	if in.pki == nil {
		report.block(profile, wanted.Path+"pki_profile_ref",
			"is empty: without authorities nobody can tell who clients are, as ssl_client_certificate_mode wants")
		return nil, nil
	}
	refusePlainPorts(subject, vs, in, report)
	compiled.PkiProfileUuid = in.pki.UUID
	return compiled, []*enginev1.Resource{pkiProfile(in.pki)}
}

// inForce returns what clients are asked for. A child is never less strict than its parent. Those that get requests
// have clients whom the parent has asked.
func inForce(subject subject, vs *model.VirtualService, own asked, report *report) asked {
	if !vs.IsChild() {
		return own
	}
	ofParent := askedByParent(vs)
	switch {
	case !vs.ByRequest() && own.mode >= ofParent.mode:
		return own
	case vs.ByRequest() && own.mode != dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_NONE &&
		own != ofParent:
		report.block(subject, "application_profile_ref",
			"asks clients for certificates in another way than that of its "+
				"parent %s, which does so before its children are known: give both the same ssl_client_certificate_mode and "+
				"pki_profile_ref, or use VS_TYPE_VH_SNI", vs.Parent.Name)
	}
	return ofParent
}

func asksClients(asked asked) bool {
	return asked.mode != dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_NONE
}

func askedByParent(vs *model.VirtualService) asked {
	return asked{certificateModes[vs.ParentProfile.ClientCertificates().Mode], vs.ParentPKI}
}

// closes tells whether the handshake of a client whose certificate is not good ends with an alert. If that of a parent
// does, then those of its children do, too.
func closes(vs *model.VirtualService, wanted kinds.ClientCertificates) bool {
	return wanted.Action.CloseConnection || vs.IsChild() && asksClients(askedByParent(vs)) &&
		vs.ParentProfile.ClientCertificates().Action.CloseConnection
}

// allowsInvalid tells whether clients with a certificate that is not good get in. A child lets in none whom a parent
// that asks clients would refuse, whatever the child itself asks for.
func allowsInvalid(subject subject, vs *model.VirtualService, in asked, report *report) bool {
	if !vs.AllowInvalidCertificate || !vs.IsChild() || !asksClients(in) || !asksClients(askedByParent(vs)) ||
		vs.Parent.AllowInvalidCertificate {
		return vs.AllowInvalidCertificate
	}
	report.warn(subject, "allow_invalid_client_cert",
		"has no effect: its parent %s asks clients for certificates, and "+
			"does not have it", vs.Parent.Name)
	return false
}

// refusePlainPorts blocks virtual services with ports through which a client without a certificate could come. For
// HTTP, engines refuse the requests of such clients.
func refusePlainPorts(subject subject, vs *model.VirtualService, in asked, report *report) {
	requires := in.mode == dataplanev1.ClientCertificateMode_CLIENT_CERTIFICATE_MODE_REQUIRE
	if !showsCertificates(vs) {
		if requires {
			report.block(subject, "services", "no port has enable_ssl, and without TLS no client can show the "+
				"certificate that ssl_client_certificate_mode requires")
		} else {
			report.warn(subject, "services", "no port has enable_ssl: clients cannot show the certificates that "+
				"ssl_client_certificate_mode asks for")
		}
		return
	}
	if vs.HTTP != nil || !requires {
		return
	}
	for _, service := range vs.Ports() {
		if !service.EnableSSL {
			report.block(subject, portField(vs, service.Port),
				"has no enable_ssl: its clients would get in without the "+
					"certificate that ssl_client_certificate_mode requires")
		}
	}
}

func noteUselessOfCertificates(profile subject, wanted kinds.ClientCertificates, own asked, report *report) {
	if asksClients(own) {
		return
	}
	const without = "has no effect without ssl_client_certificate_mode"
	if wanted.PKIProfileRef != "" {
		report.warn(profile, wanted.Path+"pki_profile_ref", without)
	}
	if wanted.Action.CloseConnection {
		report.warn(profile, wanted.Path+"ssl_client_certificate_action.close_connection", without)
	}
}

// pkiProfile makes the resource of a PKI profile.
func pkiProfile(from *kinds.PKIProfile) *enginev1.Resource {
	compiled := &dataplanev1.PkiProfile{Uuid: from.UUID, Name: from.Name, CaCertsDer: from.Authorities(),
		IgnorePeerChain: from.IgnorePeerChain}
	if from.CRLCheck {
		compiled.Revocation = &dataplanev1.Revocation{CrlsDer: from.Lists(), OnlyLeaf: from.ValidateOnlyLeafCRL,
			AllowExpired: from.AllowsExpiredLists()}
	}
	return &enginev1.Resource{Uuid: from.UUID, Body: &enginev1.Resource_PkiProfile{PkiProfile: compiled}}
}
