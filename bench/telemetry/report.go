package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/draw"
)

const linesFile = "telemetry.jsonl"

// write puts JSON lines, a page and a picture into dir. It returns the files.
func write(dir string, machine report.Machine, results []Result) ([]string, error) {
	return verdict.Write(dir, linesFile, verdict.Names(rows), results, func(all []Result) map[string]string {
		return map[string]string{"README.md": page(machine, all), "table.svg": table(all)}
	})
}

const preface = `# What Weir says of itself, and what that costs

Written by ` + "`weir bench telemetry`" + ` on %s, %d cores, Linux %s.

Controller, engine, servers, load and browser share these cores. A row that was not measured says why, and does not hold. What is lost when another node leads is
not among them: a controller has one node today.
`

func page(machine report.Machine, results []Result) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	write(preface, machine.CPU, machine.Cores, machine.Kernel)
	write("![measured against the bar](table.svg)\n")
	write("| row | what | measured | bar | |\n|---|---|---|---|---|")
	for _, r := range results {
		value := "–"
		if r.Unmeasured == "" {
			value = draw.Figure(r.Value) + " " + r.Unit
		}
		write("| %s | %s | %s | %s | %s |", r.Row, r.Title, value, r.limit(), r.Word())
	}
	write("\n## How\n")
	for _, r := range results {
		look := ""
		if r.Quick {
			look = ", a quick look"
		}
		said := r.Note
		if r.Unmeasured != "" {
			said = "Not measured: " + r.Unmeasured
		}
		write("* **%s** (%s%s): %s", r.Row, r.Measured.Format("2006-01-02 15:04 UTC"), look, oneLine(said))
	}
	for _, row := range rows {
		if !slices.ContainsFunc(results, func(r Result) bool { return r.Row == row.name }) {
			write("* **%s**: never measured here", row.name)
		}
	}
	return text.String()
}

// oneLine keeps a list a list, whatever an error says.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func table(results []Result) string {
	var bars []verdict.Bar
	for _, r := range results {
		if r.Unmeasured == "" {
			bars = append(bars, verdict.Bar{Verdict: r.Verdict, Title: r.Row + ": " + r.Title, Unit: r.Unit})
		}
	}
	return verdict.Picture("telemetry, measured against the bar (line)", bars)
}
