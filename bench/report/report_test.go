package report

import (
	"strings"
	"testing"

	"github.com/weir-lb/weir/bench/golden"
	"github.com/weir-lb/weir/bench/workloads"
)

func sampleOf(cpu float64) Sample {
	return Sample{CPUus: cpu, Userus: cpu / 4, Systemus: 3 * cpu / 4, RPS: 1e6 / cpu, P50us: 100,
		P99us: 900, P999us: 2000,
		BytesPerSecond: 5e6, RSSBytes: 20 << 20, Transactions: 1000}
}

func samplesOf(costs ...float64) (samples []Sample) {
	for _, cost := range costs {
		samples = append(samples, sampleOf(cost))
	}
	return samples
}

// threeRounds has Weir and two peers; the second peer comes closer.
func threeRounds() *Row {
	row := NewRow(workloads.Workload{ID: "K", Title: "keep-alive", Source: "a paper", Kind: workloads.Transactions,
		Service: workloads.Service{Layer: 7}, Load: workloads.Load{ObjectBytes: 128, Connections: 64},
		Origin: workloads.Origin{Segments: 2},
		Bar:    workloads.Bar{Must: 1.15, Stretch: 1.3, Light: 1.05, PerCore: 50000, PerCoreName: "a paper's core"}}, 1)
	for _, cost := range []float64{10, 11, 20} {
		row.Add(Weir, Saturated, sampleOf(cost))
		row.Add(Weir, Light, sampleOf(cost+1))
		row.Add("slow", Saturated, sampleOf(3*cost))
		row.Add("slow", Light, sampleOf(3*cost))
		row.Add("near", Saturated, sampleOf(1.2*cost))
		row.Add("near", Light, sampleOf(1.3*cost))
	}
	return row
}

func ownCode() *Row {
	row := NewRow(workloads.Workload{ID: "U-HANDSHAKE", Title: "own code", Source: "a count", Kind: workloads.OwnCode,
		Bar: workloads.Bar{OwnUsMax: 12, OwnUsStretch: 9}}, 1)
	for _, us := range []float64{10, 11, 12} {
		row.OwnCode = append(row.OwnCode, OwnCode{Instructions: 32000, CryptographyInstructions: 1000000,
			OwnUs: us, AllUs: 15 * us})
	}
	return row
}

func TestOwnCodeIsHeldAgainstItsBarByTheMedianOfTheRounds(t *testing.T) {
	for most, want := range map[float64]string{11: "ok", 10.9: "short", 0: ""} {
		row := ownCode()
		row.Workload.Bar.OwnUsMax = most
		if against := row.AgainstBar(); against != want {
			t.Errorf("11 µs of %v: %q", most, against)
		}
	}
	row := ownCode()
	row.OwnCode = nil
	if against := row.AgainstBar(); against != "" {
		t.Errorf("not measured: %q", against)
	}
}

func TestRatioIsTheMedianOfTheRoundsAndNotTheRatioOfMedians(t *testing.T) {
	row := threeRounds()
	// The machine slows down by half in the last round: within each round nothing changed.
	if ratio := row.RatioTo("slow", Saturated); ratio.Median != 3 || ratio.Spread() != 0 || ratio.Rounds != 3 {
		t.Errorf("%+v", ratio)
	}
	if best, ratio := row.Best(Saturated); best != "near" || ratio.Median != 1.2 {
		t.Errorf("best is %s %+v", best, ratio)
	}
	if f := row.Figures(Weir, Saturated); f.CPUus != 11 || f.Transactions != 3000 {
		t.Errorf("%+v", f)
	}
}

func TestRoundWithAFaultCountsForNothing(t *testing.T) {
	for name, spoil := range map[string]func(*Sample){
		"failed":         func(s *Sample) { s.Errors = 1 },
		"resumed":        func(s *Sample) { s.Resumed = 1 },
		"no transaction": func(s *Sample) { s.Transactions = 0 },
	} {
		row := threeRounds()
		spoil(&row.Rounds["near"][Saturated][0])
		if ratio := row.RatioTo("near", Saturated); ratio.Rounds != 2 {
			t.Errorf("%s: %d rounds count", name, ratio.Rounds)
		}
		if f := row.Figures("near", Saturated); !strings.Contains(f.Fault, name) {
			t.Errorf("%s: the fault is %q", name, f.Fault)
		}
	}
	row := threeRounds()
	row.Workload.Service.TLS = "1.2"
	if f := row.Figures(Weir, Saturated); !strings.Contains(f.Fault, "full handshake") {
		t.Errorf("TLS without a handshake: the fault is %q", f.Fault)
	}
}

func TestNoiseAndTooFewRoundsPutARowInDoubt(t *testing.T) {
	row := threeRounds()
	if _, ratio := row.Best(Saturated); ratio.Doubt() != "" {
		t.Errorf("a quiet row is in doubt: %s", ratio.Doubt())
	}
	row.Rounds["near"][Saturated][0].CPUus *= 1.5
	if doubt := row.RatioTo("near", Saturated).Doubt(); !strings.Contains(doubt, "50 %") {
		t.Errorf("noise: %q", doubt)
	}
	row.Rounds["near"][Saturated] = row.Rounds["near"][Saturated][1:]
	if doubt := row.RatioTo("near", Saturated).Doubt(); !strings.Contains(doubt, "2 rounds") {
		t.Errorf("two rounds: %q", doubt)
	}
}

func TestAPeerThatIsMissingPutsARowInDoubt(t *testing.T) {
	row := threeRounds()
	if doubt := row.Doubt(); doubt != "" {
		t.Errorf("nothing is missing: %q", doubt)
	}
	row.Lacks["simple"] = "it speaks no HTTP/2"
	page := Markdown(Machine{}, []*Row{row})
	if doubt := row.Doubt(); doubt != "" || !strings.Contains(page, "Without simple: it speaks") {
		t.Errorf("one cannot do it, and the page says so: %q", doubt)
	}
	row.Failed["best"] = "it does not start"
	row.Rounds["near"][Saturated][1].Errors = 3
	doubt := row.Doubt()
	for _, want := range []string{"without best", "near counts for nothing: 3 transactions failed"} {
		if !strings.Contains(doubt, want) {
			t.Errorf("%q is missing in %q", want, doubt)
		}
	}
	if judged := row.judged(doubt); !strings.HasPrefix(judged, "ok; in doubt: ") {
		t.Errorf("the only peer that counts is three times dearer: %q", judged)
	}
}

func TestAProxyWithoutABacklogPutsARowInDoubt(t *testing.T) {
	row := threeRounds()
	for i := range row.Rounds["near"][Saturated] {
		row.Rounds["near"][Saturated][i].Busy = 0.7
		row.Rounds["near"][Light][i].Busy = 0.1
		row.Rounds[Weir][Saturated][i].Busy = 0.95
	}
	if doubt := row.Doubt(); doubt != "near was not saturated: it had work for 70 % of the time" {
		t.Errorf("%q", doubt)
	}
}

func TestBarHoldsTheBarAndTheGuard(t *testing.T) {
	row := threeRounds()
	if against := row.AgainstBar(); against != "ok" {
		t.Errorf("1.2 of 1.15: %s", against)
	}
	row.Workload.Bar.Must = 1.25
	if against := row.AgainstBar(); against != "short" {
		t.Errorf("1.2 of 1.25: %s", against)
	}
	row.Workload.Bar = workloads.Bar{Must: 1.15, Light: 1.3}
	if against := row.AgainstBar(); against != "short" {
		t.Errorf("the guard is not held: %s", against)
	}
	row.Workload.Bar = workloads.Bar{Must: 1.15, SystemCallsMax: 5}
	if against := row.AgainstBar(); against != "system calls not counted" {
		t.Errorf("nobody counted system calls: %s", against)
	}
	for calls, want := range map[float64]string{5: "ok", 5.1: "short"} {
		row.SystemCalls[Weir] = calls
		if against := row.AgainstBar(); against != want {
			t.Errorf("%v system calls of 5: %s", calls, against)
		}
	}
}

func TestBarMayLimitWhatWeirItselfCosts(t *testing.T) {
	for most, want := range map[float64]string{11: "ok", 10.9: "short", 0: "ok"} {
		row := threeRounds()
		row.Workload.Bar.CPUusMax = most
		if against := row.AgainstBar(); against != want {
			t.Errorf("11 µs of %v: %q, want %q", most, against, want)
		}
	}
	for most, want := range map[float64]string{2048: "ok", 2047: "short"} {
		row := NewRow(workloads.Workload{Kind: workloads.Idle, Bar: workloads.Bar{Must: 1, IdleBytesMax: most}}, 1)
		for proxy, bytes := range map[string]float64{Weir: 2048, "near": 4096} {
			row.Add(proxy, Light, Sample{Transactions: 1, IdleBytes: bytes})
		}
		if against := row.AgainstBar(); against != want {
			t.Errorf("2 KiB of %v bytes: %q, want %q", most, against, want)
		}
	}
}

func TestReportReadsAsWritten(t *testing.T) {
	machine := Machine{Kernel: "6.1", CPU: "a CPU", Cores: 2, Versions: []string{"near 1.0", "slow 2.0"},
		Notes: []string{"Something."},
		Libraries: []Library{{Weir, "rustls 0.23.46, aws-lc-rs 1.19.0"}, {"near", "BoringSSL"},
			{"slow", "OpenSSL 3.0.19"}, {"absent", ""}}}
	row := threeRounds()
	row.SystemCalls = map[string]float64{Weir: 4.04, "near": 5.5}
	row.Failed["absent"] = "it is not installed"
	rows := []*Row{row, growth(), ownCode()}
	dir := t.TempDir()
	files, err := Write(dir, machine, rows)
	if err != nil || len(files) != 4 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		golden.Check(t, file)
	}
}

func TestWarnsOfASlowTLSLibraryOnlyWhereAPeerHasIt(t *testing.T) {
	for library, warned := range map[string]bool{"OpenSSL 3.0.19": true, "OpenSSL 3.5.1": false,
		"AWS-LC 1.49.0": false, "": false} {
		lines := Machine{Libraries: []Library{{"peer", library}}}.libraryLines()
		if strings.Contains(lines, "slow at handshakes") != warned {
			t.Errorf("%q: %s", library, lines)
		}
	}
	if lines := (Machine{}).libraryLines(); lines != "" {
		t.Errorf("nothing is known of libraries: %q", lines)
	}
}
