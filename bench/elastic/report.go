package elastic

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-lb/weir/bench/draw"
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

// write puts JSON lines, a page and pictures into dir. It returns the files.
func write(dir string, machine report.Machine, options Options, results []Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var lines strings.Builder
	encoder := json.NewEncoder(&lines)
	contents := map[string]string{}
	for _, result := range results {
		if err := encoder.Encode(result); err != nil {
			return nil, err
		}
		for name, picture := range result.pictures() {
			contents[name] = picture
		}
	}
	contents["elastic.jsonl"], contents["README.md"] = lines.String(), page(machine, options, results)
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

// pictures are files by name.
func (r Result) pictures() map[string]string {
	pictures := map[string]string{}
	for i, story := range r.Stories {
		pictures[r.storyName(i)] = story.SVG()
	}
	if len(r.Curve) > 1 {
		pictures[r.Row+".svg"] = r.curve()
	}
	return pictures
}

func (r Result) storyName(index int) string { return fmt.Sprintf("%s-%d.svg", r.Row, index+1) }

func page(machine report.Machine, options Options, results []Result) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	write("# What clients notice while engines come, go and fail\n")
	write("Written by `weir bench elastic` on %s, %d cores, Linux %s: router, engines, servers and clients share them. Each row is a lab of its own ([how it",
		machine.CPU, machine.Cores, machine.Kernel)
	write("looks](../../../docs/lab.md)) with %s; two clients with eight addresses each ask in TLS, over connections that stay and over new ones. Seed %d.\n",
		routerName(options.Router), options.Seed)
	if options.Quick {
		write("A quick look (`--quick`): fewer engines, rounds and steps.\n")
	}
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

func routerName(kind string) string {
	if kind == "" {
		return "the router of lab/seed.toml"
	}
	return strings.ToUpper(kind) + " as its router"
}

func (r Result) word() string {
	if r.OK {
		return "ok"
	}
	return "**missed**"
}

func (r Result) section(write func(string, ...any)) {
	write("\n## %s\n", r.Row)
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

const (
	curveWidth, curveHeight = 640.0, 320.0
	curveLeft, curveTop     = 70.0, 50.0
	curveInner, curveDeep   = 540.0, 210.0
)

// curve draws transactions a second over the number of engines, beside as many times one engine.
func (r Result) curve() string {
	var c draw.Canvas
	c.Text(10, 24, "start", "bold", "transactions a second by number of engines (line: N times one engine)")
	one := r.Curve[0].TPS
	most := 1.1 * one * float64(len(r.Curve))
	height := func(tps float64) float64 { return curveTop + curveDeep*(1-tps/max(most, 1e-9)) }
	for share := range 5 {
		tps := most * float64(share) / 4
		c.Line(curveLeft, height(tps), curveLeft+curveInner, height(tps), draw.Grid, 1)
		c.Text(curveLeft-8, height(tps)+4, "end", "normal", fmt.Sprintf("%.0f", tps))
	}
	apart := curveInner / float64(len(r.Curve))
	x := func(engines int) float64 { return curveLeft + apart*(float64(engines)-0.5) }
	c.Line(x(1), height(one), x(len(r.Curve)), height(one*float64(len(r.Curve))), draw.Ink, 1)
	for _, point := range r.Curve {
		c.Rect(x(point.Engines)-apart*0.3, height(point.TPS), apart*0.6, curveTop+curveDeep-height(point.TPS), "#8fb8de")
		c.Text(x(point.Engines), height(point.TPS)+14, "middle", "normal", fmt.Sprintf("%.2f", point.Against))
		c.Text(x(point.Engines), curveTop+curveDeep+18, "middle", "normal", fmt.Sprint(point.Engines))
	}
	return c.SVG(curveWidth, curveHeight)
}
