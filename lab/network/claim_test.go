package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/lab/topology"
)

// asVictim makes this program one that is killed while it builds a network: see TestWhatADeadOwnerLeft….
const asVictim = "WEIR_NETWORK_VICTIM"

func TestMain(m *testing.M) {
	if name := os.Getenv(asVictim); name != "" {
		fmt.Println(buildAndDie(name))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func buildAndDie(name string) error {
	n, err := Create(name)
	if err != nil {
		return err
	}
	space, err := n.Attach(topology.Node{Name: "engine-1"})
	if err != nil {
		return err
	}
	if err := space.Start(exec.Command("sleep", "1000")); err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Kill()
}

func TestWhatADeadOwnerLeftIsTakenDownByTheNext(t *testing.T) {
	next, _ := build(t, "next")
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), asVictim+"="+next.Name+"-victim")
	if out, err := victim.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	left := &Network{Name: next.Name + "-victim"}
	if _, err := Sweep(); err != nil { // another test may have been quicker: what counts is that nothing is left
		t.Fatal(err)
	}
	if spaces, err := left.Namespaces(); err != nil || len(spaces) > 0 {
		t.Errorf("left are %v, %v", spaces, err)
	}
	if _, err := os.Stat(left.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", left.Dir(), err)
	}
	if spaces, err := next.Namespaces(); err != nil || len(spaces) == 0 {
		t.Errorf("the network of the living was taken down too: %v", err)
	}
}

func TestAKeptNetworkOutlivesItsOwnerUntilSomebodyTakesItDown(t *testing.T) {
	n, _ := build(t, "kept")
	if err := n.Keep(); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(); err != nil {
		t.Fatal(err)
	}
	found, err := Open(n.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []func() ([]string, error){Standing, Kept} {
		if names, err := list(); err != nil || !slices.Contains(names, n.Name) {
			t.Errorf("there are %v, %v", names, err)
		}
	}
	if _, err := Create(n.Name); err == nil || !strings.Contains(err.Error(), "stands already") {
		t.Errorf("a second one: %v", err)
	}
	if err := TakeDown(found.Name); err != nil {
		t.Fatal(err)
	}
	var missing *NotThere
	if _, err := Open(n.Name); !errors.As(err, &missing) {
		t.Errorf("after it was taken down: %v", err)
	}
}

func TestTwoDoNotOwnOneNetwork(t *testing.T) {
	n, _ := build(t, "owned")
	want := fmt.Sprintf("lab %s belongs to process %d, which still runs", n.Name, os.Getpid())
	if _, err := Create(n.Name); err == nil || err.Error() != want {
		t.Errorf("a second one: got %v, want %s", err, want)
	}
	if err := TakeDown(n.Name); err == nil || err.Error() != want {
		t.Errorf("taken down by another: got %v, want %s", err, want)
	}
	if _, err := Open(n.Name); err != nil {
		t.Errorf("looked at by another: %v", err)
	}
	if names, err := Kept(); err != nil || slices.Contains(names, n.Name) {
		t.Errorf("kept are %v, %v: it is its owner's to take down", names, err)
	}
}

func TestWhoLooksIsNotTakenForTheOwner(t *testing.T) {
	n, _ := build(t, "looked-at")
	if err := n.Keep(); err != nil {
		t.Fatal(err)
	}
	looking, err := os.Open(filepath.Join(n.Dir(), lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer looking.Close()
	if err := unix.Flock(int(looking.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if n.owned() {
		t.Error("it is owned by who only looks whether it is")
	}
	if err := TakeDown(n.Name); err != nil {
		t.Error(err)
	}
}
