package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/workloads"
	"github.com/weir-lb/weir/lab"
)

func TestReadsAProxyThatSomebodyElseRuns(t *testing.T) {
	external, err := ParseExternal("mine=127.0.0.1:8080,4711")
	if err != nil || external != (External{"mine", "127.0.0.1:8080", 4711}) {
		t.Errorf("%+v: %v", external, err)
	}
	for _, wrong := range []string{"", "mine", "mine=127.0.0.1:8080", "=127.0.0.1:8080,1", "mine=8080,1",
		"mine=127.0.0.1:8080,x"} {
		if _, err := ParseExternal(wrong); err == nil || !strings.Contains(err.Error(), "NAME=host:port,pid") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestProxyOfSomebodyElseHasToStayOnTheBalancersCores(t *testing.T) {
	cores, err := meter.Cores()
	if err != nil {
		t.Fatal(err)
	}
	program, args := meter.Pinned(cores[:1], "sleep", "60")
	proxy := exec.Command(program, args...)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})
	external := External{Name: "mine", PID: proxy.Process.Pid}
	// taskset has pinned itself before it becomes the program.
	for commandOf(t, external.PID) != "sleep" {
		runtime.Gosched()
	}
	if err := external.pinnedTo(cores[:1]); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("taskset -acp 4711 %d", external.PID)
	if err := external.pinnedTo([]int{4711}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it is elsewhere: %v, want it to say %q", err, want)
	}
	if err := (External{Name: "mine", PID: 1 << 30}).pinnedTo(cores); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is none: %v", err)
	}
}

func commandOf(t *testing.T, pid int) string {
	t.Helper()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(name))
}

func TestAsksAllProxiesForTheSameTLS(t *testing.T) {
	w := workloads.Workload{Service: workloads.Service{Layer: 7, TLS: "1.2"},
		Load: workloads.Load{Connections: 3, RequestsPerConnection: 1, Cipher: "C", Group: "p256"}}
	flags := strings.Join(loadFlags(w, "127.0.0.1:1", 1500*time.Millisecond), " ")
	for _, want := range []string{"--url https://127.0.0.1:1/object", "--connections 3", "--requests-per-connection 1",
		"--duration 1500ms",
		"--drain", "--tls 1.2 --cipher C --group p256"} {
		if !strings.Contains(flags, want) {
			t.Errorf("%q is missing in %q", want, flags)
		}
	}
	if strings.Contains(flags, "--resume") {
		t.Error("sessions are resumed")
	}
}

func TestLoadSpeaksWhatTheWorkloadSays(t *testing.T) {
	all, err := workloads.All()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"K":    "--url http://a:1/object --connections 64 --requests-per-connection 0 --duration 1000ms --drain --answer-bytes 128",
		"H2-K": "--url http://a:1/object --connections 8 --requests-per-connection 0 --duration 1000ms --drain --http2 --streams 32 --answer-bytes 128",
		"G1":   "--url http://a:1/object --connections 8 --requests-per-connection 0 --duration 1000ms --drain --grpc --streams 16 --body-bytes 128 --answer-bytes 128",
		"WS":   "--url ws://a:1/object --connections 64 --requests-per-connection 0 --duration 1000ms --drain --body-bytes 128",
		"U1": "--url udp://a:1/object --connections 1000 --requests-per-connection 0 --duration 1000ms --drain --body-bytes 64 --timeout 1s " +
			"--source-addresses 250",
		"U1-NEW": "--url udp://a:1/object --connections 1000 --requests-per-connection 1 --duration 1000ms --drain --body-bytes 64 --timeout 1s " +
			"--source-addresses 250",
	}
	for _, w := range all {
		if flags := strings.Join(loadFlags(w, "a:1", time.Second), " "); want[w.ID] != "" && flags != want[w.ID] {
			t.Errorf("%s: %s, want %s", w.ID, flags, want[w.ID])
		}
		delete(want, w.ID)
	}
	if len(want) > 0 {
		t.Errorf("there are no such workloads: %v", want)
	}
}

func TestCostIsDividedByTransactions(t *testing.T) {
	loaded := lab.LoadReport{Requests: 1000, Seconds: 2, Bytes: 4000, TPS: 500}
	s := figures(loaded, meter.Usage{Run: 20 * time.Millisecond, User: 10, System: 30, RSSBytes: 7},
		meter.Usage{Run: time.Millisecond})
	if s.CPUus != 20 || s.Userus != 5 || s.Systemus != 15 || s.AgentCPUus != 1 ||
		s.BytesPerSecond != 2000 || s.RSSBytes != 7 {
		t.Errorf("%+v", s)
	}
	if s := figures(lab.LoadReport{}, meter.Usage{Run: 5}, meter.Usage{}); s.CPUus != 0 || s.Transactions != 0 {
		t.Errorf("of nothing: %+v", s)
	}
}

func TestAddsUpTheSystemCallsOfStrace(t *testing.T) {
	const summary = `% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.060000           3       400           sendto
 40.00    0.040000           4       200        12 recvfrom
------ ----------- ----------- --------- --------- ----------------
100.00    0.100000           3       600        12 total
`
	if each, err := callsEach(summary, 150); err != nil || each != 4 {
		t.Errorf("%v calls: %v", each, err)
	}
	if _, err := callsEach("", 150); err == nil {
		t.Error("an empty summary was taken for none")
	}
}

func TestBalancerGetsTheFirstCoresAndTheHouseTheOthers(t *testing.T) {
	r := &run{cores: []int{0, 2, 4}}
	ours, others, err := r.split(2)
	if err != nil || !slices.Equal(ours, []int{0, 2}) || !slices.Equal(others, []int{4}) {
		t.Errorf("%v, %v: %v", ours, others, err)
	}
	if _, _, err := r.split(3); err == nil || !strings.Contains(err.Error(), "--cores 3") {
		t.Errorf("no core is left: %v", err)
	}
	r.cores = []int{0}
	if ours, others, err := r.split(1); err != nil || len(ours) != 1 || len(others) != 1 {
		t.Errorf("one core: %v, %v: %v", ours, others, err)
	}
}

func TestFirstAndLastStepAreMeasuredSideBySide(t *testing.T) {
	for slice, want := range [][]int{{4, 0, 1, 2, 3}, {3, 2, 1, 0, 4}, {4, 0, 1, 2, 3}} {
		if got := sliceOrder(5, slice); !slices.Equal(got, want) {
			t.Errorf("slice %d: %v", slice, got)
		}
	}
}

func TestSlopeIsThatOfTheLineThroughTheSteps(t *testing.T) {
	if got := slope([]float64{1000, 2000, 3000}, []float64{5000, 5600, 6000}); got != 0.5 {
		t.Errorf("slope is %v", got)
	}
}
