package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/ours"
)

// This file has the rows that tests of Weir's source measure: the bench runs these tests.

// testsEnded is how tests ended, and what they printed.
type testsEnded struct {
	ends    map[string]string // by the name of a test: pass, fail or skip
	printed string
}

// test runs the tests of a package of the source whose names match.
func (r *run) test(ctx context.Context, room, names string) (ended testsEnded, err error) {
	command := exec.CommandContext(ctx, "go", "test", "-json", "-count", "1", "-timeout", "10m",
		"-run", names, "./"+room)
	command.Dir, command.WaitDelay = r.Source, 10*time.Second
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return ended, fmt.Errorf("go test ./%s: %w", room, err)
	}
	if ended, err = readTests(out); err == nil && len(ended.ends) == 0 {
		err = fmt.Errorf("go test ./%s runs no test: %s", room, ours.LastLine(said.String()+ended.printed))
	}
	return ended, err
}

// readTests reads what go test -json prints.
func readTests(lines []byte) (ended testsEnded, err error) {
	ended.ends = map[string]string{}
	var printed strings.Builder
	for line := range bytes.Lines(lines) {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(line, &event); err != nil {
			return ended, fmt.Errorf("go test printed %q: %w", line, err)
		}
		printed.WriteString(event.Output)
		if event.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, event.Action) {
			ended.ends[event.Test] = event.Action
		}
	}
	ended.printed = printed.String()
	return ended, nil
}

// withEnd are the tests that ended so, in the order of their names.
func (e testsEnded) withEnd(end string) (names []string) {
	for name, is := range e.ends {
		if is == end {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// newServiceTest goes through the first set-up in a browser, and newServiceTook is what it prints.
const newServiceTest = "^TestFirstSetUpInABrowserLeadsToAnAnswer$"

var newServiceTook = regexp.MustCompile(`from /new to the first 200: (\d+) ms, (\d+) actions`)

// measureNewService has a browser create a service on the page /new, up to its first answer.
func measureNewService(ctx context.Context, r *run) (found findings.Finding, err error) {
	ended, err := r.test(ctx, "tests/pages", newServiceTest)
	if err != nil {
		return found, err
	}
	took := newServiceTook.FindStringSubmatch(ended.printed)
	if took == nil {
		return found, fmt.Errorf("the test ends without an answer (%v)", ended.ends)
	}
	ms, err := strconv.ParseFloat(took[1], 64)
	found = findings.Finding{Value: ms / 1000, Note: took[2] + " actions (the bar: at most 12), by tests/pages with " +
		"Chromium without a screen. The engine and the servers are on this machine"}
	if failed := ended.withEnd("fail"); len(failed) > 0 {
		found.Fault = "the test fails: " + strings.Join(failed, ", ")
	}
	return found, err
}

// foreignTests run clients of others. foreignClients are the ones among their parts that are such a client.
const foreignTests = "^(TestAviSDKWorksUnmodified|TestClientsOfPrometheusReadTheHistory)$"

var foreignClients = []string{"TestAviSDKWorksUnmodified", "TestClientsOfPrometheusReadTheHistory/avisdk",
	"TestClientsOfPrometheusReadTheHistory/Datadog", "TestClientsOfPrometheusReadTheHistory/Grafana's_data_source",
	"TestClientsOfPrometheusReadTheHistory/scrapes", "TestClientsOfPrometheusReadTheHistory/native_histograms",
	"TestClientsOfPrometheusReadTheHistory/lint"}

// measureForeignClients counts the clients of others that do not run unmodified.
func measureForeignClients(ctx context.Context, r *run) (found findings.Finding, err error) {
	ended, err := r.test(ctx, "tests/interop", foreignTests)
	if err != nil {
		return found, err
	}
	return judgeForeign(ended), nil
}

func judgeForeign(ended testsEnded) (found findings.Finding) {
	var failed, missing []string
	for _, client := range foreignClients {
		switch ended.ends[client] {
		case "pass":
		case "fail":
			failed = append(failed, client)
		default: // skipped, or not reached
			missing = append(missing, client)
		}
	}
	found = findings.Finding{Value: float64(len(failed)), Note: fmt.Sprintf(
		"%d of %d clients in tests/interop run unmodified: "+
			"the SDK of Avi (objects; metrics, scores, inventories and logs), the base of Datadog's check for Avi, the "+
			"requests of Grafana's data source, a scrape of Prometheus as text and as protobuf, and its lint. Exporters and "+
			"scripts for Avi that no registry has are not run",
		len(foreignClients)-len(failed)-len(missing), len(foreignClients))}
	if len(failed) > 0 {
		found.Note += "; failed: " + strings.Join(failed, ", ")
	}
	if len(missing) > 0 {
		found.Fault = "not run, because a registry cannot be reached or a test ended early: " +
			strings.Join(missing, ", ")
	}
	return found
}
