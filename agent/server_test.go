package agent

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/dataplane"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/spool"
	"github.com/weir-lb/weir/agent/state"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// kernel is a server without a data plane, as one is whose Plans the kernel serves.
type kernel struct {
	dataplane.Observer
	asked chan *plan.Plan
	beat  time.Duration
}

func (k *kernel) Apply(plan *plan.Plan)    { k.asked <- plan }
func (k *kernel) StateChanged(plan.Member) {}
func (k *kernel) LetGo()                   {}

func (k *kernel) Share(*dataplanev1.KeyShares) {}

func (k *kernel) Ask(question *dataplanev1.Question) bool {
	k.Explained(&dataplanev1.Explanation{Id: question.GetId()})
	return true
}

func (k *kernel) Run(ctx context.Context) {
	beats := time.NewTicker(k.beat)
	defer beats.Stop()
	for {
		select {
		case plan := <-k.asked:
			k.Changed(dataplane.Status{State: dataplane.Running, ServingRevision: plan.Revision})
			k.Applied(plan, nil)
		case <-beats.C:
			k.Sampled(dataplane.Sample{Wire: new(dataplanev1.Sample)})
		case <-ctx.Done():
			return
		}
	}
}

// lines is a log whose lines can be waited for.
type lines struct {
	slog.Handler
	said chan string
}

func (l lines) Enabled(context.Context, slog.Level) bool { return true }

func (l lines) Handle(_ context.Context, line slog.Record) error {
	l.said <- line.Message
	return nil
}

// until waits for a line.
func (l lines) until(t *testing.T, want string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line := <-l.said:
			if line == want {
				return
			}
		case <-limit:
			t.Fatalf("never said %q", want)
		}
	}
}

// elsewhere runs a test in a process with a network of its own, and tells whether this is that process. Needs root.
func elsewhere(t *testing.T) bool {
	t.Helper()
	const mark = "WEIR_TEST_ELSEWHERE"
	if os.Getenv(mark) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	test := exec.Command(program(t), "-test.run=^"+t.Name()+"$")
	test.Env = append(os.Environ(), mark+"=1")
	test.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if out, err := test.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// It has its last Plan, no controller, and only the kernel to serve with.
func TestEngineWithoutADataPlaneAnnouncesAndKeepsWhatItServes(t *testing.T) {
	if !elsewhere(t) {
		return
	}
	dir, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	kept, findings := plan.Read(&enginev1.Plan{Revision: 7, Resources: []*enginev1.Resource{
		{Uuid: "vs-1",
			Body: &enginev1.Resource_VirtualService{VirtualService: &dataplanev1.VirtualService{Uuid: "vs-1"}}},
		{Uuid: "vs-1/routes", Body: &enginev1.Resource_Advertisement{Advertisement: &enginev1.Advertisement{
			VirtualServiceUuid: "vs-1", Routes: []*enginev1.Route{{Address: "192.0.2.1"}},
		}}},
	}})
	if findings != nil {
		t.Fatal(findings)
	}
	log := lines{slog.DiscardHandler, make(chan string, 1000)}
	config := Config{Controller: "192.0.2.9:9444", Log: slog.New(log)}
	serve := func(o dataplane.Observer, _ dataplane.States, _ dataplane.Segments) server {
		return &kernel{o, make(chan *plan.Plan, 1), 10 * time.Millisecond}
	}
	records, err := spool.Open(spool.Config{Dir: dir.File(recordsName), DiskBytes: 1 << 20, Log: config.Log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- newAgent(config, dir, serve, nil, nil, kept, records).run(ctx) }()
	log.until(t, "a Plan serves")
	log.until(t, "announcing a route")
	end()
	log.until(t, "withdrawing a route")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if plan, err := dir.Plan(); err != nil || plan.GetRevision() != 7 {
		t.Errorf("kept %v, %v", plan, err)
	}
}
