package control

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/draw"
)

const linesFile = "control.jsonl"

// write puts JSON lines, a page and pictures into dir. It returns the files.
func write(dir string, machine report.Machine, results []Result) ([]string, error) {
	return verdict.Write(dir, linesFile, verdict.Names(rows), results, func(all []Result) map[string]string {
		texts := map[string]string{"README.md": page(machine, all), "table.svg": table(all)}
		for _, result := range all {
			texts[result.Row+".svg"] = result.curve()
		}
		return texts
	})
}

const preface = `# How the controller scales

Written by ` + "`weir bench control`" + ` on %s, %d cores, Linux %s.

* One controller runs as operators run it: a write is on disk (fsync) before it is answered. It shares the cores with
  %d engines, %d clients of its API, and everything else that is named here.
* An engine is the agent's own link and supervisor in the process of the bench, and under it a real data plane with one
  worker. It has no health monitors, no routes and no state on disk.
* Each virtual service is on one engine; all engines have equal shares. It speaks plain HTTP, and has an address and a
  pool of %d servers of its own.
* A change gives a virtual service another name, which is in the Plan of its engine. The engine acknowledges the change
  when its data plane serves by that Plan.
* "Waited" is how many threads of the controller were ready and had no core, on average. Engines and clients take the
  cores as well; where it is large, so did something else on this machine.
* Bars are for %d virtual services. Nothing may fail.
`

func page(machine report.Machine, results []Result) string {
	var text strings.Builder
	write := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	write(preface, machine.CPU, machine.Cores, machine.Kernel, enginesCount, clientsCount, serversEach,
		fullServices)
	write("![measured against the bar](table.svg)\n")
	write("| row | what | services | measured | bar | |")
	write("|---|---|---|---|---|---|")
	for _, r := range results {
		write("| [%s](#%[1]s) | %s | %d | %s %s | %g | %s |", r.Row, r.Title, r.Services,
			draw.Figure(r.Value), r.Unit, r.Bar,
			r.Word())
	}
	for _, r := range results {
		r.section(write)
	}
	return text.String()
}

// how says of each row how it is measured.
var how = map[string]string{
	"change": "Changes are made at their pace, whatever becomes of those before. They go round all virtual services. " +
		"The time of each counts from when it was due.",
	"cpu": "Each change is made when the one before is acknowledged, so that the controller cannot do two at once. " +
		"What the controller uses without any change is taken off.",
	"create": "One client creates them one right after the other, with pools and VIPs that exist. " +
		"Afterwards it deletes them.",
	"patch": "One client makes its calls one right after the other.",
	"name": "`GET /api/virtualservice?name=…`. One client makes its calls one right after the other, " +
		"while the controller has nothing else to do.",
	"search": "`GET /api/virtualservice?search=…`, for a text that one virtual service has. " +
		"One client makes its calls one right after the other, while the controller has nothing else to do.",
	"start": "Measured once at each number. Engines dial from the first moment on, and try again as agents do: " +
		"up to 0.2 s may be their pause.",
	"memory": "Measured once at each number.",
	"swap": "The Plans of all engines are joined into one, for one more data plane with one worker. " +
		"The time is from when its supervisor gets a Plan until its Ack; all sockets are open already. " +
		"Clients ask one of the virtual services 500 times a second meanwhile.",
}

func (r Result) section(write func(string, ...any)) {
	write("\n## %s\n", r.Row)
	look := ""
	if r.Quick {
		look = ", a quick look"
	}
	write("%s. %s\n", strings.ToUpper(r.Title[:1])+r.Title[1:], how[r.Row])
	write("Measured %s%s.\n", r.Measured.Format("2006-01-02 15:04 UTC"), look)
	if r.timed() {
		write("| services | p99 | p50 | measured | failed | waited | |\n|---|---|---|---|---|---|---|")
	} else {
		write("| services | value | failed | waited | |\n|---|---|---|---|---|")
	}
	for _, p := range r.Curve {
		if r.timed() {
			write("| %d | %s %s | %s %[3]s | %[5]d | %d | %.2f | %s |", p.Services, draw.Figure(p.Value), r.PointUnit,
				draw.Figure(p.P50), p.Count, p.Failed, p.Waited, p.Note)
		} else {
			write("| %d | %s %s | %d | %.2f | %s |", p.Services, draw.Figure(p.Value), r.PointUnit, p.Failed, p.Waited,
				p.Note)
		}
	}
	write("\n![%s by number of virtual services](%[1]s.svg)", r.Row)
}

// timed tells whether there is more than one measurement behind each point.
func (r Result) timed() bool { return r.Curve[0].P50 > 0 }
