package kinds

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// SSLKeyAndCertificate is a certificate with its chain and private key, as PEM, or an order to make them.
type SSLKeyAndCertificate struct {
	Identity
	Named
	Owned
	Markers            []Marker        `json:"markers"`
	CreatedBy          string          `json:"created_by"`
	Type               string          `json:"type" enum:"CertificateType" default:"SSL_CERTIFICATE_TYPE_VIRTUALSERVICE"`
	Certificate        *Certificate    `json:"certificate" required:"true"`
	Key                string          `json:"key" secret:"true"`
	KeyPassphrase      string          `json:"key_passphrase" secret:"true" default:""`
	KeyParams          *KeyParams      `json:"key_params"`
	CACerts            []CACertificate `json:"ca_certs" items:"20"`
	Format             string          `json:"format" enum:"CertificateFormat" default:"SSL_PEM"`
	Status             string          `json:"status" enum:"CertificateStatus" computed:"true" default:"SSL_CERTIFICATE_FINISHED"`
	CertificateBase64  bool            `json:"certificate_base64" default:"false"`
	KeyBase64          bool            `json:"key_base64" default:"false"`
	EnableOCSPStapling bool            `json:"enable_ocsp_stapling" default:"false"`
	IsFederated        bool            `json:"is_federated" default:"false"`

	OCSPConfig       *OCSPConfig       `json:"ocsp_config"`
	OCSPErrorStatus  string            `json:"ocsp_error_status" enum:"OCSPErrorStatus" computed:"true" default:"OCSP_ERR_CERTSTATUS_DISABLED"`
	OCSPResponders   []string          `json:"ocsp_responder_url_list_from_certs" computed:"true"`
	OCSPResponseInfo *OCSPResponseInfo `json:"ocsp_response_info" computed:"true"`
}

func init() {
	schema.Register[SSLKeyAndCertificate](schema.Definition{
		Short:     []string{"cert"},
		Serving:   schema.PartOfService,
		DerivedBy: deriveCertificate,
		Columns: []column.Column{
			column.Field("SUBJECT", "certificate", "subject", "common_name"),
			column.Enum("KEY", "SSL_KEY_ALGORITHM_", "key_params", "algorithm"),
			column.Field("NOT AFTER", "certificate", "not_after"),
		},
		Example: `  weir cert create web key="$(cat key.pem)" certificate.certificate="$(cat cert.pem)"
  weir cert create web certificate.self_signed=true certificate.subject.common_name=web.example`,
		Builtins: []schema.Object{
			certificateOrder("System-Default-Cert", "SSL_CERTIFICATE_TYPE_VIRTUALSERVICE",
				"System Default Cert", rsaKey),
			certificateOrder("System-Default-Cert-EC", "SSL_CERTIFICATE_TYPE_VIRTUALSERVICE",
				"System Default EC Cert", ecKey),
			certificateOrder("System-Default-Portal-Cert", "SSL_CERTIFICATE_TYPE_SYSTEM",
				"System Default Portal Cert", rsaKey),
			certificateOrder("System-Default-Portal-Cert-EC256", "SSL_CERTIFICATE_TYPE_SYSTEM",
				"System Default Portal EC Cert", ecKey),
			certificateOrder("System-Default-Secure-Channel-Cert", "SSL_CERTIFICATE_TYPE_SYSTEM",
				"System Default Secure Channel Cert", rsaKey),
		},
		Kept: []schema.Rule{
			schema.NoEffect(noCertificate, "certificate_management_profile_ref dynamic_params"),
			schema.NoEffect(noHSM, "hardwaresecuritymodulegroup_ref import_key_to_hsm enckey_*"),
			schema.NoEffect("the controller tries until a responder answers, less and less often",
				"ocsp_config.max_tries"),
			schema.NoEffect(computed, ""),
		},
		Unread: []schema.Rule{
			schema.NoEffect(noSites, "is_federated"),
			schema.NoEffect("keys that Weir makes have the exponent 65537", "key_params.rsa_params.exponent"),
			schema.NoEffect("certificates that Weir makes have no address of mail",
				"certificate.subject.email_address"),
		},
	})
}

var (
	_ = schema.Enum("CertificateExpiry",
		"SSL_CERTIFICATE_GOOD", "SSL_CERTIFICATE_EXPIRY_WARNING", "SSL_CERTIFICATE_EXPIRED",
	)
	_ = schema.Enum("CertificateFormat", "SSL_PEM", "SSL_PKCS12")
	_ = schema.Enum("CertificateStatus", "SSL_CERTIFICATE_FINISHED", "SSL_CERTIFICATE_PENDING")
	_ = schema.Enum("CertificateType",
		"SSL_CERTIFICATE_TYPE_VIRTUALSERVICE", "SSL_CERTIFICATE_TYPE_SYSTEM", "SSL_CERTIFICATE_TYPE_CA",
		"SSL_CERTIFICATE_TYPE_CLIENT", "SSL_CERTIFICATE_TYPE_SECURE_CHANNEL",
	)
	_ = schema.Enum("ECCurve",
		"SSL_KEY_EC_CURVE_SECP256R1", "SSL_KEY_EC_CURVE_SECP384R1", "SSL_KEY_EC_CURVE_SECP521R1",
	)
	_           = schema.Enum("KeyAlgorithm", "SSL_KEY_ALGORITHM_RSA", "SSL_KEY_ALGORITHM_EC")
	rsaKeySizes = schema.Enum("RSAKeySize",
		"SSL_KEY_1024_BITS", "SSL_KEY_2048_BITS", "SSL_KEY_3072_BITS", "SSL_KEY_4096_BITS",
	)
)

// Certificate is a PEM and the values in it. Without a PEM, self_signed orders a certificate for the subject.
type Certificate struct {
	PEM             string             `json:"certificate"`
	SelfSigned      bool               `json:"self_signed" default:"false"`
	Subject         *DistinguishedName `json:"subject"`
	SubjectAltNames []string           `json:"subject_alt_names" items:"100"`
	DaysUntilExpire uint32             `json:"days_until_expire" max:"36500" default:"365"` // 0: it has expired

	Issuer             *DistinguishedName `json:"issuer" computed:"true"`
	Version            string             `json:"version" computed:"true"`
	SerialNumber       string             `json:"serial_number" computed:"true"`
	SignatureAlgorithm string             `json:"signature_algorithm" computed:"true"`
	NotBefore          string             `json:"not_before" computed:"true"` // "2017-06-11 04:44:28", UTC
	NotAfter           string             `json:"not_after" computed:"true"`
	Fingerprint        string             `json:"fingerprint" computed:"true"`
	ExpiryStatus       string             `json:"expiry_status" enum:"CertificateExpiry" computed:"true"`
	PublicKey          string             `json:"public_key" computed:"true"`
	KeyParams          *KeyParams         `json:"key_params" computed:"true"`
}

// DistinguishedName names a subject or issuer.
type DistinguishedName struct {
	CommonName        string `json:"common_name"`
	Organization      string `json:"organization"`
	OrganizationUnit  string `json:"organization_unit"`
	Locality          string `json:"locality"`
	State             string `json:"state"`
	Country           string `json:"country"`
	EmailAddress      string `json:"email_address"`
	DistinguishedName string `json:"distinguished_name"`
}

// KeyParams is the type of a key, existing or ordered.
type KeyParams struct {
	Algorithm string     `json:"algorithm" enum:"KeyAlgorithm" default:"SSL_KEY_ALGORITHM_RSA" required:"true"`
	RSA       *RSAParams `json:"rsa_params"`
	EC        *ECParams  `json:"ec_params"`
}

// RSAParams is the size of an RSA key.
type RSAParams struct {
	KeySize  string `json:"key_size" enum:"RSAKeySize" default:"SSL_KEY_2048_BITS"`
	Exponent uint32 `json:"exponent" default:"65537"`
}

// ECParams is the curve of an EC key.
type ECParams struct {
	Curve string `json:"curve" enum:"ECCurve" default:"SSL_KEY_EC_CURVE_SECP256R1"`
}

// CACertificate is one certificate of the chain above a certificate.
type CACertificate struct {
	Name string `json:"name"`
	Ref  string `json:"ca_ref" ref:"sslkeyandcertificate"`
}

// Ordered tells whether the object is an order for a key and a self-signed certificate. pki makes them and calls
// SetKeyPair.
func (c *SSLKeyAndCertificate) Ordered() bool {
	return c.Certificate.PEM == "" && c.Certificate.SelfSigned
}

// SetKeyPair puts a certificate and its key, both PEM, into an object of this kind.
func SetKeyPair(o schema.Object, certificatePEM, keyPEM string) {
	certificate, _ := o["certificate"].(schema.Object)
	certificate["certificate"] = certificatePEM
	o["key"] = keyPEM
}

// Validate checks that the certificate and the key fit. A CA certificate needs no key.
func (c *SSLKeyAndCertificate) Validate() *schema.FieldError {
	if problem := c.checkFormat(); problem != nil {
		return problem
	}
	switch {
	case c.Ordered():
		return c.checkOrder()
	case c.Certificate.PEM == "":
		return &schema.FieldError{
			Field:   "certificate.certificate",
			Problem: "is required; give PEM, or self_signed true and a subject to have one made",
		}
	case c.Type == "SSL_CERTIFICATE_TYPE_CA" && c.Key == "":
		_, problem := parseLeaf(c.Certificate.PEM)
		return problem
	case c.Key == "":
		return &schema.FieldError{Field: "key", Problem: "is required; give the private key as PEM"}
	}
	leaf, problem := checkKeyPair(c.Certificate.PEM, c.Key)
	if problem != nil {
		return problem
	}
	if _, ok := describeKey(leaf); !ok {
		return &schema.FieldError{
			Field:   "certificate.certificate",
			Problem: "has a key that is neither RSA of 1024, 2048, 3072 or 4096 bits nor on P-256, P-384 or P-521",
		}
	}
	return c.OCSPConfig.check()
}

func (c *SSLKeyAndCertificate) checkFormat() *schema.FieldError {
	switch {
	case c.Format != "SSL_PEM":
		return &schema.FieldError{Field: "format", Problem: c.Format + " cannot be read; give SSL_PEM"}
	case c.CertificateBase64:
		return &schema.FieldError{Field: "certificate_base64", Problem: "cannot be true; give the PEM as it is"}
	case c.KeyBase64:
		return &schema.FieldError{Field: "key_base64", Problem: "cannot be true; give the PEM as it is"}
	}
	return nil
}

func (c *SSLKeyAndCertificate) checkOrder() *schema.FieldError {
	switch {
	case c.Certificate.Subject == nil || c.Certificate.Subject.CommonName == "":
		return &schema.FieldError{
			Field:   "certificate.subject.common_name",
			Problem: "is required to make a self-signed certificate",
		}
	case c.Certificate.DaysUntilExpire == 0:
		return &schema.FieldError{Field: "certificate.days_until_expire", Problem: "0 is out of range; give 1 to 36500"}
	}
	return nil
}

var (
	rsaKey = schema.Object{
		"algorithm": "SSL_KEY_ALGORITHM_RSA", "rsa_params": schema.Object{"key_size": "SSL_KEY_2048_BITS"},
	}
	ecKey = schema.Object{
		"algorithm": "SSL_KEY_ALGORITHM_EC", "ec_params": schema.Object{"curve": "SSL_KEY_EC_CURVE_SECP256R1"},
	}
)

func certificateOrder(name, kind, commonName string, key schema.Object) schema.Object {
	return schema.Object{"name": name, "type": kind, "key_params": key, "certificate": schema.Object{
		"self_signed": true, "subject": schema.Object{"common_name": commonName}, "days_until_expire": int64(3650),
	}}
}
