package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/weir-lb/weir/lab/clients"
)

func report(options Options, s *stage, f figures) error {
	if options.JSON {
		return json.NewEncoder(options.Out).Encode(f)
	}
	fmt.Fprintf(options.Out, `
  TPS                  %12.0f   each: TCP connect, TLS handshake, GET /index.html, close
  latency p50          %12.0f µs
  latency p99          %12.0f µs
  latency p99.9        %12.0f µs
  engine CPU           %12.1f µs per transaction
  errors               %12d%s
  handshakes           %s

%s
`, f.TPS, f.P50us, f.P99us, f.P999us, f.CPUMicrosPerTransaction, f.Errors, causes(f.errorsBy), f.handshake,
		shares(f.PerServer)+spreads(f.Scale))
	if options.Once {
		return nil
	}
	return s.tellWhatStands(options.Out)
}

// tellWhatStands says where what goes on serving can be looked at.
func (s *stage) tellWhatStands(out io.Writer) error {
	password, err := s.controller.Password()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `  Virtual service      %s
  redirected to it     %s
  REST API             %s   user admin, password %s
  Try                  %s

`, s.service.url(), s.service.plainURL(), s.controller.URL, password, s.try(password))
	if s.site == nil && err == nil {
		_, err = fmt.Fprintf(out, "For root, engines come and go behind a router: sudo %s demo\n", os.Args[0])
	}
	return err
}

// try is a line to type in another terminal.
func (s *stage) try(password string) string {
	weir, inside := os.Args[0], ""
	if s.site != nil {
		inside = fmt.Sprintf("%s lab exec --lab %s controller ", weir, s.site.Topology.Name)
	}
	return fmt.Sprintf("%[1]senv WEIR_PASSWORD=%[2]s %[3]s login %[4]s --trust-on-first-use && %[1]s%[3]s status",
		inside, password, weir, s.controller.URL)
}

// spreads draws how the requests of each phase are spread over the engines that were there at its end.
func spreads(phases []phase) string {
	var text strings.Builder
	for _, p := range phases {
		fmt.Fprintf(&text, "\n  Engines: %d; %d requests, %d failed%s; of these, %d in the last %d s, answered by\n%s",
			p.Engines, p.Requests, p.Errors,
			clients.Causes(p.Failures), p.Settled.Requests, p.Settled.Seconds, shares(p.Settled.PerEngine))
	}
	return text.String()
}

func causes(errorsBy map[string]int64) string {
	var parts []string
	for cause, count := range errorsBy {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", cause, count))
		}
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return ""
	}
	return "   " + strings.Join(parts, ", ")
}

// shares draws how the transactions spread over the servers.
func shares(perServer map[string]int64) string {
	total := sum(perServer)
	var lines strings.Builder
	for _, server := range slices.Sorted(maps.Keys(perServer)) {
		share := float64(perServer[server]) / float64(total)
		fmt.Fprintf(&lines, "  %-18s %8d  %5.1f %%  %s\n", server, perServer[server], 100*share,
			strings.Repeat("█", int(40*share+0.5)))
	}
	return lines.String()
}
