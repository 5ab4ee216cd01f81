package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/topology"
)

// Ports of a controller, which nobody else uses, and the file with its administrator's password.
const (
	restPort     = 9443
	enginePort   = 9444
	passwordFile = "admin-password"
)

// CheckPrograms reports missing programs of Weir before anything is started.
func CheckPrograms(programs string) error {
	for _, name := range []string{"weir", "weir-dataplane", "weir-load"} {
		if _, err := exec.LookPath(filepath.Join(programs, name)); err != nil {
			return fmt.Errorf("%s is not in %s: run `make build`, or copy it there", name, programs)
		}
	}
	_, err := nginxProgram()
	return err
}

// Controller is a running controller and a session of its administrator.
type Controller struct {
	*Process
	URL           string
	Session       *client.Session
	at            *Host
	name, dir     string
	restAddress   string // host and port
	flags         []string
	EngineAddress string
}

// Engine is a running agent; its data plane is a process of its own.
type Engine struct {
	*Process
	EngineName string
	StateDir   string
	Token      string // it joined with this one
	at         *Host
	controller *Controller
}

// Controller starts one on its usual ports or other free ones, and logs in.
func (h *Host) Controller(ctx context.Context, flags ...string) (*Controller, error) {
	return h.ControllerNamed(ctx, topology.ControllerName, flags...)
}

// ControllerNamed starts a controller beside others. Its data is in a directory of that name.
func (h *Host) ControllerNamed(ctx context.Context, name string, flags ...string) (*Controller, error) {
	rest, err := h.port(restPort)
	if err != nil {
		return nil, err
	}
	engines, err := h.port(enginePort)
	if err != nil {
		return nil, err
	}
	c := &Controller{at: h, name: name, flags: flags, dir: filepath.Join(h.lab.dir, name),
		restAddress:   net.JoinHostPort(h.Address, strconv.Itoa(rest)),
		EngineAddress: net.JoinHostPort(h.Address, strconv.Itoa(engines))}
	c.URL = "https://" + c.restAddress
	return c, c.Restart(ctx)
}

// Restart starts the controller again where it was, after it was stopped or killed.
func (c *Controller) Restart(ctx context.Context) (err error) {
	args := []string{"controller", "--data-dir", c.dir, "--listen", c.restAddress, "--engine-listen", c.EngineAddress}
	c.Process, err = c.at.Start(c.name, c.at.lab.program("weir"), append(args, c.flags...)...)
	if err != nil {
		return err
	}
	return c.UntilReady(ctx, c.Login)
}

// Password is the administrator's.
func (c *Controller) Password() (string, error) {
	text, err := os.ReadFile(c.PasswordFile())
	return strings.TrimSpace(string(text)), err
}

// PasswordFile is where the password is.
func (c *Controller) PasswordFile() string { return filepath.Join(c.dir, passwordFile) }

// ProfileSocket is where a controller with --profile answers.
func (c *Controller) ProfileSocket() string { return filepath.Join(c.dir, "profile.sock") }

// HistoryDir is where the controller has the history of its metrics.
func (c *Controller) HistoryDir() string { return filepath.Join(c.dir, "metrics") }

// Pages is the address of the web pages for a browser on this machine. If the controller is in a namespace, a relay
// leads there until ctx ends.
func (c *Controller) Pages(ctx context.Context) (url string, err error) {
	if c.at.space == nil {
		return c.URL + "/", nil
	}
	address, err := c.at.Relay(ctx, c.restAddress, restPort)
	return "https://" + address + "/", err
}

// Login opens a new session. It trusts any certificate, because the controller is new and on this machine.
func (c *Controller) Login(ctx context.Context) error {
	password, err := c.Password()
	if err != nil {
		return err
	}
	credentials := client.Credentials{URL: c.URL, Username: "admin", Password: password, Dial: c.at.Dial}
	c.Session, err = client.Login(ctx, credentials)
	var unknown *client.UnknownCertificate
	if errors.As(err, &unknown) {
		credentials.Fingerprint = unknown.Fingerprint
		c.Session, err = client.Login(ctx, credentials)
	}
	return err
}

// Token makes a join token, with which one engine can join once.
func (c *Controller) Token(ctx context.Context) (string, error) {
	var token struct {
		AuthToken string `json:"auth_token"`
	}
	err := c.Session.Post(ctx, "securetoken-generate", client.Object{}, &token)
	return token.AuthToken, err
}

// Engine joins a new engine to the controller and waits until its data plane runs.
func (h *Host) Engine(ctx context.Context, c *Controller, name string, flags ...string) (*Engine, error) {
	token, err := c.Token(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{EngineName: name, StateDir: filepath.Join(h.lab.dir, name), Token: token, at: h, controller: c}
	if err := e.Restart(append([]string{"--token", e.Token}, flags...)...); err != nil {
		return nil, err
	}
	return e, e.UntilReady(ctx, e.Connected)
}

// Restart starts the agent again where it was, after it was stopped or killed.
func (e *Engine) Restart(flags ...string) (err error) {
	args := []string{"agent", "--state-dir", e.StateDir, "--controller", e.controller.EngineAddress,
		"--name", e.EngineName}
	e.Process, err = e.at.Start(e.EngineName, e.at.lab.program("weir"), append(args, flags...)...)
	return err
}

// DataplaneRuntime is what the API says of an engine's data plane.
type DataplaneRuntime struct {
	State    string `json:"state"`
	PID      int    `json:"pid"`
	Restarts int    `json:"restarts"`
}

// Dataplane asks the API for the engine's data plane.
func (e *Engine) Dataplane(ctx context.Context) (DataplaneRuntime, error) {
	runtime, err := e.controller.engineRuntime(ctx, e.EngineName)
	return runtime.Dataplane, err
}

// engineRuntime is what the API says of an engine.
type engineRuntime struct {
	Connected bool             `json:"se_connected"`
	Dataplane DataplaneRuntime `json:"dataplane"`
}

func (c *Controller) engineRuntime(ctx context.Context, name string) (runtime engineRuntime, err error) {
	engine, err := c.Session.ByName(ctx, "serviceengine", name)
	if err != nil {
		return runtime, err
	}
	err = c.Session.Get(ctx, fmt.Sprintf("serviceengine/%v/runtime", engine["uuid"]), &runtime)
	return runtime, err
}

// DataplanePID is the process that moves the bytes.
func (e *Engine) DataplanePID(ctx context.Context) (int, error) {
	dataplane, err := e.Dataplane(ctx)
	if err == nil && dataplane.PID == 0 {
		err = fmt.Errorf("its data plane is %s", dataplane.State)
	}
	return dataplane.PID, err
}

// Connected tells whether the controller hears from the engine and its data plane runs.
func (e *Engine) Connected(ctx context.Context) error {
	return e.controller.EngineConnected(ctx, e.EngineName)
}

// EngineConnected tells whether the controller hears from the engine of this name and its data plane runs.
func (c *Controller) EngineConnected(ctx context.Context, name string) error {
	runtime, err := c.engineRuntime(ctx, name)
	if err == nil && (!runtime.Connected || runtime.Dataplane.PID == 0) {
		err = fmt.Errorf("the controller says %+v", runtime)
	}
	return err
}

func (l *Lab) program(name string) string { return filepath.Join(l.programs, name) }
