package network

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A network has a directory for its user's files, with a lock that its owner holds. An owner that was killed holds no
// lock any more, and the next owner removes what it has left. A network that has to outlive its owner is marked as
// kept.
const (
	runDir   = "/run/weirlab"
	lockName = "lock"
	keptName = "kept"
)

// Create claims a name, after it has removed what dead owners have left.
func Create(name string) (*Network, error) {
	n := &Network{Name: name}
	err := inRegistry(func() error {
		if err := sweep(); err != nil {
			return err
		}
		if err := shareNames(); err != nil {
			return err
		}
		if err := os.Mkdir(n.Dir(), 0o711); errors.Is(err, fs.ErrExist) {
			return n.taken()
		} else if err != nil {
			return err
		}
		return n.claim()
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Open returns an existing network: one that was kept, or whose owner lives.
func Open(name string) (*Network, error) {
	if err := CheckRoot(); err != nil {
		return nil, err
	}
	n := &Network{Name: name}
	if !n.stands() {
		return nil, &NotThere{name}
	}
	return n, nil
}

// NotThere says that there is no network of this name; without a name, that there is none at all.
type NotThere struct{ Name string }

func (e *NotThere) Error() string {
	if e.Name == "" {
		return "there is no lab: `weir lab up` builds one"
	}
	return fmt.Sprintf("there is no lab %s: `weir lab up` builds one", e.Name)
}

// Standing lists the networks that were kept or whose owners live.
func Standing() ([]string, error) {
	if err := CheckRoot(); err != nil {
		return nil, err
	}
	locks, err := filepath.Glob(filepath.Join(runDir, "*", lockName))
	var names []string
	for _, lock := range locks {
		if n := (&Network{Name: filepath.Base(filepath.Dir(lock))}); n.stands() {
			names = append(names, n.Name)
		}
	}
	return names, err
}

// Kept lists the networks without an owner that stay until somebody takes them down.
func Kept() ([]string, error) {
	names, err := Standing()
	return slices.DeleteFunc(names, func(name string) bool { return !(&Network{Name: name}).kept() }), err
}

// TakeDown removes a kept network. A network whose owner lives is removed by its owner.
func TakeDown(name string) error {
	return inRegistry(func() error {
		n, err := Open(name)
		if err != nil {
			return err
		}
		if n.owned() {
			return n.taken()
		}
		return n.remove()
	})
}

// Sweep takes down what dead owners have left, and says what that was.
func Sweep() (names []string, err error) {
	err = inRegistry(func() (err error) {
		if names, err = dead(); err != nil {
			return err
		}
		return sweep()
	})
	return names, err
}

// Dir is the network's directory.
func (n *Network) Dir() string { return filepath.Join(runDir, n.Name) }

// Keep lets the network outlive this process.
func (n *Network) Keep() error {
	return errors.Join(os.WriteFile(filepath.Join(n.Dir(), keptName), nil, 0o644), n.lock.Close())
}

// Remove removes all nodes in whatever state, with all processes in them, and the directory.
func (n *Network) Remove() error { return inRegistry(n.remove) }

func (n *Network) remove() error {
	if err := n.removeNodes(); err != nil {
		return err
	}
	err := os.RemoveAll(n.Dir())
	if n.lock != nil {
		_ = n.lock.Close() // Keep may have done so
	}
	return err
}

func (n *Network) claim() (err error) {
	n.lock, err = os.OpenFile(filepath.Join(n.Dir(), lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		// waits at most for a process that looks whether the network is owned
		err = unix.Flock(int(n.lock.Fd()), unix.LOCK_EX)
	}
	if err == nil {
		_, err = fmt.Fprint(n.lock, os.Getpid())
	}
	return err
}

func (n *Network) stands() bool { return n.kept() || n.owned() }

func (n *Network) kept() bool {
	_, err := os.Stat(filepath.Join(n.Dir(), keptName))
	return err == nil
}

func (n *Network) taken() error {
	if n.kept() {
		return fmt.Errorf("lab %s stands already: `weir lab down %s` takes it down", n.Name, n.Name)
	}
	owner, _ := os.ReadFile(filepath.Join(n.Dir(), lockName))
	return fmt.Errorf("lab %s belongs to process %s, which still runs", n.Name, owner)
}

func sweep() error {
	names, err := dead()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, (&Network{Name: name}).remove())
	}
	return errors.Join(errs...)
}

// dead are the networks without an owner that are not kept, and namespaces without a directory.
func dead() ([]string, error) {
	entries, err := os.ReadDir(runDir)
	if err != nil {
		return nil, err
	}
	var known, dead []string
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		n := &Network{Name: entry.Name()}
		known = append(known, n.Name)
		if !n.stands() {
			dead = append(dead, n.Name)
		}
	}
	standing, err := names()
	for _, name := range standing {
		if !slices.Contains(known, name) {
			dead = append(dead, name)
		}
	}
	return dead, err
}

// owned tells whether somebody holds the lock. It takes the lock in shared mode, so that two processes that look do not
// take each other for the owner.
func (n *Network) owned() bool {
	lock, err := os.Open(filepath.Join(n.Dir(), lockName))
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// names lists the networks that have a namespace.
func names() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(namesDir, prefix+"*.*"))
	var names []string
	for _, path := range paths {
		network, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), ".")
		if !slices.Contains(names, network) {
			names = append(names, network)
		}
	}
	return names, err
}

// inRegistry calls do as root while no other process claims or removes a network.
func inRegistry(do func() error) error {
	if err := CheckRoot(); err != nil {
		return err
	}
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(runDir, ".registry"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	return do()
}
