package record

// Reasons are why a request or a connection is significant. Bit i is reasonNames[i].
type Reasons uint64

// Names as Avi's clients know them. Those without ADF_ are Weir's.
var reasonNames = [...]string{
	"ADF_RESPONSE_CODE_4XX",
	"ADF_RESPONSE_CODE_5XX",
	"ADF_CLIENT_CONN_ABORTED",
	"ADF_CLIENT_CONN_TIMEDOUT", // accept, head or body took too long, or the client took no response
	"ADF_CLIENT_SSL_HANDSHAKE_FAILURE",
	"ADF_SERVER_CONN_SETUP_REFUSED",
	"ADF_SERVER_CONN_SETUP_TIMEDOUT",
	"ADF_SERVER_SENT_RESET", // or ended the connection too early
	"ADF_SERVER_SIDE_SSL_HANDSHAKE_FAILED",
	"ADF_LOAD_BALANCING_FAILED",
	"ADF_REQUEST_NO_POOL",
	"ADF_CLIENT_HIGH_RESPONSE_TIME",
	"ADF_SERVER_HIGH_RESPONSE_TIME",
	"ADF_CLIENT_RTT_ABOVE_SEC",
	"ADF_SERVER_RTT_ABOVE_500MS",
	"CLIENT_BAD_REQUEST", // malformed, too large, not implemented, or a flood
	"CLIENT_REFUSED",     // its address, host or PROXY header is not accepted
	"SERVER_BAD_RESPONSE",
	"SERVER_RESPONSE_TIMEOUT",
	"REQUEST_RETRIED", // more than one server was tried
	"ENGINE_RESOURCES",
	"ENGINE_INTERNAL",
	"RATE_LIMITED", // it was beyond a limit of a rate: refused, or let pass by a limit that only reports
	"ADF_HTTP_BAD_REQUEST_NO_CERT_ERROR",
	"ADF_X509_CLIENT_CERTIFICATE_EXPIRED", // or not valid yet
	"ADF_X509_CLIENT_CERTIFICATE_VERIFICATION_FAILED",
	"ADF_X509_CLIENT_CERTIFICATE_REVOKED",
	"ADF_X509_CLIENT_CERTIFICATE_CRL_NOT_PRESENT", // or out of date
	"ADF_JWT_TOKEN_MISSING",
	"ADF_JWT_TOKEN_INVALID", // malformed, signed by others, of others or for others
	"ADF_JWT_TOKEN_EXPIRED", // or not valid yet
	"ADF_DATASCRIPT_EXECUTION_FAILED",
	"ADF_PERSISTENCE_COOKIE_EXPIRED",
	"ADF_PERSISTENT_SERVER_CHANGE", // another server than the one that the client was bound to has answered
	"ADF_PERSISTENCE_FAILURE_SERVER_DOWN",
	"ADF_PERSISTENCE_FAILURE_SERVER_DISABLED",
	"ADF_DATASCRIPT_SIGNIFICANCE", // a script says so
}

// Names returns the names of the reasons, in the order of their bits.
func (r Reasons) Names() []string {
	var names []string
	for i, name := range reasonNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ReasonOf returns the reason with a name; 0: there is none.
func ReasonOf(name string) Reasons {
	for i, known := range reasonNames {
		if known == name {
			return 1 << i
		}
	}
	return 0
}
