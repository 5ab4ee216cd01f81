package admit

import (
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
)

const certificateKind = "sslkeyandcertificate"

// fulfil makes the key and the self-signed certificate that an object orders; other objects pass through.
func fulfil(kind *schema.Kind, object schema.Object, now time.Time) error {
	if kind.Name != certificateKind {
		return nil
	}
	order, err := schema.Into[schema.SSLKeyAndCertificate](object)
	if err != nil || !order.Ordered() {
		return err
	}
	keyType, problem := orderedKey(order.KeyParams)
	if problem != "" {
		return &schema.FieldError{Kind: kind.Name, Field: "key_params", Problem: problem}
	}
	if order.Certificate.Subject == nil || order.Certificate.Subject.CommonName == "" {
		return nil // Derive says what is missing
	}
	certificate, key, err := pki.SelfSigned(order.Certificate.Subject.CommonName, keyType, now)
	if err != nil {
		return fmt.Errorf("make certificate %s: %w", order.Name, err)
	}
	schema.SetKeyPair(object, string(certificate), string(key))
	return nil
}

func orderedKey(params *schema.KeyParams) (keyType pki.KeyType, problem string) {
	switch {
	case params == nil:
		return pki.RSA2048, ""
	case params.Algorithm == "SSL_KEY_ALGORITHM_EC" && (params.EC == nil || params.EC.Curve == "SSL_KEY_EC_CURVE_SECP256R1"):
		return pki.ECP256, ""
	case params.Algorithm == "SSL_KEY_ALGORITHM_RSA" && (params.RSA == nil || params.RSA.KeySize == "SSL_KEY_2048_BITS"):
		return pki.RSA2048, ""
	}
	return 0, "a certificate is made with a 2048-bit RSA key or an EC key on SECP256R1; import others as PEM"
}
