package pki

import (
	"crypto/tls"

	"github.com/weir-lb/weir/controller/schema"
)

// KeyPair makes of an sslkeyandcertificate object what a TLS server shows. A CA certificate without a key is none.
func KeyPair(object schema.Object) (*tls.Certificate, error) {
	typed, err := schema.Into[schema.SSLKeyAndCertificate](object)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(typed.Certificate.PEM), []byte(typed.Key))
	return &pair, err
}
