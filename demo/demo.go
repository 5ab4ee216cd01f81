// Package demo builds the seed's HTTPS virtual service in small, out of real parts: three nginx servers, a controller, an
// engine and a load generator, each a process of its own. It configures everything through the public REST API, as an
// operator would, and leaves no process behind.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/client"
)

// Options say how a demo runs.
type Options struct {
	Once bool // end after the load instead of serving until ctx ends
	JSON bool // figures as one JSON object, last on Out; everything else goes to Progress
	Out  io.Writer
	// Progress is where the steps are told.
	Progress io.Writer
}

// ErrFellShort says that the demo ran and its figures are not what they must be.
var ErrFellShort = errors.New("the demo fell short")

// Run plays the demo until it is over or ctx ends.
func Run(ctx context.Context, options Options) (err error) {
	dir, err := os.MkdirTemp("", "weir-demo-")
	if err != nil {
		return err
	}
	h, err := newHousehold(dir)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, h.stop())
		if err == nil || errors.Is(err, ErrFellShort) {
			err = errors.Join(err, os.RemoveAll(dir))
		} else {
			err = fmt.Errorf("%w\n(logs are in %s)", err, dir)
		}
	}()
	s := stage{household: h, told: teller{options.Progress}}
	if err := s.build(ctx); err != nil {
		return untilInterrupted(ctx, err)
	}
	f, err := s.load(ctx)
	if err != nil {
		return untilInterrupted(ctx, err)
	}
	if err := report(options, s, f); err != nil {
		return err
	}
	if short := f.shortfall(); options.Once && len(short) > 0 {
		return fmt.Errorf("%w: %s", ErrFellShort, strings.Join(short, "; "))
	}
	if !options.Once {
		s.told.line("Serving until Ctrl-C.")
		<-ctx.Done()
	}
	return nil
}

// untilInterrupted forgets an error that is only the operator's Ctrl-C.
func untilInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// stage is the demo while it runs.
type stage struct {
	household *household
	told      teller

	session       *client.Session
	controllerURL string
	engineAddress string
	passwordFile  string
	origins       []origin
	service       service
	dataplanePID  int
}

func (s *stage) build(ctx context.Context) error {
	steps := []struct {
		doing string
		do    func(context.Context) (string, error)
	}{
		{"start three nginx servers", s.startOrigins},
		{"start the controller", s.startController},
		{"start one engine", s.startEngine},
		{"configure System-Secure-HTTP, System-TCP-Proxy, System-Standard", s.configure},
		{"create VS-Pool, VS-VIP and the virtual service", s.create},
		{"wait until the engine serves it", s.waitServed},
	}
	for _, step := range steps {
		s.told.begin(step.doing)
		result, err := step.do(ctx)
		if err != nil {
			s.told.line("failed")
			return fmt.Errorf("%s: %w", step.doing, err)
		}
		s.told.line(result)
	}
	return nil
}

func (s *stage) startOrigins(ctx context.Context) (string, error) {
	origins, err := startOrigins(ctx, s.household)
	var ids []string
	for _, o := range origins {
		ids = append(ids, o.id())
	}
	s.origins = origins
	return strings.Join(ids, ", "), err
}

func (s *stage) startController(ctx context.Context) (string, error) {
	rest, err := freePort("127.0.0.1", 9443)
	if err != nil {
		return "", err
	}
	engines, err := freePort("127.0.0.1", 9444)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.household.dir, "controller")
	s.controllerURL = "https://127.0.0.1:" + strconv.Itoa(rest)
	s.engineAddress = "127.0.0.1:" + strconv.Itoa(engines)
	s.passwordFile = filepath.Join(dir, "admin-password")
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	process, err := s.household.start("controller", self, "controller",
		"--data-dir", dir, "--listen", "127.0.0.1:"+strconv.Itoa(rest), "--engine-listen", s.engineAddress)
	if err != nil {
		return "", err
	}
	return s.controllerURL, process.untilReady(ctx, func() error { return s.login(ctx) })
}

// login trusts whatever certificate this machine's own new controller shows.
func (s *stage) login(ctx context.Context) error {
	password, err := s.password()
	if err != nil {
		return err
	}
	credentials := client.Credentials{URL: s.controllerURL, Username: "admin", Password: password}
	s.session, err = client.Login(ctx, credentials)
	var unknown *client.UnknownCertificate
	if errors.As(err, &unknown) {
		credentials.Fingerprint = unknown.Fingerprint
		s.session, err = client.Login(ctx, credentials)
	}
	return err
}

func (s *stage) password() (string, error) {
	text, err := os.ReadFile(s.passwordFile)
	return strings.TrimSpace(string(text)), err
}

func (s *stage) startEngine(ctx context.Context) (string, error) {
	var token struct {
		AuthToken string `json:"auth_token"`
	}
	if err := s.session.Post(ctx, "securetoken-generate", client.Object{}, &token); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	process, err := s.household.start("agent", self, "agent", "--state-dir", filepath.Join(s.household.dir, "engine-1"),
		"--controller", s.engineAddress, "--token", token.AuthToken, "--name", "engine-1")
	if err != nil {
		return "", err
	}
	err = process.untilReady(ctx, func() error { return s.findEngine(ctx) })
	return fmt.Sprintf("engine-1, data plane is process %d", s.dataplanePID), err
}

// findEngine looks for the engine's running data plane.
func (s *stage) findEngine(ctx context.Context) error {
	engine, err := s.session.ByName(ctx, "serviceengine", "engine-1")
	if err != nil {
		return err
	}
	var runtime struct {
		Dataplane struct {
			State string `json:"state"`
			PID   int    `json:"pid"`
		} `json:"dataplane"`
	}
	if err := s.session.Get(ctx, fmt.Sprintf("serviceengine/%v/runtime", engine["uuid"]), &runtime); err != nil {
		return err
	}
	if runtime.Dataplane.PID == 0 {
		return fmt.Errorf("its data plane is %s", runtime.Dataplane.State)
	}
	s.dataplanePID = runtime.Dataplane.PID
	return nil
}

func (s *stage) configure(ctx context.Context) (string, error) {
	return "done", configureProfiles(ctx, s.session)
}

func (s *stage) create(ctx context.Context) (string, error) {
	created, err := createService(ctx, s.session, s.origins)
	s.service = created
	return created.url(), err
}

func (s *stage) waitServed(ctx context.Context) (string, error) {
	return s.service.waitUp(ctx, s.session)
}

func (s *stage) load(ctx context.Context) (figures, error) {
	program, err := sibling("weir-load")
	if err != nil {
		return figures{}, err
	}
	s.told.begin(fmt.Sprintf("drive TLS transactions for %d s", loadSeconds))
	f, err := driveLoad(ctx, program, s.service, s.dataplanePID)
	if err != nil {
		s.told.line("failed")
		return f, err
	}
	s.told.line(fmt.Sprintf("%d transactions", f.transactions))
	return f, nil
}

// sibling finds a program beside this one, or else on the PATH.
func sibling(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if beside := filepath.Join(filepath.Dir(self), name); exec.Command(beside, "--version").Run() == nil {
		return beside, nil
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside %s nor on the PATH; `make build` makes it", name, self)
	}
	return found, nil
}
