package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-lb/weir/bench/workloads"
)

// Markdown is the report for people: a table of all rows, then each row with everything that was measured.
func Markdown(machine Machine, rows []*Row) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	write("# What a transaction costs\n")
	write("Measured on %s, %d cores, Linux %s; %s.\n", machine.CPU, machine.Cores, machine.Kernel,
		strings.Join(machine.Versions, ", "))
	text.WriteString(machine.libraryLines())
	write(
		"Written by `weir bench run`. The figure is the CPU time of the balancer's whole process group for each transaction, read from")
	write(
		"the kernel (`schedstat`; the split into user and system by ticks, and coarser). Of Weir that is the data plane; its agent's")
	write(
		"time stands beside it. Ratios are a peer's cost over Weir's, taken within each round, medians of the rounds: above 1, Weir is")
	write(
		"cheaper. *Saturated*: three spinning processes share each of the balancer's cores, so that it always has a backlog. *Light*: the")
	write(
		"load is the bottleneck. A row is in doubt when its rounds spread over more than %.0f %% of their median, or are fewer than %d,", 100*spreadMax, RoundsMin)
	write(
		"or when a peer is missing, or when a proxy had work for less than %.0f %% of the time although it was saturated;",
		100*busyMin)
	write(
		"a row of growth when its bar lies within the interval of the median (sign test over pairs of slices), or that is wider than the bar.\n")
	for _, note := range machine.Notes {
		write("**Note.** %s\n", note)
	}
	write("| workload | cores | Weir | best peer | ratio | spread | light | must | stretch | |")
	write("|---|---|---|---|---|---|---|---|---|---|")
	for _, row := range rows {
		write("%s", row.tableLine())
	}
	write("")
	if len(rows) > 0 {
		write("![CPU time per transaction](cpu.svg)\n")
	}
	for _, row := range rows {
		text.WriteString(row.section())
	}
	return text.String()
}

func (r *Row) tableLine() string {
	bar := r.Workload.Bar
	cells := []string{fmt.Sprintf("**%s** %s", r.Workload.ID, r.Workload.Title), fmt.Sprint(r.Cores)}
	switch r.Workload.Kind {
	case workloads.Growth:
		return line(append(cells, r.growthCells()...))
	case workloads.OwnCode:
		return line(append(cells, r.ownCodeCells()...))
	}
	best, ratio := r.Best(r.level())
	_, light := r.Best(Light)
	peer := ""
	if best != "" {
		peer = best + " " + r.costText(r.Figures(best, r.level()))
	}
	cells = append(cells, r.costText(r.Figures(Weir, r.level())), peer, times(ratio.Median), percent(ratio.Spread()),
		times(light.Median),
		times(bar.Must), times(bar.Stretch), r.judged(r.Doubt()))
	return line(cells)
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// judged says whether the row meets its bar, and why that is in doubt.
func (r *Row) judged(doubt string) string {
	words := []string{r.AgainstBar()}
	if doubt != "" {
		words = append(words, "in doubt: "+doubt)
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), "; ")
}

func (r *Row) section() string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	w := r.Workload
	write("## %s: %s\n", w.ID, w.Title)
	if w.Kind == workloads.OwnCode {
		r.writeOwnCode(write)
		return text.String()
	}
	write("%s. %s\n", strings.ToUpper(w.Source[:1])+w.Source[1:], r.conditions())
	if w.Kind == workloads.Growth {
		r.writeGrowth(write)
		r.writeFailed(write)
		return text.String()
	}
	write(
		"| proxy | load | %s | requests/s | p50 / p99 / p99.9 µs | MB/s | errors | RSS MB | full / resumed handshakes | system calls |", r.costName())
	write("|---|---|---|---|---|---|---|---|---|---|")
	for _, proxy := range r.Proxies {
		for _, level := range []Level{Saturated, Light} {
			if len(r.Rounds[proxy][level]) > 0 {
				write("%s", r.sampleLine(proxy, level))
			}
		}
	}
	write("")
	if agent := r.Figures(Weir, r.level()).AgentCPUus; agent > 0 {
		write("Weir's agent used %.2f µs per transaction beside the data plane (saturated).\n", agent)
	}
	if most := w.Bar.SystemCallsMax; most > 0 && len(r.SystemCalls) > 0 {
		write("System calls per transaction: %.1f of Weir, which may take %.0f.\n", r.SystemCalls[Weir], most)
	}
	if line := r.confirmation(); line != "" {
		write("%s\n", line)
	}
	r.writeFailed(write)
	if line := r.projection(); line != "" {
		write("%s\n", line)
	}
	return text.String()
}

// confirmation is what h2load measured, which shares no code with the load generator of the other figures.
func (r *Row) confirmation() string {
	var said []string
	for _, proxy := range r.Proxies {
		if confirmed, is := r.Confirmed[proxy]; is {
			said = append(said, fmt.Sprintf("%s %.1f µs", proxy, confirmed.CPUus))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "With h2load in place of weir-load, saturated, one round: " + strings.Join(said, ", ") + "."
}

// writeFailed tells what could not be measured, and the first line of why.
func (r *Row) writeFailed(write func(string, ...any)) {
	missing := r.Missing()
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		why, _, _ := strings.Cut(missing[name], "\n")
		write("Without %s: %s\n", name, why)
	}
}

// conditions says what is the same for all proxies of the row.
func (r *Row) conditions() string {
	w := r.Workload
	said := []string{fmt.Sprintf("%d bytes, %d connections", w.Load.ObjectBytes, w.Load.Connections)}
	if w.Service.Protocol != "" {
		said = append(said, protocolText(w))
	}
	switch {
	case w.Load.RequestsPerConnection == 0:
		said = append(said, "kept alive")
	case w.Load.RequestsPerConnection == 1 && w.Service.Protocol == "":
		said = append(said, "one request each (`Connection: close`)")
	case w.Load.RequestsPerConnection == 1:
		said = append(said, "one request each")
	default:
		said = append(said, fmt.Sprintf("%d requests each", w.Load.RequestsPerConnection))
	}
	if w.Service.TLS != "" {
		said = append(said, fmt.Sprintf("TLS %s %s, group %s, certificate %s", w.Service.TLS, w.Load.Cipher,
			w.Load.Group, w.Service.Certificate))
	}
	if w.Service.ServerTLS {
		said = append(said, "TLS to the servers, too")
	}
	switch {
	case w.Echoes():
		said = append(said, "the servers send back what they get")
	case w.Origin.Segments == 2:
		said = append(said, "the servers send head and body in two segments")
	default:
		said = append(said, "the servers send head and body in one segment")
	}
	return strings.Join(said, "; ") + "."
}

// protocolText says what clients speak, and to the servers the proxy.
func protocolText(w workloads.Workload) string {
	text := map[string]string{workloads.HTTP2: "HTTP/2", workloads.GRPC: "gRPC", workloads.WebSocket: "WebSocket",
		workloads.UDP: "UDP"}[w.Service.Protocol]
	if w.Load.Streams > 1 {
		text += fmt.Sprintf(" with %d streams on each", w.Load.Streams)
	}
	if w.Service.ServerHTTP2 {
		text += ", HTTP/2 to the servers"
	}
	return text
}

func (r *Row) sampleLine(proxy string, level Level) string {
	f := r.Figures(proxy, level)
	calls := ""
	if count, counted := r.SystemCalls[proxy]; counted && level == Saturated {
		calls = fmt.Sprintf("%.1f", count)
	}
	return fmt.Sprintf("| %s | %s | %s | %.0f | %.0f / %.0f / %.0f | %.1f | %d | %.1f | %d / %d | %s |", proxy, level,
		r.costText(f), f.RPS,
		f.P50us, f.P99us, f.P999us, f.BytesPerSecond/1e6, f.Errors, float64(f.RSSBytes)/1e6,
		f.Handshakes, f.Resumed, calls)
}

// projection compares what a whole core could carry with a published figure for a core of other hardware.
func (r *Row) projection() string {
	f := r.Figures(Weir, r.level())
	if r.Workload.Bar.PerCore == 0 || f.Fault != "" || f.CPUus == 0 {
		return ""
	}
	carried := 1e6 / f.CPUus
	return fmt.Sprintf(
		"Projected: a core spent wholly on this carries %.0f/s on this machine; published: %.0f, %s: %.2f ×. Other hardware: "+
			"the line shows the order, not a comparison.", carried, r.Workload.Bar.PerCore, r.Workload.Bar.PerCoreName,
		carried/r.Workload.Bar.PerCore)
}

func (r *Row) costName() string {
	if r.Workload.Kind == workloads.Idle {
		if r.Workload.Idle.Streams > 0 {
			return "memory per waiting stream"
		}
		return "memory per idle connection"
	}
	return "CPU per transaction (user + system)"
}

func (r *Row) costText(f Figures) string {
	if f.Fault != "" {
		return "invalid: " + f.Fault
	}
	if r.Workload.Kind == workloads.Idle {
		return fmt.Sprintf("%.2f KiB", f.IdleBytes/1024)
	}
	return fmt.Sprintf("%.1f µs (%.1f + %.1f)", f.CPUus, f.Userus, f.Systemus)
}

func times(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
