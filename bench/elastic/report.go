package elastic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-lb/weir/bench/report"
)

// writeVerdicts prints one object per row.
func writeVerdicts(out io.Writer, results []Result) error {
	encoder := json.NewEncoder(out)
	for _, result := range results {
		if err := encoder.Encode(result.Verdict); err != nil {
			return err
		}
	}
	return nil
}

const linesFile = "elastic.jsonl"

// write puts JSON lines, a page and pictures into dir. It returns the files.
func write(dir string, machine report.Machine, results []Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := clearPictures(dir, results); err != nil {
		return nil, err
	}
	results, err := besides(dir, results)
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	encoder := json.NewEncoder(&lines)
	contents := map[string]string{}
	for _, result := range results {
		if err := encoder.Encode(result); err != nil {
			return nil, err
		}
		maps.Copy(contents, result.pictures())
	}
	contents[linesFile], contents["README.md"], contents["table.svg"] = lines.String(), page(machine, results), table(machine, results)
	var files []string
	for name, text := range contents {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	slices.Sort(files)
	return files, nil
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

// besides adds the rows that an earlier run has left and this one did not measure, in the order of the table.
func besides(dir string, results []Result) (all []Result, err error) {
	text, err := os.ReadFile(filepath.Join(dir, linesFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var earlier []Result
	for line := range strings.Lines(string(text)) {
		var result Result
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			return nil, fmt.Errorf("%s/%s is not a report: %w", dir, linesFile, err)
		}
		earlier = append(earlier, result)
	}
	for _, row := range rows {
		for _, result := range append(slices.Clone(results), earlier...) {
			if result.Row == row.name {
				all = append(all, result)
				break
			}
		}
	}
	return all, nil
}

func page(machine report.Machine, results []Result) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	write("# What clients notice while engines come, go and fail\n")
	write("Written by `weir bench elastic` on %s, %d cores, Linux %s: router, engines, servers and clients share them. Each row is a [lab](../../../docs/lab.md)",
		machine.CPU, machine.Cores, machine.Kernel)
	write("of its own; two clients with eight addresses each ask in TLS, over connections that stay and over new ones.\n")
	write("| row | what | measured | bar | |")
	write("|---|---|---|---|---|")
	for _, r := range results {
		write("| [%s](#%[1]s) | %s | %g %s | %g | %s |", r.Row, r.Title, r.Verdict.Value, r.Unit, r.Bar, r.word())
	}
	for _, r := range results {
		r.section(write)
	}
	return text.String()
}

func (r Result) word() string {
	if r.OK {
		return "ok"
	}
	return "**missed**"
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
		write("| %s | %.3f s | %s | %s | %s | %s |", f.Failed.UTC().Format("15:04:05.000"), f.Failed.Sub(f.Begun).Seconds(), f.Client, f.Over, f.Cause, f.Engine)
	}
}
