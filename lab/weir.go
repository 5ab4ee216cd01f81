package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/client"
)

// CheckPrograms says what is missing of all that a lab can run, before anything is started.
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
	lab           *Lab
	name, dir     string
	restAddress   string
	EngineAddress string
}

// Engine is a running agent; its data plane is a process of its own.
type Engine struct {
	*Process
	EngineName string
	StateDir   string
	Token      string // it joined with this one
	lab        *Lab
	controller *Controller
}

// Controller starts one on its usual ports or other free ones, and logs in.
func (l *Lab) Controller(ctx context.Context) (*Controller, error) {
	return l.ControllerNamed(ctx, "controller")
}

// ControllerNamed starts one beside others; its data is in a directory of that name.
func (l *Lab) ControllerNamed(ctx context.Context, name string) (*Controller, error) {
	rest, err := FreePort("127.0.0.1", 9443)
	if err != nil {
		return nil, err
	}
	engines, err := FreePort("127.0.0.1", 9444)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		lab: l, name: name, dir: filepath.Join(l.dir, name), URL: "https://127.0.0.1:" + strconv.Itoa(rest),
		restAddress: "127.0.0.1:" + strconv.Itoa(rest), EngineAddress: "127.0.0.1:" + strconv.Itoa(engines),
	}
	return c, c.Restart(ctx)
}

// Restart starts the controller again where it was, after it was stopped or killed.
func (c *Controller) Restart(ctx context.Context) (err error) {
	c.Process, err = c.lab.Start(c.name, c.lab.program("weir"), "controller",
		"--data-dir", c.dir, "--listen", c.restAddress, "--engine-listen", c.EngineAddress)
	if err != nil {
		return err
	}
	return c.UntilReady(ctx, c.Login)
}

// Password is the administrator's.
func (c *Controller) Password() (string, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "admin-password"))
	return strings.TrimSpace(string(text)), err
}

// Login opens a new session; it trusts whatever certificate this machine's own new controller shows.
func (c *Controller) Login(ctx context.Context) error {
	password, err := c.Password()
	if err != nil {
		return err
	}
	credentials := client.Credentials{URL: c.URL, Username: "admin", Password: password}
	c.Session, err = client.Login(ctx, credentials)
	var unknown *client.UnknownCertificate
	if errors.As(err, &unknown) {
		credentials.Fingerprint = unknown.Fingerprint
		c.Session, err = client.Login(ctx, credentials)
	}
	return err
}

// Engine joins a new engine to the controller and waits until its data plane runs.
func (l *Lab) Engine(ctx context.Context, c *Controller, name string, flags ...string) (*Engine, error) {
	var token struct {
		AuthToken string `json:"auth_token"`
	}
	if err := c.Session.Post(ctx, "securetoken-generate", client.Object{}, &token); err != nil {
		return nil, err
	}
	e := &Engine{EngineName: name, StateDir: filepath.Join(l.dir, name), Token: token.AuthToken, lab: l, controller: c}
	if err := e.Restart(append([]string{"--token", e.Token}, flags...)...); err != nil {
		return nil, err
	}
	return e, e.UntilReady(ctx, e.Connected)
}

// Restart starts the agent again where it was, after it was stopped or killed.
func (e *Engine) Restart(flags ...string) (err error) {
	args := []string{"agent", "--state-dir", e.StateDir, "--controller", e.controller.EngineAddress, "--name", e.EngineName}
	e.Process, err = e.lab.Start(e.EngineName, e.lab.program("weir"), append(args, flags...)...)
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
	runtime, err := e.runtime(ctx)
	return runtime.Dataplane, err
}

// engineRuntime is what the API says of an engine.
type engineRuntime struct {
	Connected bool             `json:"se_connected"`
	Dataplane DataplaneRuntime `json:"dataplane"`
}

func (e *Engine) runtime(ctx context.Context) (runtime engineRuntime, err error) {
	engine, err := e.controller.Session.ByName(ctx, "serviceengine", e.EngineName)
	if err != nil {
		return runtime, err
	}
	err = e.controller.Session.Get(ctx, fmt.Sprintf("serviceengine/%v/runtime", engine["uuid"]), &runtime)
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
	runtime, err := e.runtime(ctx)
	if err == nil && (!runtime.Connected || runtime.Dataplane.PID == 0) {
		err = fmt.Errorf("the controller says %+v", runtime)
	}
	return err
}

func (l *Lab) program(name string) string { return filepath.Join(l.programs, name) }
