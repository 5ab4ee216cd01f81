package main

import "github.com/weir-lb/weir/controller/schema/column"

// handshakesOf has a row for each set of things that TLS handshakes with clients agreed on. It is empty if there was
// none.
func handshakesOf(tls map[string]any) table {
	return rowsOf(tls["handshakes"], []string{"TLS HANDSHAKES", "CIPHER SUITE", "GROUP", "KEY", "RESUMED", "TOTAL",
		"PER SECOND"}, func(row map[string]any) []string {
		resumed := ""
		if row["resumed"] == true {
			resumed = "yes"
		}
		return []string{column.Text(row["version"]), column.Text(row["cipher_suite"]), column.Text(row["group"]),
			column.Text(row["key"]), resumed, column.Text(row["total"]), decimal(row, 1, "per_second")}
	})
}

// handshakeFailuresOf has a row for each reason for which TLS handshakes with clients failed, with what it means. It is
// empty if none did.
func handshakeFailuresOf(tls map[string]any) table {
	return rowsOf(tls["failures"], []string{"TLS FAILURE", "TOTAL", "PER SECOND", "WHAT IT MEANS"},
		func(row map[string]any) []string {
			reason := column.Text(row["reason"])
			return []string{reason, column.Text(row["total"]), decimal(row, 1, "per_second"),
				handshakeFailures[reason]}
		})
}

// rowsOf makes a table of a list of objects; of none, it makes an empty one.
func rowsOf(list any, head []string, row func(map[string]any) []string) table {
	items, _ := list.([]any)
	if len(items) == 0 {
		return nil
	}
	rows := table{head}
	for _, item := range items {
		of, _ := item.(map[string]any)
		rows = append(rows, row(of))
	}
	return rows
}

// handshakeFailures says what each reason means. The names are those of the data plane
// (dataplane/telemetry/src/handshakes.rs).
var handshakeFailures = map[string]string{
	"closed":              "a client ended the connection before the handshake was complete",
	"timeout":             "the handshake was not complete in time (post_accept_timeout)",
	"not_tls":             "what came is not TLS: maybe HTTP at a port for HTTPS",
	"no_version":          "a client speaks no version of TLS that the SSL profile accepts (accepted_versions)",
	"no_cipher_suite":     "a client has no cipher suite in common with the SSL profile and the certificates",
	"no_group":            "a client has no group for the key exchange in common, or exchanges keys only by RSA",
	"no_signature":        "a client accepts no signature that the key of a certificate can make",
	"no_protocol":         "a client offers only protocols above TLS that the virtual service does not speak (ALPN)",
	"no_certificate":      "a client showed no certificate, which ssl_client_certificate_mode requires",
	"bad_certificate":     "the certificate of a client is not good: the causes client_certificate_* say why",
	"certificate_refused": "a client does not trust the certificate, or cannot use it",
	"alert":               "a client gave up for another reason, and said so",
	"malformed":           "what came is not as TLS must be",
	"unserved":            "the listener was removed or changed meanwhile",
	"evicted":             "the engine needed the place for other clients",
	"internal":            "a defect of Weir; please report it",
}
