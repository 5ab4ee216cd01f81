package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Namespace is one node of an existing network.
type Namespace struct {
	Node string
	path string
}

// namesDir is where `ip netns` looks, too: `ip netns exec weirlab.seed.router ip route` works.
const namesDir = "/run/netns"

// shareNames makes the directory of names a mount, as the first `ip netns add` on a machine does. If that happened
// later, our names would be hidden below the mount, and could not be removed.
func shareNames() error {
	if err := os.MkdirAll(namesDir, 0o755); err != nil {
		return err
	}
	share := func() error { return unix.Mount("", namesDir, "none", unix.MS_SHARED|unix.MS_REC, "") }
	err := share()
	if errors.Is(err, unix.EINVAL) { // it is none yet
		err = errors.Join(unix.Mount(namesDir, namesDir, "none", unix.MS_BIND|unix.MS_REC, ""), share())
	}
	if err != nil {
		return fmt.Errorf("mount %s: %w", namesDir, err)
	}
	return nil
}

// make gives the namespace its kernel object and its name.
func (s *Namespace) make() error {
	return awayFromHome(func() error {
		made, err := netns.NewNamed(filepath.Base(s.path)) // and enters it
		if err == nil {
			err = made.Close()
		}
		return err
	})
}

// remove removes the links and the name. The namespace itself ends when nobody has a socket in it any more.
func (s *Namespace) remove() error {
	if k, err := open(s); err == nil { // what a crash has left may be no namespace
		err = k.deleteLinks()
		k.close()
		if err != nil {
			return fmt.Errorf("unlink namespace %s: %w", s.Node, err)
		}
	}
	err := netns.DeleteNamed(filepath.Base(s.path))
	if err != nil {
		err = os.Remove(s.path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Run calls do on a thread inside the namespace. Processes and sockets that do starts or opens stay in the namespace.
func (s *Namespace) Run(do func() error) error {
	there, err := netns.GetFromPath(s.path)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", s.Node, err)
	}
	defer there.Close()
	return awayFromHome(func() error {
		if err := netns.Set(there); err != nil {
			return fmt.Errorf("enter namespace %s: %w", s.Node, err)
		}
		return do()
	})
}

// awayFromHome calls do, which may move its thread into another namespace, and brings the thread back.
func awayFromHome(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() == os.Getpid() {
		// Other processes take the namespace of a process's first thread for that of the process. So the first thread
		// stays, and with it this goroutine.
		done := make(chan error)
		go func() { done <- awayFromHome(do) }()
		return <-done
	}
	home, err := netns.Get()
	if err != nil {
		return err
	}
	defer home.Close()
	err = do()
	if back := netns.Set(home); back != nil {
		panic(fmt.Sprintf("no way back from a namespace: %v", back)) // this thread would work in the wrong network
	}
	return err
}

// Start starts a command in the namespace.
func (s *Namespace) Start(command *exec.Cmd) error { return s.Run(command.Start) }

// Dial connects from inside the namespace. The address is an IP address and a port, because a namespace has no
// resolver.
func (s *Namespace) Dial(ctx context.Context, network, address string) (connection net.Conn, err error) {
	err = s.Run(func() (err error) {
		connection, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return connection, err
}

// Stay moves the calling thread into the namespace for good. It is for a process that is about to execute another
// program.
func (s *Namespace) Stay() error {
	runtime.LockOSThread()
	there, err := netns.GetFromPath(s.path)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", s.Node, err)
	}
	return netns.Set(there)
}

// setSysctls writes kernel parameters of this namespace: /proc/sys/net shows each thread those of its namespace.
func (s *Namespace) setSysctls(values map[string]string) error {
	return s.Run(func() error {
		for key, value := range values {
			path := filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
			if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
				return fmt.Errorf("sysctl %s=%s: %w", key, value, err)
			}
		}
		return nil
	})
}
