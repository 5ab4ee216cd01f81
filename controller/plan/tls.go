package plan

import (
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/tickets"
)

var tlsVersions = map[string]dataplanev1.TlsVersion{
	"SSL_VERSION_TLS1":   dataplanev1.TlsVersion_TLS_VERSION_1_0,
	"SSL_VERSION_TLS1_1": dataplanev1.TlsVersion_TLS_VERSION_1_1,
	"SSL_VERSION_TLS1_2": dataplanev1.TlsVersion_TLS_VERSION_1_2,
	"SSL_VERSION_TLS1_3": dataplanev1.TlsVersion_TLS_VERSION_1_3,
}

func tlsProfile(profile *kinds.SSLProfile, report *report) *dataplanev1.TlsProfile {
	subject := about("sslprofile", profile.Identity, profile.Named)
	compiled := &dataplanev1.TlsProfile{
		Uuid:              profile.UUID,
		Name:              profile.Name,
		Versions:          versionsOf(subject, profile, report),
		PreferClientOrder: profile.PreferClientCipherOrder,
		SessionResumption: profile.EnableSSLSessionReuse,
		SendCloseNotify:   profile.SendCloseNotify,
	}
	compiled.CipherSuites = suitesOf(subject, profile, compiled.GetVersions(), report)
	compiled.Groups = keyGroupsOf(subject, profile, compiled.GetVersions(), report)
	if len(compiled.GetVersions()) == 0 {
		report.block(subject, "accepted_versions", "no version is left: add SSL_VERSION_TLS1_2 or SSL_VERSION_TLS1_3")
	} else if len(compiled.GetCipherSuites()) == 0 {
		report.block(subject, "accepted_ciphers", "no cipher suite is left for the accepted versions")
	}
	return compiled
}

// withTickets gives a profile the keys of session tickets, if its clients resume sessions.
func withTickets(
	profile *dataplanev1.TlsProfile, rings tickets.Rings, vs *model.VirtualService,
) *dataplanev1.TlsProfile {
	if ring := rings.Of(profile.GetUuid()); ring != nil && profile.GetSessionResumption() {
		profile.TicketKeys = ticketKeys(*ring, vs)
	}
	return profile
}

// selectProfiles adds the SSL profiles of some clients. One that cannot be used blocks the virtual service: its clients
// would get a profile that is not for them.
func selectProfiles(
	subject subject, vs *model.VirtualService, rings tickets.Rings, into *dataplanev1.VirtualService, report *report,
) {
	if problem := vs.CheckSelectors(); problem != nil {
		report.block(subject, problem.Field, "%s", problem.Problem)
		return
	}
	for i, selector := range vs.SSLProfileSelectors {
		profile := vs.SelectedProfiles[i]
		if profile == nil {
			report.blocked = true // model has a finding about that
			continue
		}
		into.TlsSelectors = append(into.TlsSelectors, &dataplanev1.TlsSelector{
			Clients: addressMatch(selector.Clients, vs.SelectorGroups, report),
			Tls:     withTickets(tlsProfile(profile, report), rings, vs),
		})
	}
}

func ticketKeys(ring tickets.Ring, vs *model.VirtualService) *dataplanev1.TicketKeys {
	return &dataplanev1.TicketKeys{
		Keys: ring.Keys(vs.UUID), LifetimeS: uint32(ring.Lifetime.Seconds()),
		UntilUnixS: uint64(ring.Until().Unix()),
		// The pools of the children of such a parent are not known here.
		KeepOrigin: vs.IsParent() && vs.ByRequest() || slices.ContainsFunc(vs.Pools(), keptByTLS),
	}
}

func certificate(from *model.Certificate) *enginev1.Resource {
	compiled := &dataplanev1.Certificate{Uuid: from.UUID, Name: from.Name, ChainDer: from.ChainDER,
		KeyPkcs8Der: from.KeyDER}
	if answer, until := from.Staple(); answer != nil {
		compiled.OcspAnswer = &dataplanev1.OcspAnswer{Der: answer, UntilUnixS: uint64(until.Unix())}
	}
	return &enginev1.Resource{Uuid: from.UUID, Body: &enginev1.Resource_Certificate{Certificate: compiled}}
}

func versionsOf(subject subject, profile *kinds.SSLProfile, report *report) []dataplanev1.TlsVersion {
	var versions []dataplanev1.TlsVersion
	for _, accepted := range profile.AcceptedVersions {
		if version, known := tlsVersions[accepted.Type]; known {
			versions = append(versions, version)
		} else {
			report.warn(subject, "accepted_versions", "%s is not offered: it is broken", accepted.Type)
		}
	}
	slices.Sort(versions)
	return versions
}

// suitesOf combines three fields of Avi. For TLS 1.2 and before, it reads cipher_enums, or accepted_ciphers if that is
// empty. For TLS 1.3, it reads ciphersuites. It leaves out the suites of versions that are not accepted.
func suitesOf(subject subject, profile *kinds.SSLProfile, versions []dataplanev1.TlsVersion, report *report) []string {
	field, text := "accepted_ciphers", profile.AcceptedCiphers
	if len(profile.CipherEnums) > 0 {
		field, text = "cipher_enums", strings.Join(profile.CipherEnums, ":")
	}
	newer := readCiphers(subject, "ciphersuites", profile.Ciphersuites, report)
	older := readCiphers(subject, field, text, report)

	speaks13 := slices.Contains(versions, dataplanev1.TlsVersion_TLS_VERSION_1_3)
	speaksOlder := len(versions) > 1 || !speaks13
	var chosen []string
	for _, name := range append(newer, older...) {
		wanted := speaksOlder
		if isTLS13(name) {
			wanted = speaks13
		}
		if wanted && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

func readCiphers(subject subject, field, text string, report *report) []string {
	names, unknown := cipherList(text)
	if len(unknown) > 0 {
		report.warn(subject, field, "no cipher suite or keyword: %s; left out", strings.Join(unknown, ", "))
	}
	return names
}

func isTLS13(iana string) bool {
	return suiteByName[iana].version == tls13
}
