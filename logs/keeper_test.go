package logs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptrace"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/store"
	"github.com/weir-lb/weir/logs/wire"
)

// reserveVariable is the space that a store of a test keeps free, in MiB.
const reserveVariable = "WEIR_TEST_RESERVE_MIB"

// TestMain is also the process of the store, if it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "records" {
		if err := records(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func records(arguments []string) error {
	flags := flag.NewFlagSet("records", flag.ContinueOnError)
	dir, days := flags.String("dir", "", ""), flags.Int("days", 1, "")
	disk, memory := flags.Int64("disk-mib", 1, ""), flags.Int64("memory-mib", 1, "")
	requestDays, requestDisk := flags.Int("request-days", 1, ""), flags.Int64("request-disk-mib", 1, "")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	reserve, _ := strconv.ParseUint(os.Getenv(reserveVariable), 10, 32)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return store.Run(ctx, store.Config{
		Dir: *dir, Retention: time.Duration(*days) * 24 * time.Hour, DiskBytes: *disk << 20,
		Requests: store.Budget{Retention: time.Duration(*requestDays) * 24 * time.Hour,
			DiskBytes: *requestDisk << 20},
		ReserveBytes: reserve << 20, Now: time.Now, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, *memory<<20, os.Stdin)
}

const patience = 2 * time.Minute

// rig is a keeper that runs.
type rig struct {
	*testing.T
	config logs.Config
	keeper *logs.Keeper
	client *logs.Client
	stop   func()

	mu   sync.Mutex
	told []string
}

func newRig(t *testing.T, dir string) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, config: logs.Config{Program: self, Dir: dir, Days: 30, DiskMiB: 512, RequestDays: 7,
		RequestDiskMiB: 512, MemoryMiB: 128, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}
	r.config.Told = func(id, message string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, id+": "+message)
	}
	return r
}

func (r *rig) start() {
	r.make()
	r.run()
}

// make makes a keeper that takes rows, and starts no store yet.
func (r *rig) make() { r.keeper, r.client = logs.NewKeeper(r.config), logs.NewClient(r.config.Dir) }

func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.keeper.Run(ctx) }()
	r.stop = sync.OnceFunc(func() { cancel(); <-ended })
	r.Cleanup(r.stop)
}

func (r *rig) eventually(what string, holds func() error) {
	r.Helper()
	deadline := time.Now().Add(patience)
	for err := holds(); err != nil; err = holds() {
		if time.Now().After(deadline) {
			r.Fatalf("%s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// pid waits for a store that answers, other than a certain one.
func (r *rig) pid(other int) (pid int) {
	r.Helper()
	r.eventually("a store answers", func() error {
		state, err := r.client.State(r.Context())
		if err == nil && state.PID == other {
			err = errors.New("it is the one before")
		}
		pid = state.PID
		return err
	})
	return pid
}

func row(name string) wire.Row {
	return wire.Row{Time: time.Now(), Type: query.Events, Scope: wire.Everyone,
		Fields: []wire.Field{{Name: "event_id", Value: name}}}
}

func everything() query.Query {
	return query.Query{Type: query.Events, Scope: query.Scope{All: true}, From: time.Now().Add(-24 * time.Hour),
		To: time.Now().Add(time.Hour), Rows: &query.Rows{Limit: 5000, Count: true}, Timeout: time.Minute}
}

// stored waits for the store, and returns how often each row is there.
func (r *rig) stored() map[string]int {
	r.Helper()
	times := map[string]int{}
	r.eventually("the store answers", func() error {
		clear(times)
		q := everything()
		for {
			answer, err := r.keeper.Ask(r.Context(), q)
			if err != nil {
				return err
			}
			for _, row := range answer.Rows {
				times[row.Fields["event_id"]]++
			}
			if q.Rows.Offset += len(answer.Rows); uint64(q.Rows.Offset) >= answer.Count || len(answer.Rows) == 0 {
				return nil
			}
		}
	})
	return times
}

func (r *rig) wantOnce(names []string) {
	r.Helper()
	times := r.stored()
	wrong := 0
	for _, name := range names {
		if times[name] != 1 {
			if wrong++; wrong <= 5 {
				r.Errorf("row %s is stored %d times", name, times[name])
			}
		}
		delete(times, name)
	}
	if wrong > 0 || len(times) > 0 {
		r.Errorf("%d of %d rows are not stored once; %d others are stored", wrong, len(names), len(times))
	}
}

// The store is killed while it takes rows: each acknowledged row is there afterwards, and none twice.
func TestAKilledStoreHasEachAcknowledgedRowOnce(t *testing.T) {
	r := newRig(t, t.TempDir())
	r.start()
	pid := r.pid(0)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for n := range 4 {
			time.Sleep(time.Duration(300+400*n) * time.Millisecond) // before the storage writes its rows, amid, after
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			pid = r.pid(pid)
		}
	}()
	var names []string
	origin := wire.Origin{Source: "test", Epoch: 1}
	for n, ending := 0, false; !ending; {
		select {
		case <-killed:
			ending = true // one more batch
		default:
		}
		var rows []wire.Row
		for range 20 {
			rows = append(rows, row(fmt.Sprint("direct ", n)))
			names = append(names, fmt.Sprint("direct ", n))
			r.keeper.Add(row(fmt.Sprint("kept ", n)))
			names = append(names, fmt.Sprint("kept ", n))
			n++
		}
		origin.Sequence++
		r.eventually("a batch is acknowledged", func() error {
			_, err := r.client.Add(r.Context(), origin, rows)
			return err
		})
		time.Sleep(5 * time.Millisecond) // some thousand rows are enough
	}
	r.wantOnce(names)
	r.stop()
	r.start()
	r.wantOnce(names)
	if status := r.keeper.Status(); status.Lost+status.Refused != 0 {
		t.Errorf("%+v", status)
	}
	t.Logf("%d rows", len(names))
}

// Whoever kills the controller leaves the store without a parent: it writes what it has, and ends.
func TestStoreEndsWithItsParentAndKeepsItsRows(t *testing.T) {
	r := newRig(t, t.TempDir())
	command := exec.Command(r.config.Program, "records", "--dir", r.config.Dir, "--memory-mib", "128",
		"--disk-mib", "512")
	leash, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	r.client = logs.NewClient(r.config.Dir)
	r.pid(0)
	if _, err := r.client.Add(t.Context(), wire.Origin{Source: "test", Epoch: 1, Sequence: 1},
		[]wire.Row{row("one")}); err != nil {
		t.Fatal(err)
	}
	leash.Close()
	if err := command.Wait(); err != nil {
		t.Errorf("the store ended with %v", err)
	}
	left, err := filepath.Glob(filepath.Join(r.config.Dir, "journal", "*.journal"))
	if err != nil || len(left) > 0 {
		t.Errorf("after an orderly end, the journal has %v, %v", left, err)
	}
	r.start()
	r.wantOnce([]string{"one"})
}

func TestDeletesRowsByACondition(t *testing.T) {
	r := newRig(t, t.TempDir())
	r.start()
	for _, name := range []string{"one", "two", "three"} {
		r.keeper.Add(row(name))
	}
	r.wantOnce([]string{"one", "two", "three"})
	q := everything()
	if err := r.client.Delete(t.Context(), q); err == nil {
		t.Error("all rows were deleted without a condition")
	}
	q.Where = query.All(query.Compare("event_id", query.StartsWith, "t"))
	if err := r.client.Delete(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	r.wantOnce([]string{"one"})
}

func TestWithoutAStoreLogsAreAwayAndRowsWait(t *testing.T) {
	r := newRig(t, t.TempDir())
	program := r.config.Program
	r.config.Program = filepath.Join(t.TempDir(), "missing")
	r.start()
	r.keeper.Add(row("early"))
	r.eventually("it is known why", func() error {
		_, err := r.keeper.Ask(t.Context(), everything())
		if away := (*logs.Unavailable)(nil); !errors.As(err, &away) || !strings.Contains(err.Error(), "no such file") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	const most = 20_000
	for n := range most + 10 {
		r.keeper.Add(row(fmt.Sprint(n)))
	}
	if status := r.keeper.Status(); status.Waiting != most || status.Lost != 11 || status.Away == "" {
		t.Errorf("got %+v", status)
	}
	r.stop()
	r.config.Program = program
	r.make()
	for n := range most + 10 {
		r.keeper.Add(row(fmt.Sprint(n)))
	}
	r.run()
	r.eventually("it is told what is missing", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.ContainsFunc(r.told, func(told string) bool {
			return strings.HasPrefix(told, "RECORDS_LOST: 10 ")
		}) {
			return fmt.Errorf("told was %q", r.told)
		}
		return nil
	})
}

func TestReplacesAStoreThatIsStuck(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 20 s to see that a process is stuck")
	}
	r := newRig(t, t.TempDir())
	r.start()
	pid := r.pid(0)
	r.keeper.Add(row("before"))
	r.wantOnce([]string{"before"})
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := r.keeper.Ask(limited, everything()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("asked a stopped store: %v", err)
	}
	r.keeper.Add(row("after"))
	r.pid(pid)
	r.wantOnce([]string{"before", "after"})
}

func TestLimitsTheQueriesAtOnce(t *testing.T) {
	r := newRig(t, t.TempDir())
	r.start()
	pid := r.pid(0)
	for range 5 {
		r.keeper.Add(row("x"))
	}
	r.stored()
	// A stopped store takes connections and answers none, until it runs again. Then all queries arrive at once.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	const asked = 200
	answers := make(chan error, asked)
	var waiting sync.WaitGroup
	waiting.Add(asked)
	sent := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { waiting.Done() }}
	for range asked {
		go func() {
			_, err := r.client.Ask(httptrace.WithClientTrace(r.Context(), sent), everything())
			answers <- err
		}()
	}
	waiting.Wait()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	good, busy := 0, 0
	for range asked {
		switch err := <-answers; {
		case err == nil:
			good++
		case errors.Is(err, logs.ErrBusy):
			busy++
		default:
			t.Error(err)
		}
	}
	if good == 0 || busy == 0 {
		t.Errorf("of %d queries at once, %d were answered and %d refused", asked, good, busy)
	}
}

// A disk that is full takes no rows. The store goes on answering, or comes back, and has each acknowledged row once.
func TestFullDiskTakesLogsAwayAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("a small disk needs root: %v", err)
	}
	t.Setenv(reserveVariable, "24")
	r := newRig(t, dir)
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	r.start()
	r.pid(0)
	var names []string
	filler := strings.Repeat("é", 4000)
	origin := wire.Origin{Source: "test", Epoch: 1}
	add := func(count int) error {
		var rows []wire.Row
		var batch []string
		for n := range count {
			name := fmt.Sprint(origin.Sequence, " ", n)
			batch = append(batch, name)
			full := row(name)
			full.Fields = append(full.Fields, wire.Field{Name: "event_description", Value: filler})
			rows = append(rows, full)
		}
		_, err := r.client.Add(r.Context(), wire.Origin{Source: origin.Source, Epoch: 1, Sequence: origin.Sequence + 1},
			rows)
		if err == nil {
			names = append(names, batch...)
			origin.Sequence++
		}
		return err
	}
	r.eventually("the store says that its disk is full", func() error {
		for range 200 {
			if err := add(50); err != nil {
				if errors.Is(err, logs.ErrNoSpace) {
					return nil
				}
				return err
			}
		}
		return errors.New("it takes more")
	})
	r.eventually("the keeper knows", func() error {
		if r.keeper.Status().Full == "" {
			return fmt.Errorf("%+v", r.keeper.Status())
		}
		return nil
	})
	if got := len(r.stored()); got != len(names) {
		t.Errorf("a full store lists %d rows of %d", got, len(names))
	}
	// Now others take the last of the space, also what the store keeps for itself.
	rest, err := os.Create(filepath.Join(dir, "others"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(rest, io.LimitReader(zeros{}, 1<<30))
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk took everything: %v", err)
	}
	rest.Close()
	if err := add(1); err == nil {
		t.Error("a disk without any space took a row")
	}
	r.keeper.Add(row("waits"))
	if err := os.Remove(rest.Name()); err != nil {
		t.Fatal(err)
	}
	// The reserve is gone for good until days end; a smaller one lets rows in again.
	r.stop()
	t.Setenv(reserveVariable, "1")
	r.start()
	r.keeper.Add(row("later"))
	r.eventually("rows are stored again", func() error { return add(1) })
	r.wantOnceExcept("waits", append(names, "later"))
}

// wantOnceExcept is wantOnce; one more row may be there.
func (r *rig) wantOnceExcept(more string, names []string) {
	r.Helper()
	if r.stored()[more] > 0 {
		names = append(names, more)
	}
	r.wantOnce(names)
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}
