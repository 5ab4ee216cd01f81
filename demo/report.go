package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// teller says what is being done, and then on the same line what came of it.
type teller struct{ out io.Writer }

func (t teller) begin(doing string) { fmt.Fprintf(t.out, "  %-66s ", doing+" …") }
func (t teller) line(text string)   { fmt.Fprintln(t.out, text) }

func report(options Options, s *stage, f figures) error {
	if options.JSON {
		return json.NewEncoder(options.Out).Encode(f)
	}
	password, err := s.controller.Password()
	if err != nil {
		return err
	}
	fmt.Fprintf(options.Out, `
  TPS                  %12.0f   each: TCP connect, TLS handshake, GET /index.html, close
  latency p50          %12.0f µs
  latency p99          %12.0f µs
  latency p99.9        %12.0f µs
  engine CPU           %12.1f µs per transaction
  errors               %12d%s
  TLS                  %s

%s
  Virtual service   %s
  REST API          %s   user admin, password %s
  Try               weir login %s --trust-on-first-use && weir status

`, f.TPS, f.P50us, f.P99us, f.P999us, f.CPUMicrosPerTransaction, f.Errors, causes(f.errorsBy), f.handshake,
		shares(f.PerServer), s.service.url(), s.controller.URL, password, s.controller.URL)
	return nil
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
	var total int64
	var servers []string
	for server, count := range perServer {
		total += count
		servers = append(servers, server)
	}
	slices.Sort(servers)
	var lines strings.Builder
	for _, server := range servers {
		share := float64(perServer[server]) / float64(total)
		fmt.Fprintf(&lines, "  %-18s %8d  %5.1f %%  %s\n", server, perServer[server], 100*share, strings.Repeat("█", int(40*share+0.5)))
	}
	return lines.String()
}
