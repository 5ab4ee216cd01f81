package admit

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

const systemKind = "systemconfiguration"

// builtInPortal are the certificates that a controller always has.
var builtInPortal = []string{"System-Default-Portal-Cert-EC256", "System-Default-Portal-Cert"}

// PortalCertificates are what the REST API may show, the preferred first: those of the system configuration, then the
// built-in ones, so that no configuration leaves it without. Of those configured, the ones with an elliptic key come first:
// a handshake with an RSA key takes ten times as long, and others wait for it.
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
	slices.SortStableFunc(found, func(a, b *store.Record) int {
		return cmp.Compare(algorithmOf(a), algorithmOf(b)) // "SSL_KEY_ALGORITHM_EC" before "SSL_KEY_ALGORITHM_RSA"
	})
	for _, name := range builtInPortal {
		add(schema.BuiltinUUID(certificateKind, name))
	}
	return found
}

func algorithmOf(certificate *store.Record) string {
	parameters, _ := certificate.Object["key_params"].(schema.Object)
	return textOf(parameters, "algorithm")
}

// KeyPair makes of an sslkeyandcertificate what a TLS server shows. A CA certificate without a key is none.
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

// keepsPortal refuses what would leave the REST API with a certificate that no handshake succeeds with: nobody could
// put it right. view has the written record already.
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
					Problem: fmt.Sprintf("%s cannot be shown by the portal: %v; give a certificate with its key", certificate.Name, err),
				}
			}
		}
	case certificateKind:
		for _, used := range PortalCertificates(view) {
			if used.UUID != written.UUID {
				continue
			}
			if _, err := KeyPair(written); err != nil {
				return &schema.FieldError{Kind: certificateKind, Field: "key", Problem: fmt.Sprintf("is needed, the portal shows %s: %v", written.Name, err)}
			}
		}
	}
	return nil
}

// portalOf is how the system configuration wants logins to be.
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
