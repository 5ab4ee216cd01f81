package metrics

const unsecuredBecause = "weir_service_tls_failures_by_reason_total"

// agreed are the handshakes that have agreed on something.
func agreed(matchers string) string { return handshakes + "{" + matchers + "}" }

// What a session was resumed without key exchange, or is counted together with others, is in neither of pfs and nonPFS.
const (
	pfs    = `group!~"|other"`
	nonPFS = `group=""`
	ecdsa  = `key=~"ECDSA|EdDSA"`
)

// tlsAliases are those of TLS with clients. Weir speaks TLS 1.2 and 1.3, and exchanges keys by elliptic curves: what it
// does not speak is 0.
var tlsAliases = []alias{
	{service, "l7_client.avg_ssl_ver_tls13", perSecond, rate(agreed(`version="TLS 1.3"`)), "handshakes of TLS 1.3"},
	{service, "l7_client.avg_ssl_ver_tls12", perSecond, rate(agreed(`version="TLS 1.2"`)), "handshakes of TLS 1.2"},
	{service, "l7_client.avg_ssl_ver_tls11", perSecond, rate(agreed(`version="TLS 1.1"`)),
		"handshakes of TLS 1.1, which Weir does not speak"},
	{service, "l7_client.avg_ssl_ver_tls10", perSecond, rate(agreed(`version="TLS 1.0"`)),
		"handshakes of TLS 1.0, which Weir does not speak"},
	{service, "l7_client.avg_ssl_ver_ssl30", perSecond, rate(agreed(`version="SSL 3.0"`)),
		"handshakes of SSL 3.0, which Weir does not speak"},
	{service, "l7_client.avg_ssl_kx_ecdh", perSecond, rate(agreed(pfs)),
		"handshakes that exchanged keys by an elliptic curve"},
	{service, "l7_client.avg_ssl_kx_rsa", perSecond, rate(agreed(`group="RSA"`)),
		"handshakes that exchanged keys by RSA, which Weir does not speak"},
	{service, "l7_client.avg_ssl_kx_dh", perSecond, rate(agreed(`group=~"ffdhe.*"`)),
		"handshakes that exchanged keys by finite fields, which Weir does not speak"},
	{service, "l7_client.avg_ssl_auth_rsa", perSecond, rate(agreed(`key="RSA"`)),
		"full handshakes with a certificate of RSA"},
	{service, "l7_client.avg_ssl_auth_ecdsa", perSecond, rate(agreed(ecdsa)),
		"full handshakes with a certificate of ECDSA or EdDSA"},
	{service, "l7_client.avg_ssl_auth_dsa", perSecond, rate(agreed(`key="DSA"`)),
		"full handshakes with a certificate of DSA, which Weir does not speak"},
	{service, "l7_client.avg_ssl_handshakes_pfs", perSecond, rate(agreed(pfs)),
		"handshakes with a key exchange of their own (forward secrecy)"},
	{service, "l7_client.avg_ssl_handshakes_non_pfs", perSecond, rate(agreed(nonPFS)),
		"handshakes that resumed a session without a key exchange"},
	{service, "l7_client.avg_ssl_rsa_pfs", perSecond, rate(agreed(`key="RSA",` + pfs)),
		"full handshakes with a certificate of RSA and a key exchange"},
	{service, "l7_client.avg_ssl_rsa_non_pfs", perSecond, rate(agreed(`key="RSA",` + nonPFS)),
		"full handshakes with a certificate of RSA and no key exchange, which Weir does not speak"},
	{service, "l7_client.avg_ssl_ecdsa_pfs", perSecond, rate(agreed(ecdsa + `,` + pfs)),
		"full handshakes with a certificate of ECDSA or EdDSA and a key exchange"},
	{service, "l7_client.avg_ssl_ecdsa_non_pfs", perSecond, rate(agreed(ecdsa + `,` + nonPFS)),
		"full handshakes with a certificate of ECDSA or EdDSA and no key exchange, which Weir does not speak"},
	{service, "l7_client.avg_ssl_handshakes_timedout", perSecond, rate(unsecuredBecause + `{reason="timeout"}`),
		"handshakes that were not complete in time"},
	{service, "l7_client.avg_ssl_handshake_network_errors", perSecond, rate(unsecuredBecause + `{reason="closed"}`),
		"handshakes whose client ended the connection"},
	{service, "l7_client.avg_ssl_handshake_protocol_errors", perSecond, rate(unsecuredBecause + protocolErrors),
		"handshakes that failed because of what the client sent"},
	{service, "l7_client.avg_ssl_errors", perSecond, rate(unsecuredBecause + protocolErrors),
		"handshakes that failed because of what the client sent"},
}

const protocolErrors = `{reason!~"timeout|closed|unserved|evicted|internal"}`
