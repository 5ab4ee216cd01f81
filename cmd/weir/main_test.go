package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// say runs a command line that fails, and returns what its user reads.
func say(t *testing.T, line ...string) string {
	t.Helper()
	root := rootCommand()
	root.SetArgs(line)
	root.SetOut(new(bytes.Buffer))
	err := root.ExecuteContext(t.Context())
	if err == nil {
		t.Fatalf("weir %s did not fail", strings.Join(line, " "))
	}
	return explain(err)
}

func TestSaysInOneLineWhatIsWrongWithACommandLine(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // nobody is logged in
	for line, want := range map[string]string{
		"pol list":                  "\"pol\" is no command of `weir`: did you mean `weir pool`?",
		"pool lst":                  "\"lst\" is no command of `weir pool`: did you mean `weir pool list`?",
		"pool rm web":               "\"rm\" is no command of `weir pool`: did you mean `weir pool delete`?",
		"se create x":               "\"create\" is no command of `weir serviceengine`: see `weir serviceengine --help`",
		"pool show":                 "give it as `weir pool show NAME`",
		"pool delete":               "give it as `weir pool delete NAME …`",
		"lab exec router":           "give it as `weir lab exec NODE COMMAND …`",
		"engines":                   "\"engines\" is no command of `weir`: did you mean `weir serviceengine`?",
		"tpo":                       "\"tpo\" is no command of `weir`: did you mean `weir top`?",
		"servers":                   "\"servers\" is no command of `weir`: see `weir --help`",
		"lab ls":                    "\"ls\" is no command of `weir lab`: did you mean `weir lab status`?",
		"lab up --engines -3":       "engines: count: must be 0 to 64",
		"lab rise":                  "\"rise\" is no command of `weir lab`: see `weir lab --help`",
		"vs web":                    "\"web\" is no command of `weir virtualservice`: did you mean `weir virtualservice show web`?",
		"vs logs web":               "\"logs\" is no command of `weir virtualservice`: did you mean `weir logs web`?",
		"vs metrics web":            "\"metrics\" is no command of `weir virtualservice`: did you mean `weir metrics virtualservice web`?",
		"metrics web":               "\"web\" is no command of `weir metrics`: did you mean `weir metrics virtualservice web`?",
		"health web":                "\"web\" is no command of `weir health`: did you mean `weir health virtualservice web`?",
		"top web":                   "\"web\" is nothing to watch: did you mean `weir top vs web`?",
		"log web":                   "\"log\" is no command of `weir`: did you mean `weir logs`?",
		"logs vs web":               "give it as `weir logs [VIRTUAL-SERVICE]`",
		"vs list now":               "give it as `weir virtualservice list`",
		"vs list -o yaml":           "invalid argument \"yaml\" for \"-o, --output\" flag: give table or json: see `weir virtualservice list --help`",
		"vs list --outptu":          "unknown flag: --outptu: see `weir virtualservice list --help`",
		"vs list":                   "not logged in: run `weir login https://CONTROLLER:9443` first",
		"pool set web colour=red":   "pool: colour: is unknown",
		"systemconfiguration set x": "\"x\" is not FIELD=VALUE",
	} {
		if got := say(t, strings.Fields(line)...); got != want {
			t.Errorf("weir %s\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestSaysWhatToDoAboutTheController(t *testing.T) {
	const at = "https://lb:9443"
	for _, c := range []struct {
		err  error
		want string
	}{
		{&client.SessionOver{URL: at, Problem: &client.Problem{Status: 401}},
			"the session with https://lb:9443 is over: run `weir login https://lb:9443` again"},
		{&client.Unreachable{URL: at, Cause: errors.New("connection refused")},
			"no answer from https://lb:9443: connection refused: is the controller running, and is this its address?"},
		{&client.UnknownCertificate{Host: "lb:9443", Fingerprint: "ab"},
			"the certificate of lb:9443 is signed by nobody this machine trusts; its SHA-256 fingerprint is ab: compare it with " +
				"what the controller printed, and log in with --fingerprint or --trust-on-first-use"},
		{&client.ChangedCertificate{Host: "lb:9443", Known: "ab", Seen: "cd"},
			"the certificate of lb:9443 has fingerprint cd, and not ab: if the certificate was replaced, run `weir login` again"},
		{&client.Problem{Status: 400, Message: "pool: name: is required"}, "pool: name: is required"},
		{context.Canceled, "interrupted"},
	} {
		if got := explain(fmt.Errorf("%w", c.err)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestExitsAsShellsExpectOfAnInterrupt(t *testing.T) {
	if got := exitCode(fmt.Errorf("load: %w", context.Canceled)); got != 130 {
		t.Errorf("interrupted: got %d", got)
	}
	if got := exitCode(errors.New("no")); got != 1 {
		t.Errorf("failed: got %d", got)
	}
}

func TestSaysWhoTakesDownWhatASecondInterruptLeaves(t *testing.T) {
	if got := endedAtOnce(nil); got != "ended at once" {
		t.Errorf("without a lab: %s", got)
	}
	if got := endedAtOnce([]string{"demo-1"}); !strings.Contains(got, "`weir lab down`") {
		t.Errorf("with a lab: %s", got)
	}
}

func TestSaysWhatStandsInTheWayOfADelete(t *testing.T) {
	pool := kindOf(t, "pool")
	for _, c := range []struct {
		problem client.Problem
		want    string
	}{
		{client.Problem{Status: 412, Message: "Cannot delete, object is referred by: ['VirtualService web']"},
			"pool db: Cannot delete, object is referred by: ['VirtualService web']: change or delete those first"},
		{client.Problem{Status: 400, Message: "pool: name: db is built in"}, "pool: name: db is built in"},
		{client.Problem{Status: 403, Message: "User bob may not delete a pool"},
			"pool db: User bob may not delete a pool"},
	} {
		if got := notDeleted(pool, "db", &c.problem).Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestKnowsTheControllerOfTheLastLogin(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	unknown := &client.UnknownCertificate{Host: "lb.example.net:9443", Fingerprint: "ab"}
	if isTrusted(unknown) {
		t.Error("a controller is trusted before any login")
	}
	if err := saveSession(client.Saved{URL: "https://lb.example.net:9443", Fingerprint: "ab"}); err != nil {
		t.Fatal(err)
	}
	if !isTrusted(unknown) {
		t.Error("the controller of the last login is not known any more")
	}
	for _, other := range []*client.UnknownCertificate{{Host: "other:9443", Fingerprint: "ab"},
		{Host: "lb.example.net:9443", Fingerprint: "cd"}} {
		if isTrusted(other) {
			t.Errorf("%+v is trusted", other)
		}
	}
}
