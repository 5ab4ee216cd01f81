package abuse

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
)

// bar is the largest ratio of the 99th percentile during the abuse to that at rest. No request may fail either.
const bar = 3.0

// barHTTP2 is the same for abuses of HTTP/2, whose attackers are few.
const barHTTP2 = 2.0

// unit is that of values and bar.
const unit = "× at rest"

// Finding is what a row has measured: Weir's outcome, and beside it the peers'.
type Finding struct {
	Outcome
	Peers       map[string]Outcome `json:"peers,omitempty"`
	NotMeasured map[string]string  `json:"not_measured,omitempty"` // peers, and why
	Facts       []string           `json:"facts,omitempty"`        // what else is worth saying
}

// Result is a finding held to the bar.
type Result struct {
	verdict.Verdict
	Title    string    `json:"title"`
	Measured time.Time `json:"measured"`
	Quick    bool      `json:"quick"`
	Finding
}

// Line is the result for people.
func (r Result) Line() string {
	word := "ok"
	if !r.OK {
		word = "MISSED"
	}
	return fmt.Sprintf("%s  %g %s, %d failed (bar %g, 0)", word, r.Value, unit, r.Failed, r.Bar)
}

const linesFile = "abuse.jsonl"

// write puts JSON lines, a page and a picture into dir. It returns the files.
func write(dir string, machine report.Machine, results []Result) ([]string, error) {
	return verdict.Write(dir, linesFile, verdict.Names(rows), results, func(all []Result) map[string]string {
		return map[string]string{"README.md": page(machine, all), "table.svg": picture(all)}
	})
}

func picture(results []Result) string {
	var bars []verdict.Bar
	for _, r := range results {
		bars = append(bars, verdict.Bar{Verdict: r.Verdict, Title: r.Title,
			Unit: fmt.Sprintf("×, %d failed", r.Failed)})
	}
	return verdict.Picture(
		"99th percentile of another service's clients, in times that at rest, against the bar (line)", bars)
}

const preface = `# What other clients see while a service is abused

Written by ` + "`weir bench abuse`" +
	` on %s, %d cores, Linux %s, beside %s. Each balancer has one core and %d descriptors, and takes
%d clients: as many as Weir's data plane does of these. It serves two services; attackers from one address come to the first, and
clients from another address ask the second one %d times a second, half of them over %d connections that stay, half over new ones. A client waits %v for
its answer; one that got none has failed, and its wait counts. When the bench runs as root, clients, balancer and
servers (but those of ` + "`vanish` and `drip`" +
	`, which are within the bench) go before attackers and whatever else runs on the machine, first clients and the servers of their service.
The value is the 99th percentile of the way of asking that suffered more, while the attack lasts and attackers come, over that at rest, which
counts as %v at least: less is noise where two cores are shared by all.
Bar: no request fails, and %g × at rest; in the rows of HTTP/2 %g ×. There attackers come again a tenth of a second after their connection was
ended. [How the peers are configured](../../abuse), with reasons.
`

func page(machine report.Machine, results []Result) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	rate := askedFor(clientOnly)
	write(preface, machine.CPU, machine.Cores, machine.Kernel, strings.Join(machine.Versions, " and "),
		Descriptors, Clients,
		len(rate.ways())*rate.perSecond, rate.kept, patience, noise, bar, barHTTP2)
	write("![measured against the bar](table.svg)\n")
	write("| row | what | failed | p99 | at rest | value | |")
	write("|---|---|---|---|---|---|---|")
	for _, r := range results {
		write("| [%s](#%[1]s) | %s | %d | %s | %s | %g × | %s |", r.Row, r.Title, r.Failed, milliseconds(r.P99us),
			milliseconds(r.RestP99us), r.Value, r.Word())
	}
	for _, r := range results {
		r.section(write)
	}
	return text.String()
}

func (r Result) section(write func(string, ...any)) {
	write("\n## %s\n", r.Row)
	look := ""
	if r.Quick {
		look = ", a quick look"
	}
	write("%s. Measured %s%s.\n", r.Title, r.Measured.Format("2006-01-02 15:04 UTC"), look)
	write(
		"| | asked | failed | p50 | p99 | p50 at rest | p99 at rest | value | attackers at once | came | sent away |%s",
		r.weighed(" KiB each |"))
	write("|---|---|---|---|---|---|---|---|---|---|---|%s", r.weighed("---|"))
	all := maps.Clone(r.Peers)
	if all == nil {
		all = map[string]Outcome{}
	}
	all[weirName] = r.Outcome
	names := append([]string{weirName}, slices.Sorted(maps.Keys(r.Peers))...)
	for _, name := range names {
		all[name].lines(write, name)
	}
	write("")
	for _, name := range names {
		all[name].remarks(write, name)
	}
	for _, broken := range r.Broken {
		write("* **Broken:** %s", broken)
	}
	for _, fact := range r.Facts {
		write("* %s", fact)
	}
	for _, name := range slices.Sorted(maps.Keys(r.NotMeasured)) {
		write("* %s was not measured: %s", name, r.NotMeasured[name])
	}
}

// remarks say what the table does not.
func (o Outcome) remarks(write func(string, ...any), name string) {
	for _, over := range slices.Sorted(maps.Keys(o.Coming)) {
		seen := o.Coming[over]
		write("* %s, while attackers came in %.1f s, %s: of %d requests %s failed, p99 %s.", name, o.Toll.Took, over,
			seen.Asked, seen.failures(),
			milliseconds(seen.P99us))
	}
	if len(o.Toll.Ends) > 0 {
		write("* %s ended connections of attackers: %s.", name, listed(o.Toll.Ends))
	}
	for _, doubt := range o.Doubts {
		write("* %s, in doubt: %s.", name, doubt)
	}
	if o.Toll.Refused > 0 {
		write("* %s: %d times an attacker got no connection, the last one because of: %s.", name,
			o.Toll.Refused, o.Toll.Why)
	}
}

// weighed is text only where memory was measured.
func (r Result) weighed(text string) string {
	if r.KiBPerClient == 0 {
		return ""
	}
	return text
}

// lines has a line for kept and one for new connections. The first line has the values that both share.
func (o Outcome) lines(write func(string, ...any), name string) {
	memory := ""
	if o.KiBPerClient > 0 {
		memory = fmt.Sprintf(" %.0f |", o.KiBPerClient)
	}
	for i, over := range slices.Sorted(maps.Keys(o.During)) {
		seen, rest := o.During[over], o.Rest[over]
		attackers := fmt.Sprintf("%d | %d | %d |%s", o.Toll.Most, o.Toll.Came, o.Toll.Gone, memory)
		if i > 0 {
			attackers = strings.Repeat(" |", strings.Count(attackers, "|"))
		}
		write("| %s, %s | %d | %s | %s | %s | %s | %s | %.1f × | %s", name, over, seen.Asked, seen.failures(),
			milliseconds(seen.P50us), milliseconds(seen.P99us),
			milliseconds(rest.P50us), milliseconds(rest.P99us), seen.against(rest), attackers)
	}
}
