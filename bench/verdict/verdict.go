// Package verdict compares measurements with bars: the rows of a bench, the output for scripts, and the report, which
// also has the rows of earlier runs. It measures nothing.
package verdict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrMissed says that all was measured, and something misses its bar.
var ErrMissed = errors.New("not every bar is met")

// Verdict is what scripts read of a row.
type Verdict struct {
	Row   string  `json:"row"`
	Value float64 `json:"value"`
	Bar   float64 `json:"bar"`
	OK    bool    `json:"ok"`
}

// Name is the row's.
func (v Verdict) Name() string { return v.Row }

// Held is the verdict that a result has within it.
func (v Verdict) Held() Verdict { return v }

// Word says in a table whether the bar is met.
func (v Verdict) Word() string {
	if v.OK {
		return "ok"
	}
	return "**missed**"
}

// Named is what has the name of a row: the row itself, or what it led to.
type Named interface{ Name() string }

// Titled is what a list of rows shows.
type Titled interface {
	Named
	Title() string
}

// List writes rows with what they measure.
func List[R Titled](out io.Writer, rows []R) error {
	for _, row := range rows {
		if _, err := fmt.Fprintf(out, "  %-18s %s\n", row.Name(), row.Title()); err != nil {
			return err
		}
	}
	return nil
}

// Names lists them in order.
func Names[N Named](all []N) (names []string) {
	for _, one := range all {
		names = append(names, one.Name())
	}
	return names
}

// Choose takes rows by name, in the order of the table; without names, all.
func Choose[R Named](rows []R, names []string) ([]R, error) {
	for _, name := range names {
		if all := Names(rows); !slices.Contains(all, name) {
			return nil, fmt.Errorf("--row %s: there is none of that name; use %s", name, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		return rows, nil
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row R) bool { return !slices.Contains(names, row.Name()) }), nil
}

// Bench is what measures rows.
type Bench[Row Named, Result interface{ Line() string }] struct {
	Title   func(Row) string
	Measure func(context.Context, Row) (Result, error)
	Say     func(format string, values ...any)
}

// MeasureAll measures row by row until ctx ends. It reports a row that fails, and leaves it out.
func (b Bench[Row, Result]) MeasureAll(ctx context.Context, rows []Row) (results []Result, failed []error) {
	for _, row := range rows {
		b.Say("%s: %s", row.Name(), b.Title(row))
		result, err := b.Measure(ctx, row)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", row.Name(), err))
			b.Say("  not measured: %v", err)
		} else {
			results = append(results, result)
			b.Say("  %s", result.Line())
		}
		if ctx.Err() != nil {
			break
		}
	}
	return results, failed
}

// WriteLines prints one object per line.
func WriteLines[R any](out io.Writer, results []R) error {
	encoder := json.NewEncoder(out)
	for _, result := range results {
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return nil
}

// Besides adds the rows of an earlier run that this run has not measured, in the order of the rows.
func Besides[R Named](file string, order []string, results []R) (all []R, err error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	candidates := slices.Clone(results)
	for line := range strings.Lines(string(text)) {
		var result R
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			return nil, fmt.Errorf("%s is not a report: %w", file, err)
		}
		candidates = append(candidates, result)
	}
	for _, name := range order {
		if at := slices.IndexFunc(candidates, func(r R) bool { return r.Name() == name }); at >= 0 {
			all = append(all, candidates[at])
		}
	}
	return all, nil
}

// Result is what a row led to.
type Result interface {
	Named
	Held() Verdict
}

// Write writes a report into dir: the results as JSON lines, with those of an earlier run in the order of all rows, and
// a page and pictures of all rows, by their file names. It returns the files.
func Write[R Result](dir, linesFile string, rows []string, results []R, texts func(all []R) map[string]string) (
	files []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	all, err := Besides(filepath.Join(dir, linesFile), rows, results)
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	if err := WriteLines(&lines, all); err != nil {
		return nil, err
	}
	contents := texts(all)
	contents[linesFile] = lines.String()
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

// Verdicts are the results in short, for scripts.
func Verdicts[R Result](results []R) (verdicts []Verdict) {
	for _, result := range results {
		verdicts = append(verdicts, result.Held())
	}
	return verdicts
}

// Conclude ends a run: it prints a line for each row to out, for scripts (nil: none), and returns ErrMissed if a row
// misses its bar.
func Conclude[R Result, L any](out io.Writer, results []R, lines []L) error {
	if out != nil {
		if err := WriteLines(out, lines); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, func(result R) bool { return !result.Held().OK }) {
		return ErrMissed
	}
	return nil
}
