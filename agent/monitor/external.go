package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// nobody is the user and group that scripts run as.
	nobody = 65534
	// scriptOutputBytesMax is how much a script may write.
	scriptOutputBytesMax = 64 << 10
	// scriptPath is the script in the script's own process: its first descriptor beside the standard ones.
	scriptPath = "/proc/self/fd/3"
	// begin sets limits, and becomes the script. The limits hold for each process of the script; the number of
	// processes is that of all scripts together. Shells differ in the name of this limit.
	begin = `ulimit -c 0 && ulimit -v 1048576 && ulimit -f 2048 && ulimit -n 256 &&
		{ ulimit -u 1024 2>/dev/null || ulimit -p 1024; } && exec "$@"`
)

// errScriptPermission names what an operator can do about it.
var errScriptPermission = errors.New("this engine may not isolate scripts: run the agent as root, " +
	"or give it CAP_SETUID, CAP_SETGID, CAP_KILL and CAP_SYS_ADMIN")

var errTooMuch = fmt.Errorf("the script has written more than %d bytes", scriptOutputBytesMax)

// probeExternal runs the operator's script: any output means that the server works. The script is the user nobody, in a
// process namespace that ends with it, and cannot gain privileges.
func probeExternal(ctx context.Context, target Target) Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said := &bounded{full: cancel}
	complaint := &bounded{full: cancel}
	err := runScript(ctx, target, said, complaint)
	switch {
	case said.overflowed || complaint.overflowed:
		return Outcome{Reason: errTooMuch.Error()}
	case ctx.Err() == context.DeadlineExceeded:
		return Outcome{Reason: fmt.Sprintf("the script did not end within %d ms",
			target.Monitor.Timeout.Milliseconds())}
	case errors.Is(err, os.ErrPermission):
		return Outcome{Reason: errScriptPermission.Error()}
	case len(said.text) > 0:
		return Outcome{Up: true, Tasks: tasksIn(said.text)}
	}
	reason := "the script wrote nothing"
	if err != nil {
		reason += ": " + err.Error()
	}
	if len(complaint.text) > 0 {
		reason += ": " + firstLine(string(complaint.text))
	}
	return Outcome{Reason: reason}
}

// runScript runs the script to its end, or until ctx ends.
func runScript(ctx context.Context, target Target, said, complaint *bounded) error {
	script, err := inMemory(target.Monitor.External.Script)
	if err != nil {
		return err
	}
	defer script.Close()
	command := exec.CommandContext(ctx, "/bin/sh", "-c", begin, "sh", scriptPath,
		target.Address.String(), strconv.Itoa(int(target.Port)))
	command.Args = append(command.Args, target.Monitor.External.Arguments...)
	command.Env = append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8",
		"IP=" + target.Address.String(), "PORT=" + strconv.Itoa(int(target.Port)),
		"HM_NAME=" + target.Monitor.Name,
	}, target.Monitor.External.Variables...)
	command.Dir, command.Stdout, command.Stderr = "/", said, complaint
	command.ExtraFiles = []*os.File{script}
	command.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		// The first process of the namespace is the script: when it ends, or is killed, all of its descendants are.
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		Setsid:     true,
		Pdeathsig:  syscall.SIGKILL,
	}
	ended := make(chan error, 1)
	go func() { ended <- runUnprivileged(command) }()
	return <-ended
}

// runUnprivileged runs a command that cannot gain privileges. The kernel keeps this by thread, and passes it on: so the
// goroutine has a thread of its own, which ends with it.
func runUnprivileged(command *exec.Cmd) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return command.Run()
}

// inMemory is a file with this content that is in no directory.
func inMemory(content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("weir-monitor", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "weir-monitor")
	if _, err := file.WriteString(content); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// bounded keeps what is written, up to the limit, and calls full when more comes.
type bounded struct {
	text       []byte
	full       func()
	overflowed bool
}

func (b *bounded) Write(text []byte) (int, error) {
	if len(b.text)+len(text) > scriptOutputBytesMax {
		b.overflowed = true
		b.full()
		return 0, errTooMuch
	}
	b.text = append(b.text, text...)
	return len(text), nil
}
