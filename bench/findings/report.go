package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/draw"
)

// Report is a page of results, with the lines that it is made of.
type Report struct {
	Name    string   // of the file of lines, and of the picture
	Rows    []string // all that there are, in their order
	Preface string   // the head of the page; %s, %d and %s are the processor, its cores, and the kernel
}

// Publish writes the report into the directory of the options, together with the rows of an earlier run, and concludes
// the run.
func (r Report) Publish(options verdict.Options, results []Result) error {
	var lines []line
	for _, result := range results {
		lines = append(lines, result.line())
	}
	return verdict.Publish(options, results, lines, func(results []Result) ([]string, error) {
		return verdict.Write(options.Results, r.Name+".jsonl", r.Rows, results, func(all []Result) map[string]string {
			return map[string]string{"README.md": r.page(report.ThisMachine(), all), "table.svg": r.table(all)}
		})
	})
}

func (r Report) page(machine report.Machine, results []Result) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	write(r.Preface, machine.CPU, machine.Cores, machine.Kernel)
	write("![measured against the bar](table.svg)\n")
	write("| row | what | measured | bar | |\n|---|---|---|---|---|")
	for _, result := range results {
		value := "–"
		if result.Unmeasured == "" {
			value = draw.Figure(result.Value) + " " + result.Unit
		}
		write("| %s | %s | %s | %s | %s |", result.Row, result.Title, value, result.limit(), result.Word())
	}
	write("\n## How\n")
	for _, result := range results {
		look := ""
		if result.Quick {
			look = ", a quick look"
		}
		said := result.Note
		if result.Unmeasured != "" {
			said = "Not measured: " + result.Unmeasured
		}
		write("* **%s** (%s%s): %s", result.Row, result.Measured.Format("2006-01-02 15:04 UTC"), look, oneLine(said))
	}
	for _, row := range r.Rows {
		if !slices.ContainsFunc(results, func(result Result) bool { return result.Row == row }) {
			write("* **%s**: never measured here", row)
		}
	}
	return text.String()
}

// oneLine keeps a list a list, whatever an error says.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (r Report) table(results []Result) string {
	var bars []verdict.Bar
	for _, result := range results {
		if result.Unmeasured == "" {
			bars = append(bars, verdict.Bar{Verdict: result.Verdict, Title: result.Row + ": " + result.Title,
				Unit: result.Unit})
		}
	}
	return verdict.Picture(r.Name+", measured against the bar (line)", bars)
}
