package elastic

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
)

const linesFile = "elastic.jsonl"

// write puts JSON lines, a page and pictures into dir. It returns the files.
func write(dir string, machine report.Machine, results []Result) ([]string, error) {
	if err := clearPictures(dir, results); err != nil {
		return nil, err
	}
	return verdict.Write(dir, linesFile, verdict.Names(rows), results, func(all []Result) map[string]string {
		texts := map[string]string{"README.md": page(machine, all), "table.svg": table(machine, all)}
		for _, result := range all {
			maps.Copy(texts, result.pictures())
		}
		return texts
	})
}

// clearPictures removes what was drawn of these rows before: an earlier run may have drawn more.
func clearPictures(dir string, results []Result) error {
	var errs []error
	for _, result := range results {
		old, err := filepath.Glob(filepath.Join(dir, result.Row+"-[0-9]*.svg"))
		errs = append(errs, err)
		for _, file := range old {
			errs = append(errs, os.Remove(file))
		}
	}
	return errors.Join(errs...)
}

func page(machine report.Machine, results []Result) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	write("# What clients notice while engines come, go and fail\n")
	write(
		"Written by `weir bench elastic` on %s, %d cores, Linux %s: router, engines, servers and clients share them. Each row is a [lab](../../../docs/lab.md)",
		machine.CPU, machine.Cores, machine.Kernel)
	write(
		"of its own; two clients with eight addresses each ask in TLS, over connections that stay and over new ones.\n")
	write("| row | what | measured | bar | |")
	write("|---|---|---|---|---|")
	for _, r := range results {
		write("| [%s](#%[1]s) | %s | %g %s | %g | %s |", r.Row, r.Title, r.Verdict.Value, r.Unit, r.Bar, r.Word())
	}
	for _, r := range results {
		r.section(write)
	}
	return text.String()
}

func (r Result) section(write func(string, ...any)) {
	write("\n## %s\n", r.Row)
	write("Measured %s with %s.\n", r.Measured.Format("2006-01-02 15:04 UTC"), r.How)
	for _, said := range r.Broken {
		write("* **Broken:** %s", said)
	}
	for _, said := range r.Facts {
		write("* %s", said)
	}
	for i, story := range r.Stories {
		write("\n![%s](%s)", story.Title, r.storyName(i))
	}
	if len(r.Curve) > 1 {
		write("\n![transactions a second by number of engines](%s.svg)", r.Row)
	}
	if len(r.Failures) == 0 {
		return
	}
	write("\n| failed at | begun before | client | over | cause | engine |")
	write("|---|---|---|---|---|---|")
	for _, f := range r.Failures {
		write("| %s | %.3f s | %s | %s | %s | %s |", f.Failed.UTC().Format("15:04:05.000"),
			f.Failed.Sub(f.Begun).Seconds(), f.Client, f.Over, f.Cause, f.Engine)
	}
}
