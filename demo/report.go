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
	"github.com/weir-lb/weir/lab/draw"
)

func report(options Options, s *stage, f figures) error {
	if options.JSON {
		return json.NewEncoder(options.Out).Encode(f)
	}
	fmt.Fprintf(options.Out, "\n%s\n%s\n", f.table(), shares(f.perServer())+spreads(f.Scale))
	if options.Once {
		return nil
	}
	return s.tellWhatStands(options.Out)
}

// table shows both protocols beside each other: first each request on a connection of its own, then many on each.
func (f figures) table() string {
	return fmt.Sprintf("%-34s%12s%12s\n", "", http1, http2) +
		pair("Each: TCP connect, TLS handshake, GET /index.html, close", "TPS", f.measured, f.HTTP2) +
		"  handshakes         " + f.handshakes() + "\n\n" +
		pair("GET /index.html on kept connections, 64 at once: 64 connections, or 8 with 8 streams each", "requests/s",
			f.Kept.HTTP1, f.Kept.HTTP2)
}

// pair shows the figures of one load over both protocols.
func pair(title, rate string, one, two measured) string {
	text := "  " + title + "\n"
	for _, row := range []struct {
		label, format, unit string
		of                  func(measured) float64
	}{
		{rate, "%12.0f", "", func(m measured) float64 { return m.TPS }},
		{"latency p50", "%12.0f", "µs", func(m measured) float64 { return m.P50us }},
		{"latency p99", "%12.0f", "µs", func(m measured) float64 { return m.P99us }},
		{"latency p99.9", "%12.0f", "µs", func(m measured) float64 { return m.P999us }},
		{"engine CPU", "%12.1f", "µs per request", func(m measured) float64 { return m.CPUMicrosPerTransaction }},
		{"errors", "%12.0f", bothCauses(one, two), func(m measured) float64 { return float64(m.Errors) }},
	} {
		line := fmt.Sprintf("  %-32s"+row.format+row.format+"   %s", row.label, row.of(one), row.of(two), row.unit)
		text += strings.TrimRight(line, " ") + "\n"
	}
	return text
}

// handshakes says what all new connections of both protocols negotiated.
func (f figures) handshakes() string {
	return fmt.Sprintf("%s, %d full handshakes, %d resumed", f.tls, f.full+f.HTTP2.full, f.resumed+f.HTTP2.resumed)
}

// perServer adds up which servers answered, over all loads.
func (f figures) perServer() map[string]int64 {
	all := map[string]int64{}
	for _, l := range loads {
		for server, count := range l.into(&f).PerServer {
			all[server] += count
		}
	}
	return all
}

// picture shows what a reader compares first.
func (f figures) picture() draw.Picture {
	both := func(of func(measured) float64, one, two measured) []float64 { return []float64{of(one), of(two)} }
	rate := func(m measured) float64 { return m.TPS }
	cpu := func(m measured) float64 { return m.CPUMicrosPerTransaction }
	p99 := func(m measured) float64 { return m.P99us }
	return draw.Comparison{
		Title: "HTTP/1.1 and HTTP/2 over TLS, on the same port of one virtual service",
		Names: []string{http1, http2},
		Rows: []draw.ComparisonRow{
			{Label: "new connections: requests per second", Values: both(rate, f.measured, f.HTTP2)},
			{Label: "new connections: engine CPU, µs each", Values: both(cpu, f.measured, f.HTTP2)},
			{Label: "kept connections: requests per second", Values: both(rate, f.Kept.HTTP1, f.Kept.HTTP2)},
			{Label: "kept connections: engine CPU, µs each", Values: both(cpu, f.Kept.HTTP1, f.Kept.HTTP2)},
			{Label: "kept connections: p99 latency, µs", Values: both(p99, f.Kept.HTTP1, f.Kept.HTTP2)},
		},
	}.Picture()
}

// tellWhatStands says where what goes on serving can be looked at.
func (s *stage) tellWhatStands(out io.Writer) error {
	password, err := s.controller.Password()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `  Virtual service      %s
  redirected to it     %s
  REST API             %s
  Try                  %s

`, s.service.url(), s.service.plainURL(), s.controller.URL, s.try(password))
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
	return strings.Join(parts, ", ")
}

// bothCauses says for each protocol what its errors were.
func bothCauses(one, two measured) string {
	var parts []string
	for i, m := range []measured{one, two} {
		if said := causes(m.errorsBy); said != "" {
			parts = append(parts, []string{http1, http2}[i]+": "+said)
		}
	}
	return strings.Join(parts, "; ")
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
