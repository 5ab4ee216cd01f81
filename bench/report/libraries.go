package report

import (
	"fmt"
	"strings"
)

// Library is the TLS library that a proxy runs on.
type Library struct {
	Proxy string `json:"proxy"`
	TLS   string `json:"library"` // empty: the proxy does not tell
}

func (l Library) text() string {
	if l.TLS == "" {
		return l.Proxy + " (does not tell)"
	}
	return l.Proxy + ": " + l.TLS
}

// slowLibrary is the OpenSSL of Debian 12. What is said of it: https://github.com/openssl/openssl/issues/20286, and
// HAProxy's own advice at https://www.haproxy.com/blog/state-of-ssl-stacks.
const slowLibrary = "OpenSSL 3.0"

// libraryLines name the TLS libraries, and warn if one of them makes a peer slow.
func (m Machine) libraryLines() string {
	if len(m.Libraries) == 0 {
		return ""
	}
	var all, slow []string
	for _, l := range m.Libraries {
		all = append(all, l.text())
		if strings.HasPrefix(l.TLS, slowLibrary) {
			slow = append(slow, l.Proxy)
		}
	}
	text := fmt.Sprintf("TLS libraries: %s.\n", strings.Join(all, "; "))
	if len(slow) > 0 {
		text += fmt.Sprintf(
			"%s, which Debian 12 ships, is slow at handshakes. Rows with a handshake per connection measure it as much as they measure %s.\n"+
				"Builds of these proxies on AWS-LC, which Weir uses too, come nearer to Weir.\n", slowLibrary,
			strings.Join(slow, " and "))
	}
	return text + "\n"
}
