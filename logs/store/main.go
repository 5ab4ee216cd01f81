package store

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/logs"
)

// Run is the process `weir records`: it serves the store of a directory until ctx ends, or parent does. A controller
// that ends, however it ends, closes the pipe that the store has as its parent.
func Run(ctx context.Context, config Config, memoryBytes int64, parent io.Reader) error {
	signal.Ignore(syscall.SIGPIPE) // the log is a pipe to the controller, which may be gone
	if err := limitMemory(memoryBytes); err != nil {
		return err
	}
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, parent)
		end()
	}()
	release, err := lock(ctx, config.Dir)
	if err != nil {
		return err
	}
	defer release()
	s, err := Open(config)
	if err != nil {
		return err
	}
	listener, err := listen(config.Dir)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(s.Serve(ctx, listener), s.Close())
}

// limitMemory says how much memory the storage may use. It has to be said before the storage opens.
func limitMemory(bytes int64) error {
	quiet := map[string]string{"memory.allowedBytes": fmt.Sprint(bytes), "loggerLevel": "WARN"}
	for name, value := range quiet {
		if err := flag.Set(name, value); err != nil {
			return fmt.Errorf("the setting %s of the storage: %w", name, err)
		}
	}
	if !flag.Parsed() {
		return flag.CommandLine.Parse(nil)
	}
	return nil
}

// lock waits until no other store has the directory. The store of a controller before this one may still be closing.
func lock(ctx context.Context, dir string) (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// listen makes the socket anew.
func listen(dir string) (net.Listener, error) {
	path, release, err := logs.SocketPath(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // the path ends here; the next store removes the file
	return listener, nil
}
