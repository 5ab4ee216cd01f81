package admit

import (
	"crypto/tls"
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

const systemKind = "systemconfiguration"

// builtInPortal are the certificates that every controller has, the cheaper handshake first.
var builtInPortal = []string{"System-Default-Portal-Cert-EC256", "System-Default-Portal-Cert"}

// PortalCertificates returns the certificates that the REST API may use, best first: those of the system configuration,
// in their order, then the built-in ones, so that there is always one. Clients that have saved a fingerprint rely on
// the order.
func PortalCertificates(view *store.View) []*store.Record {
	var found []*store.Record
	add := func(uuid string) {
		if record, ok := view.Get(certificateKind, uuid); ok {
			found = append(found, record)
		}
	}
	for _, uuid := range portalRefs(portalOf(view)) {
		add(uuid)
	}
	for _, name := range builtInPortal {
		add(schema.BuiltinUUID(certificateKind, name))
	}
	return found
}

// KeyPair turns an sslkeyandcertificate into a certificate for a TLS server. A CA certificate has no key and gives an
// error.
func KeyPair(record *store.Record) (*tls.Certificate, error) {
	typed, err := schema.Into[kinds.SSLKeyAndCertificate](record.Object)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(typed.Certificate.PEM), []byte(typed.Key))
	return &pair, err
}

func portalRefs(portal schema.Object) []string {
	refs, _ := portal["sslkeyandcertificate_refs"].([]any)
	uuids := make([]string, len(refs))
	for i, ref := range refs {
		uuids[i] = strings.TrimPrefix(fmt.Sprint(ref), schema.RefPath(certificateKind, ""))
	}
	return uuids
}

// keepsPortal refuses a write that would leave the REST API with a certificate with which all handshakes fail: nobody
// could connect to correct it. view has the written record already.
func keepsPortal(view *store.View, written *store.Record) error {
	switch written.Kind {
	case systemKind:
		for i, uuid := range portalRefs(portalOf(view)) {
			certificate, ok := view.Get(certificateKind, uuid)
			if !ok {
				continue
			}
			if _, err := KeyPair(certificate); err != nil {
				return &schema.FieldError{
					Kind: systemKind, Field: fmt.Sprintf("portal_configuration.sslkeyandcertificate_refs[%d]", i),
					Problem: fmt.Sprintf("%s cannot be shown by the portal: %v; give a certificate with its key",
						certificate.Name, err),
				}
			}
		}
	case certificateKind:
		for _, used := range PortalCertificates(view) {
			if used.UUID != written.UUID {
				continue
			}
			if _, err := KeyPair(written); err != nil {
				return &schema.FieldError{Kind: certificateKind, Field: "key",
					Problem: fmt.Sprintf("is needed, the portal shows %s: %v", written.Name, err)}
			}
		}
	}
	return nil
}

// portalOf returns the settings for logins in the system configuration.
func portalOf(view *store.View) schema.Object {
	record, ok := view.Get(systemKind, "default")
	if !ok {
		return nil
	}
	portal, _ := record.Object["portal_configuration"].(schema.Object)
	return portal
}

func basicAllowed(view *store.View) bool {
	allowed, _ := portalOf(view)["allow_basic_authentication"].(bool)
	return allowed
}

func shortestPassword(view *store.View) int64 {
	if length, ok := portalOf(view)["minimum_password_length"].(int64); ok {
		return length
	}
	return minPasswordRunes
}
