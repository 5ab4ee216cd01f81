// Package notify sends alerts: by HTTP (webhook.go), mail (mail.go) and syslog (syslog.go). dial.go keeps it from
// sending to services of the controller's own machine. Each call is one try; tries.go says when to repeat it.
package notify

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// tryTimeout is how long one try may take.
const tryTimeout = 10 * time.Second

// Sender sends notices. It is safe for concurrent use.
type Sender struct {
	Host       string // of the controller, as receivers of syslog and mail see it
	AllowLocal bool   // also to addresses of this machine and its link
	Now        func() time.Time
}

// Notice is what a receiver is told. Its JSON is the body of a webhook; docs/alerts.md describes it.
type Notice struct {
	ID        string    `json:"id"`        // of this delivery: a repetition has the same
	Condition string    `json:"condition"` // FIRING, RESOLVED or TEST
	Level     string    `json:"level"`     // ALERT_HIGH
	Summary   string    `json:"summary"`
	Reason    string    `json:"reason"`
	Alert     Named     `json:"alert"`
	Rule      Named     `json:"rule"`
	Object    Object    `json:"object"`
	Metric    *Metric   `json:"metric,omitempty"`
	Event     string    `json:"event_id,omitempty"`
	Since     time.Time `json:"since"`
	At        time.Time `json:"at"` // when this notice was made
	Count     uint32    `json:"repeated,omitempty"`
	// Path is that of the page about the object at that time, on the controller.
	Path string `json:"page,omitempty"`
}

// Named is an object by uuid and name.
type Named struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

// Object is what an alert is about.
type Object struct {
	Type   string `json:"type"`
	UUID   string `json:"uuid"`
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
}

// Metric is what was measured.
type Metric struct {
	ID    string  `json:"id"`
	Value float64 `json:"value"`
}

// shortened has no text of strangers with more than so many bytes.
func (n *Notice) shortened(most int) *Notice {
	short := *n
	for _, text := range []*string{&short.Summary, &short.Reason, &short.Object.Name, &short.Alert.Name,
		&short.Rule.Name} {
		if len(*text) > most {
			end := most
			for end > 0 && !utf8.RuneStart((*text)[end]) {
				end--
			}
			*text = (*text)[:end] + "…"
		}
	}
	return &short
}

// Title is the notice in one line, without line breaks: names of objects come from strangers.
func (n *Notice) Title() string {
	return oneLine(fmt.Sprintf("[%s] %s: %s", strings.TrimPrefix(n.Level, "ALERT_"), n.Condition, n.Summary))
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// Result is what a try came to.
type Result struct {
	OK     bool
	Open   bool   // it is not OK, and yet the receiver may have taken it: no answer says that it did not
	Status int    // of the answer by HTTP; 0: there is none
	Answer string // what the receiver said, or the error
	Took   time.Duration
}

// result measures a try.
func (s *Sender) result(began time.Time, answer string, err error) Result {
	r := Result{OK: err == nil, Answer: answer, Took: s.Now().Sub(began)}
	if err != nil {
		r.Answer = strings.TrimPrefix(answer+": "+err.Error(), ": ")
	}
	const most = 500
	if text := []rune(oneLine(r.Answer)); len(text) > most {
		r.Answer = string(text[:most]) + "…"
	} else {
		r.Answer = string(text)
	}
	return r
}
