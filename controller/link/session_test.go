package link

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

var update = flag.Bool("update", false, "rewrite the transcripts with what the session says now")

// A transcript lists events, such as "operator: plan 10 a=1 b=1", "agent: ack 10 nonce 1", "clock: 5s". The indented
// lines below an event are what the session does. "# …" is a comment.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s says otherwise now:\n%s", file, got)
			}
		})
	}
}

type player struct {
	t       *testing.T
	session *session
	now     time.Time
	held    *enginev1.Plan
	target  *enginev1.Plan
}

func replay(t *testing.T, transcript string) string {
	player := &player{t: t, now: time.Unix(0, 0)}
	player.session = newSession(nil, nil, player.now)
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(transcript, "\n"), "\n") {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		fmt.Fprintln(&out, line)
		for _, effect := range player.play(line) {
			fmt.Fprintln(&out, "    "+effect)
		}
	}
	return out.String()
}

func (p *player) play(line string) []string {
	who, what, _ := strings.Cut(line, ": ")
	words := strings.Fields(what)
	switch who {
	case "operator":
		p.target = planOf(words[1:])
		return p.effects(p.session.retarget(p.target), nil)
	case "agent":
		step, err := p.session.report(reportOf(p.t, words), p.now)
		return p.effects(step, err)
	case "clock":
		elapsed, err := time.ParseDuration(words[0])
		if err != nil {
			p.t.Fatal(err)
		}
		p.now = p.now.Add(elapsed)
		return p.effects(p.session.tick(p.now))
	case "reconnect":
		p.session = newSession(p.held, p.target, p.now)
	}
	return nil
}

func (p *player) effects(step step, err error) []string {
	if err != nil {
		return []string{"session ends: " + err.Error()}
	}
	var effects []string
	if step.outcome != nil && step.outcome.applied {
		p.held = step.outcome.plan
		effects = append(effects, fmt.Sprintf("applied %d%s", step.outcome.plan.GetRevision(),
			findings(step.outcome.findings)))
	} else if step.outcome != nil {
		effects = append(effects, fmt.Sprintf("refused %d%s", step.outcome.plan.GetRevision(),
			findings(step.outcome.findings)))
	}
	for _, directive := range step.directives {
		effects = append(effects, say(directive))
	}
	return effects
}

func say(directive *enginev1.Directive) string {
	if welcome := directive.GetWelcome(); welcome != nil {
		return fmt.Sprintf("welcome, heartbeat every %d ms", welcome.GetHeartbeatIntervalMs())
	}
	delta := directive.GetPlan()
	text := fmt.Sprintf("plan %d to %d nonce %s", delta.GetBaseRevision(), delta.GetRevision(), delta.GetNonce())
	for _, resource := range delta.GetChanged() {
		text += " " + resource.GetUuid() + "=" + resource.GetHealthMonitor().GetName()
	}
	for _, uuid := range delta.GetRemoved() {
		text += " -" + uuid
	}
	return text
}

func findings(findings []*dataplanev1.Finding) string {
	var text string
	for _, finding := range findings {
		text += ": " + finding.GetMessage()
	}
	return text
}

// planOf reads "10 a=1 b=2": a revision, and resources with their content.
func planOf(words []string) *enginev1.Plan {
	revision, _ := strconv.ParseUint(words[0], 10, 64)
	plan := &enginev1.Plan{Revision: revision}
	for _, word := range words[1:] {
		uuid, name, _ := strings.Cut(word, "=")
		plan.Resources = append(plan.Resources, &enginev1.Resource{
			Uuid: uuid,
			Body: &enginev1.Resource_HealthMonitor{HealthMonitor: &enginev1.HealthMonitor{Uuid: uuid, Name: name}},
		})
	}
	return plan
}

// reportOf reads "hello 10", "ack 10 nonce 1 [warning]", "nack 10 nonce 1 resync", "nack 10 nonce 1 error", "status",
// "sample", "changes".
func reportOf(t *testing.T, words []string) *enginev1.Report {
	switch words[0] {
	case "sample", "changes":
		return &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
			Changes: words[0] == "changes"}}}
	case "status":
		return &enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{}}}
	}
	revision, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if words[0] == "hello" {
		return &enginev1.Report{Body: &enginev1.Report_Hello{Hello: &enginev1.Hello{Revision: revision}}}
	}
	said := strings.Join(words[4:], " ")
	var findings []*dataplanev1.Finding
	if said != "" && said != "resync" {
		findings = []*dataplanev1.Finding{{Message: said}}
	}
	if words[0] == "ack" {
		return &enginev1.Report{Body: &enginev1.Report_Ack{
			Ack: &enginev1.Ack{Revision: revision, Nonce: words[3], Warnings: findings},
		}}
	}
	cause := enginev1.NackCause_NACK_CAUSE_REFUSED
	if said == "resync" {
		cause = enginev1.NackCause_NACK_CAUSE_RESYNC
	}
	return &enginev1.Report{Body: &enginev1.Report_Nack{
		Nack: &enginev1.Nack{Revision: revision, Nonce: words[3], Cause: cause, Errors: findings},
	}}
}
