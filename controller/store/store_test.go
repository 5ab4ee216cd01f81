package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/weir-lb/weir/controller/schema"
	_ "github.com/weir-lb/weir/controller/schema/kinds" // whose references lead to referrers
)

// plain seals nothing but the purpose, so that a value in the wrong place is noticed.
type plain struct{}

func (plain) Seal(value []byte, purpose string) []byte { return append([]byte(purpose+"\n"), value...) }

func (plain) Open(sealed []byte, purpose string) ([]byte, error) {
	value, ok := strings.CutPrefix(string(sealed), purpose+"\n")
	if !ok {
		return nil, errors.New("sealed for another purpose")
	}
	return []byte(value), nil
}

func config(dir string) Config {
	sealer := func() (Sealer, error) { return plain{}, nil }
	return Config{Dir: dir, Sealer: sealer, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func pool(name string) *Record {
	return &Record{Kind: "pool", UUID: "pool-" + name, Tenant: "admin", Name: name, Object: schema.Object{"name": name}}
}

func put(t *testing.T, s *Store, records ...*Record) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *Tx) error {
		for _, record := range records {
			tx.Put(record)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReopenedStoreHasAllThatWasWritten(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	record := pool("a")
	record.Object["ratio"], record.Object["count"] = 4.0, int64(4)
	put(t, first, record, pool("b"))
	if err := first.Update(t.Context(), func(tx *Tx) error { tx.Delete("pool", "pool-b"); return nil }); err != nil {
		t.Fatal(err)
	}
	before, _ := first.View().Get("pool", "pool-a")
	first.Close()

	second := open(t, dir)
	after, ok := second.View().Get("pool", "pool-a")
	if !ok || after.Name != "a" || after.Tenant != "admin" || after.Modified != before.Modified ||
		after.Revision != before.Revision {
		t.Errorf("after reopening: %+v, before: %+v", after, before)
	}
	if after.Object["ratio"] != 4.0 || after.Object["count"] != int64(4) {
		t.Errorf("numbers changed their types: %#v", after.Object)
	}
	if n := len(second.View().List("pool")); n != 1 {
		t.Errorf("%d pools after reopening, want 1", n)
	}
	if second.View().Revision() != first.View().Revision() {
		t.Errorf("revision %d after reopening, %d before", second.View().Revision(), first.View().Revision())
	}
}

func TestFiftyParallelWritersLoseNoUpdate(t *testing.T) {
	s := open(t, t.TempDir())
	counter := pool("counter")
	counter.Object["count"] = int64(0)
	put(t, s, counter)
	const writers, each = 50, 4
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				if err := s.Update(t.Context(), increment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	record, _ := s.View().Get("pool", "pool-counter")
	if record.Object["count"] != int64(writers*each) {
		t.Errorf("counted %v of %d increments", record.Object["count"], writers*each)
	}
}

func increment(tx *Tx) error {
	stored, _ := tx.View().Get("pool", "pool-counter")
	next := *stored
	next.Object = schema.Clone(stored.Object)
	next.Object["count"] = stored.Object["count"].(int64) + 1
	tx.Put(&next)
	return nil
}

func TestUpdateRunsAgainAfterAnotherProcessWrote(t *testing.T) {
	s := open(t, t.TempDir())
	counter := pool("counter")
	counter.Object["count"] = int64(0)
	put(t, s, counter)
	runs := 0
	err := s.Update(t.Context(), func(tx *Tx) error {
		if runs++; runs == 1 {
			interfere(t, s)
		}
		return increment(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	record, _ := s.View().Get("pool", "pool-counter")
	if runs != 2 || record.Object["count"] != int64(101) {
		t.Errorf("decided %d times, count %v; want 2 times and 101", runs, record.Object["count"])
	}
}

// interfere writes as another member of the cluster would.
func interfere(t *testing.T, s *Store) {
	other := pool("counter")
	other.Object["count"] = int64(100)
	value, err := s.encode(other)
	if err != nil {
		t.Fatal(err)
	}
	key := objectKey("pool", "pool-counter")
	_, err = s.client.Txn(t.Context()).Then(clientv3.OpPut(key, string(value)), clientv3.OpPut(headKey, "")).Commit()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDecidedUpdateIsWrittenWhenItsClientLeaves(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, leave := context.WithCancel(t.Context())
	err := s.Update(ctx, func(tx *Tx) error {
		tx.Put(pool("a"))
		leave()
		return nil
	})
	if _, written := s.View().Get("pool", "pool-a"); err != nil || !written {
		t.Errorf("written %v, and the answer is %v", written, err)
	}
	err = s.Update(ctx, func(tx *Tx) error { tx.Put(pool("b")); return nil })
	if _, written := s.View().Get("pool", "pool-b"); !errors.Is(err, context.Canceled) || written {
		t.Errorf("of a client that had left before: written %v, %v", written, err)
	}
}

func TestRefusedUpdateWritesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	refused := errors.New("no")
	err := s.Update(t.Context(), func(tx *Tx) error {
		tx.Put(pool("a"))
		if _, ok := tx.View().Get("pool", "pool-a"); !ok {
			t.Error("an update does not see its own write")
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("got %v, want the refusal", err)
	}
	if n := len(s.View().List("pool")); n != 0 {
		t.Errorf("%d pools were written", n)
	}
}

func TestLastWriteOfOneKeyInAnUpdateWins(t *testing.T) {
	s := open(t, t.TempDir())
	err := s.Update(t.Context(), func(tx *Tx) error {
		tx.Put(pool("a"))
		tx.Delete("pool", "pool-a")
		tx.Put(pool("b"))
		second := pool("b")
		second.Name = "renamed"
		tx.Put(second)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.View().ByName("pool", "admin", "b"); ok || len(s.View().List("pool")) != 1 {
		t.Errorf("pools: %v", s.View().List("pool"))
	}
	if _, ok := s.View().ByName("pool", "admin", "renamed"); !ok {
		t.Error("the last write was lost")
	}
}

func TestModifiedNeverRepeatsWhenTheClockStandsStillOrJumpsBack(t *testing.T) {
	now := time.UnixMicro(1_000_000)
	c := config(t.TempDir())
	c.Now = func() time.Time { return now }
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	last := int64(0)
	for _, at := range []int64{1_000_000, 1_000_000, 400, 2_000_000} {
		now = time.UnixMicro(at)
		put(t, s, pool("a"))
		record, _ := s.View().Get("pool", "pool-a")
		if record.Modified <= last {
			t.Errorf("modified %d after %d", record.Modified, last)
		}
		last = record.Modified
	}
}

func TestModifiedGoesUpThoughTheClockWasSetBackBetweenTwoRuns(t *testing.T) {
	last, c := int64(0), config(t.TempDir())
	for _, at := range []int64{2_000_000, 1_000_000} {
		c.Now = func() time.Time { return time.UnixMicro(at) }
		s, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, pool("a"))
		record, _ := s.View().Get("pool", "pool-a")
		if record.Modified <= last {
			t.Errorf("modified %d after %d", record.Modified, last)
		}
		last = record.Modified
		s.Close()
	}
}

func TestChangesSkipsViewsButNeverTheNewest(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	changes := s.Changes(ctx)
	for i := range 20 {
		put(t, s, pool(fmt.Sprint("p", i)))
	}
	want := s.View().Revision()
	for view := range changes {
		if view.Revision() == want {
			break
		}
	}
	cancel()
	for range changes { // ends when ctx does
	}
}

func TestViewHandedOutNeverChanges(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, pool("a"))
	before := s.View()
	put(t, s, pool("b"))
	if n := len(before.List("pool")); n != 1 {
		t.Errorf("an old view now lists %d pools", n)
	}
}

func TestReferrersAreThoseThatPointToAnObject(t *testing.T) {
	s := open(t, t.TempDir())
	vs := &Record{Kind: "virtualservice", UUID: "virtualservice-1", Tenant: "admin", Name: "vs",
		Object: schema.Object{"name": "vs", "pool_ref": "/api/pool/pool-a"}}
	put(t, s, pool("a"), pool("b"), vs)
	if found := slices.Collect(s.View().Referrers("pool", "pool-a")); len(found) != 1 || found[0].Name != "vs" {
		t.Errorf("referrers of a: %v", found)
	}
	if found := slices.Collect(s.View().Referrers("pool", "pool-b")); len(found) != 0 {
		t.Errorf("referrers of b: %v", found)
	}
}

func TestObjectIsFoundByTheKeysOfTheIndexWhileItHasThem(t *testing.T) {
	c := config(t.TempDir())
	c.Index = func(record *Record) []string { return []string{"color " + fmt.Sprint(record.Object["color"])} }
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	colored := func(name, color string) *Record {
		record := pool(name)
		record.Object["color"] = color
		return record
	}
	names := func(color string) (found []string) {
		for record := range s.View().Indexed("color " + color) {
			found = append(found, record.Name)
		}
		return found
	}
	put(t, s, colored("b", "red"), colored("a", "red"), colored("c", "redder"))
	if found := names("red"); !slices.Equal(found, []string{"a", "b"}) {
		t.Errorf("red are %v", found)
	}
	put(t, s, colored("a", "blue"))
	if red, blue := names("red"), names("blue"); !slices.Equal(red, []string{"b"}) ||
		!slices.Equal(blue, []string{"a"}) {
		t.Errorf("red are %v, blue are %v", red, blue)
	}
}

func TestUpdatesThatWaitAreWrittenTogetherAndFailAlone(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, pool("first"))
	release, outcomes := make(chan struct{}), make(chan error, 12)
	update := func(decide func(tx *Tx) error) {
		go func() {
			defer func() {
				if panicked := recover(); panicked != nil {
					outcomes <- fmt.Errorf("panic: %v", panicked)
				}
			}()
			outcomes <- s.Update(t.Context(), decide)
		}()
	}
	update(func(tx *Tx) error { <-release; tx.Put(pool("slow")); return nil })
	untilWriting(t, s)
	before := s.View().Revision()
	for i := range 9 {
		update(func(tx *Tx) error {
			if _, there := tx.View().Get("pool", "pool-slow"); !there {
				return errors.New("the one before is not seen")
			}
			tx.Put(pool(fmt.Sprint(i)))
			return nil
		})
	}
	update(func(tx *Tx) error { tx.Put(pool("refused")); return errors.New("refused") })
	update(func(tx *Tx) error { tx.Put(pool("broken")); panic("broken") })
	untilWaiting(t, s, 11)
	close(release)
	var failed []string
	for range 12 {
		if err := <-outcomes; err != nil {
			what, _, _ := strings.Cut(err.Error(), "\n")
			failed = append(failed, what)
		}
	}
	if slices.Sort(failed); !slices.Equal(failed, []string{"panic: broken", "refused"}) {
		t.Errorf("failed: %q", failed)
	}
	if pools := s.View().Count("pool"); pools != 11 {
		t.Errorf("there are %d pools", pools)
	}
	if commits := s.View().Revision() - before; commits != 2 {
		t.Errorf("12 updates took %d commits", commits)
	}
}

// untilWriting waits until an Update has begun to decide.
func untilWriting(t *testing.T, s *Store) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); s.writing.TryLock(); time.Sleep(time.Millisecond) {
		if s.writing.Unlock(); time.Now().After(deadline) {
			t.Fatal("nobody writes")
		}
	}
	untilWaiting(t, s, 0)
}

func untilWaiting(t *testing.T, s *Store, count int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		s.waiting.Lock()
		waiting := len(s.waiting.all)
		s.waiting.Unlock()
		if waiting == count {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d updates wait", waiting)
		}
	}
}

func TestDirectoryInUseIsOneClearLine(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := Open(t.Context(), config(dir))
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestUnusableDirectoryIsOneClearLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), config(filepath.Join(file, "data")))
	if !errors.Is(err, ErrPermission) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestFullDiskRefusesWritesAndKeepsReads(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, pool("a"))
	s.disk.free = func(string) (uint64, error) { return reserveBytes - 1, nil }
	err := s.Update(t.Context(), func(tx *Tx) error { tx.Put(pool("b")); return nil })
	if !errors.Is(err, ErrDiskFull) {
		t.Errorf("got %v", err)
	}
	if _, ok := s.View().Get("pool", "pool-a"); !ok {
		t.Error("what was written before cannot be read")
	}
	if err := s.Vault("v").Put(t.Context(), "k", nil); !errors.Is(err, ErrDiskFull) {
		t.Errorf("the vault answers %v", err)
	}
}

// Damage takes a process of its own: what is left of an etcd that gave up still writes until its process ends.
func TestDamagedFilesAreOneClearLine(t *testing.T) {
	if dir := os.Getenv("WEIR_TEST_DAMAGED"); dir != "" {
		_, err := Open(t.Context(), config(dir))
		fmt.Printf("corrupt: %v\n%v\n", errors.Is(err, ErrCorrupt), err)
		os.Exit(0)
	}
	for _, damaged := range []string{"member/snap/db", "member/wal/*.wal"} {
		t.Run(damaged, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(t.Context(), config(dir))
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, pool("a"))
			s.Close()
			files, err := filepath.Glob(filepath.Join(dir, damaged))
			if err != nil || len(files) == 0 {
				t.Fatalf("no %s to damage: %v", damaged, err)
			}
			overwrite(t, files[0])
			reopen := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestDamagedFilesAreOneClearLine$")
			reopen.Env = append(os.Environ(), "WEIR_TEST_DAMAGED="+dir)
			said, err := reopen.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			lines := strings.Split(strings.TrimSpace(string(said)), "\n")
			if len(lines) != 2 || lines[0] != "corrupt: true" || !strings.Contains(lines[1], "restore a backup") {
				t.Errorf("got %s", said)
			}
		})
	}
}

func overwrite(t *testing.T, path string) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body[:min(len(body), 16<<10)] {
		body[i] ^= 0x5a
	}
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestObjectSealedWithAnotherKeyIsNamed(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, pool("a"))
	if _, err := s.client.Put(t.Context(), objectKey("pool", "pool-x"), "sealed for something else"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	_, err = Open(t.Context(), config(dir))
	if err == nil || !strings.Contains(err.Error(), "pool pool-x") {
		t.Errorf("got %v, want the object named", err)
	}
}

func TestTooManyObjectsInOneUpdateAreRefused(t *testing.T) {
	s := open(t, t.TempDir())
	err := s.Update(t.Context(), func(tx *Tx) error {
		for i := range maxTxnOps {
			tx.changes = append(tx.changes, change{"pool", fmt.Sprint(i), pool(fmt.Sprint(i))})
		}
		return nil
	})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestTooManyBytesInOneUpdateAreRefused(t *testing.T) {
	s := open(t, t.TempDir())
	err := s.Update(t.Context(), func(tx *Tx) error {
		big := pool("big")
		big.Object["description"] = strings.Repeat("x", maxRequestBytes)
		tx.Put(big)
		return nil
	})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestDatabaseThatGivesUpIsReportedAndHoldsNobodyUp(t *testing.T) {
	s, err := Open(t.Context(), config(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	cause := fmt.Errorf("write member/snap/db: %w", syscall.ENOSPC)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.member.logger(s.log).Fatal("failed to commit tx", zap.Error(cause))
		t.Error("the goroutine that gave up goes on")
	}()
	<-ended
	if err := <-s.Failed(); !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "failed to commit tx") {
		t.Errorf("got %v", err)
	}
	s.Close()
}

func TestClosedStoreRefusesWrites(t *testing.T) {
	s, err := Open(t.Context(), config(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := s.Update(t.Context(), func(tx *Tx) error { tx.Put(pool("a")); return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}
