package demo

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/lab/clients"
)

// shortfall says what is not as it should be, one line each.
func (f figures) shortfall() (lines []string) {
	for _, l := range loads {
		for _, line := range l.into(&f).shortfall() {
			lines = append(lines, fmt.Sprintf("%s over %s: %s", l.protocol, l.how(), line))
		}
	}
	for _, p := range f.Scale {
		lines = slices.Concat(lines, p.shortfall())
	}
	return lines
}

func (m measured) shortfall() (lines []string) {
	if m.Transactions == 0 {
		lines = append(lines, "no transaction was completed")
	}
	if m.Errors > 0 {
		lines = append(lines, fmt.Sprintf("%d transactions failed: %v", m.Errors, m.errorsBy))
	}
	if m.resumed > 0 {
		lines = append(lines, fmt.Sprintf("%d sessions were resumed: not every handshake was a full one", m.resumed))
	}
	if answered := sum(m.PerServer); answered != m.Transactions {
		lines = append(lines, fmt.Sprintf("%d of %d transactions do not tell which server answered",
			m.Transactions-answered, m.Transactions))
	}
	if len(m.PerServer) != serversCount {
		lines = append(lines, fmt.Sprintf("%d of %d servers answered", len(m.PerServer), serversCount))
	}
	return lines
}

func (p phase) shortfall() (lines []string) {
	if p.Errors > 0 {
		lines = append(lines, fmt.Sprintf("%d requests failed while %d engines were to serve%s", p.Errors, p.Engines,
			clients.Causes(p.Failures)))
	}
	if answered := len(p.Settled.PerEngine); answered != p.Engines {
		lines = append(lines, fmt.Sprintf("%d engines answered where %d were to serve", answered, p.Engines))
	}
	for _, protocol := range []string{http1, http2} {
		if p.PerProtocol[protocol] == 0 {
			lines = append(lines, fmt.Sprintf("no request of %s was answered while %d engines were to serve", protocol,
				p.Engines))
		}
	}
	return lines
}
