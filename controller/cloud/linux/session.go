package linux

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

const dialTimeout = 10 * time.Second

// programNames are the programs of an engine.
var programNames = []string{"weir", "weir-dataplane"}

// session is a connection to one machine. It ends when its context ends.
type session struct {
	*ssh.Client
	host    host
	root    string // prefix of commands that run as root
	here    string // the controller's address, as the machine sees it
	release func() bool
}

func (s *Servers) open(ctx context.Context, host host) (*session, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	socket, err := dialer.DialContext(ctx, "tcp", host.address)
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() { socket.Close() })
	if err := socket.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	config := &ssh.ClientConfig{User: s.user, Auth: s.auth, HostKeyCallback: host.verify,
		HostKeyAlgorithms: host.algorithms()}
	connection, channels, requests, err := ssh.NewClientConn(socket, host.address, config)
	if err != nil {
		release()
		return nil, errors.Join(fmt.Errorf("%s: %w", host.address, err), socket.Close())
	}
	opened := &session{Client: ssh.NewClient(connection, channels, requests), host: host, release: release}
	if s.user != "root" {
		opened.root = "sudo -n "
	}
	opened.here, _, err = net.SplitHostPort(socket.LocalAddr().String())
	return opened, errors.Join(err, socket.SetDeadline(time.Time{}))
}

// Close ends the connection.
func (s *session) Close() error {
	s.release()
	return s.Client.Close()
}

// verify accepts only the host key that the operator has given.
func (h host) verify(_ string, _ net.Addr, shown ssh.PublicKey) error {
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(shown)))
	switch {
	case h.key == nil:
		return fmt.Errorf("its key is %q: if that is so, give it as host_attr SSH_HOST_KEY", line)
	case !bytes.Equal(h.key.Marshal(), shown.Marshal()):
		return fmt.Errorf(
			"it shows another key than host_attr SSH_HOST_KEY says, %q: another machine may have taken its address",
			line)
	}
	return nil
}

// algorithms are those of the given host key, because a machine has several keys; nil: any.
func (h host) algorithms() []string {
	switch {
	case h.key == nil:
		return nil
	case h.key.Type() == ssh.KeyAlgoRSA:
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	default:
		return []string{h.key.Type()}
	}
}

// script runs a verb of engine.sh as root. Its parameters go through standard input, like the script: all users of the
// machine can read a command line.
func (s *session) script(verb string, given map[string]string) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "verb=%s\ndir=%s\n", verb, s.host.dir)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(&text, "%s=%s\n", name, quote(given[name]))
	}
	text.WriteString(engineScript)
	return s.run(s.root+"sh -s", strings.NewReader(text.String()))
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// run returns what a command prints.
func (s *session) run(command string, in io.Reader) (string, error) {
	session, err := s.NewSession()
	if err != nil {
		return "", err
	}
	defer session.Close()
	var out, complaint bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = in, &out, &complaint
	if err := session.Run(command); err != nil {
		return "", fmt.Errorf("%s: %w: %s", s.host.address, err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// install copies the programs that the machine lacks or has in another version.
func (s *session) install(programs string) error {
	there, err := s.script("programs", nil)
	if err != nil {
		return err
	}
	for _, name := range programNames {
		program, err := os.Open(filepath.Join(programs, name))
		if err != nil {
			return err
		}
		err = s.copy(name, program, there)
		program.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) copy(name string, program *os.File, there string) error {
	hash := sha256.New()
	if _, err := io.Copy(hash, program); err != nil {
		return err
	}
	if strings.Contains(there, hex.EncodeToString(hash.Sum(nil))+"  "+name) {
		return nil
	}
	if _, err := program.Seek(0, io.SeekStart); err != nil {
		return err
	}
	to := s.host.dir + "/bin/" + name
	_, err := s.run(fmt.Sprintf("%ssh -c 'cat > %s.new && chmod 755 %s.new && mv %s.new %s'", s.root, to, to, to, to),
		program)
	return err
}
