package pages

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// flowTimeout is several times what a flow takes on an idle machine.
const flowTimeout = 10 * time.Minute

// flows runs the files of web/tests in a browser.
type flows struct{ chromium, dir string }

// told is one line of a flow: a step, and what went wrong in it.
type told struct {
	Step    string   `json:"step"`
	Failed  string   `json:"failed"`
	Details []string `json:"details"`
}

// browser finds what the tests drive, or skips the test.
func browser(t *testing.T) flows {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium: apt-get install chromium")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node: install Node 20.19 or newer")
	}
	web, err := filepath.Abs("../../web")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(web, "node_modules", "playwright-core")); err != nil {
		t.Skip("web/node_modules is missing: run `make build`")
	}
	return flows{chromium, filepath.Join(web, "tests")}
}

// run goes through one flow. environment is what the flow reads beside the address and the password.
func (f flows) run(s *stage, name string, environment ...string) {
	s.Helper()
	if !s.hasPages() {
		s.Skip("bin/weir was compiled without the pages: run `make build`")
	}
	password, err := s.controller.Password()
	s.must(err)
	command := exec.CommandContext(s.Context(), "node", filepath.Join(f.dir, name))
	command.Env = append(append(os.Environ(), "WEIR_CHROMIUM="+f.chromium, "WEIR_URL="+s.controller.URL,
		"WEIR_PASSWORD="+password), environment...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	s.must(err)
	s.must(command.Start())
	watchdog := time.AfterFunc(flowTimeout, func() { _ = command.Process.Kill() })
	defer watchdog.Stop()
	steps := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line told
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			s.Errorf("the flow printed %q", lines.Text())
			continue
		}
		steps++
		s.Log(line.Step)
		if line.Failed != "" {
			s.Errorf("%s: %s\n%s", line.Step, line.Failed, strings.Join(line.Details, "\n"))
		}
	}
	if err := command.Wait(); err != nil {
		s.Errorf("the flow ended after %d steps: %v", steps, err)
	}
	const stepsLeast = 5
	if steps < stepsLeast {
		s.Errorf("the flow had %d steps", steps)
	}
}

func (s *stage) hasPages() bool {
	s.Helper()
	answer, err := s.insecure().Get(s.controller.URL + "/")
	s.must(err)
	page, err := io.ReadAll(answer.Body)
	s.must(err)
	s.must(answer.Body.Close())
	return strings.Contains(string(page), "/assets/")
}
