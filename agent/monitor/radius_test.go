package monitor

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/subtle"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// radiusServer answers as a server with this user does. It has no function in common with the probe.
func radiusServer(secret, username, password string) func([]byte) []byte {
	return func(question []byte) []byte {
		attributes, signature := map[byte][]byte{}, -1
		for at := 20; at < len(question); at += int(question[at+1]) {
			attributes[question[at]] = question[at+2 : at+int(question[at+1])]
			if question[at] == 80 {
				signature = at + 2
			}
		}
		claimed := bytes.Clone(question[signature : signature+16])
		clear(question[signature : signature+16])
		mac := hmac.New(md5.New, []byte(secret))
		mac.Write(question)
		if !hmac.Equal(mac.Sum(nil), claimed) {
			return nil
		}
		var clearText []byte
		last := question[4:20]
		for hidden := attributes[2]; len(hidden) > 0; hidden = hidden[16:] {
			mask := md5.Sum(append([]byte(secret), last...))
			block := make([]byte, 16)
			subtle.XORBytes(block, hidden[:16], mask[:])
			clearText, last = append(clearText, block...), hidden[:16]
		}
		code := byte(3)
		if string(attributes[1]) == username && string(bytes.TrimRight(clearText, "\x00")) == password {
			code = 2
		}
		return radiusSigned(question, secret, code, "welcome")
	}
}

// radiusSigned is an answer with a text, and with a Message-Authenticator.
func radiusSigned(question []byte, secret string, code byte, text string) []byte {
	answer := append([]byte{code, question[1], 0, 0}, question[4:20]...)
	answer = append(append(answer, 80, 18), make([]byte, 16)...)
	answer = append(append(answer, 18, byte(len(text)+2)), text...)
	binary.BigEndian.PutUint16(answer[2:], uint16(len(answer)))
	mac := hmac.New(md5.New, []byte(secret))
	mac.Write(answer)
	copy(answer[22:38], mac.Sum(nil))
	digest := md5.Sum(append(bytes.Clone(answer), secret...))
	copy(answer[4:20], digest[:])
	return answer
}

func TestRADIUSMonitorWantsItsUserAccepted(t *testing.T) {
	long := strings.Repeat("a long password ", 4) + "x"
	for name, c := range map[string]struct {
		password string
		answer   func([]byte) []byte
		reason   string
	}{
		"it accepts the user":   {"open", radiusServer("secret", "me", "open"), ""},
		"a long password":       {long, radiusServer("secret", "me", long), ""},
		"it rejects the user":   {"shut", radiusServer("secret", "me", "open"), `it rejects the user "me"`},
		"it has another secret": {"open", radiusServer("other", "me", "open"), late},
		"an answer with another secret": {"open",
			func(q []byte) []byte { return radiusSigned(q, "other", 2, "x") },
			"its answer is signed with another shared_secret"},
		"a wrong Message-Authenticator": {"open", func(q []byte) []byte {
			answer := radiusSigned(q, "secret", 2, "x")
			answer[30]++
			copy(answer[4:20], q[4:20])
			digest := md5.Sum(append(bytes.Clone(answer), "secret"...))
			copy(answer[4:20], digest[:])
			return answer
		}, "its answer has a wrong Message-Authenticator"},
		"an attribute that is cut": {"open", func(q []byte) []byte {
			answer := append([]byte{2, q[1], 0, 22}, q[4:20]...)
			answer = append(answer, 18, 9)
			digest := md5.Sum(append(bytes.Clone(answer), "secret"...))
			copy(answer[4:20], digest[:])
			return answer
		}, "its answer has an attribute of a wrong length"},
		"it wants more": {"open", func(q []byte) []byte { return radiusSigned(q, "secret", 11, "code?") },
			`it wants more of the user "me" than the password`},
		"another code": {"open", func(q []byte) []byte { return radiusSigned(q, "secret", 5, "") },
			"its answer has code 5"},
		"the answer to another question": {"open", func(q []byte) []byte {
			q[1]++
			return radiusSigned(q, "secret", 2, "x")
		}, "its answer is not that to the question"},
		"a length that is too long": {"open", func(q []byte) []byte {
			answer := radiusSigned(q, "secret", 2, "x")
			answer[3]++
			return answer
		}, "its answer is not RADIUS"},
		"nonsense": {"open", func([]byte) []byte { return []byte("nonsense") }, "its answer is not RADIUS"},
		"silence":  {"open", func([]byte) []byte { return nil }, late},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := &plan.Monitor{Type: plan.RADIUS, Timeout: time.Minute,
				RADIUS: plan.RADIUSCheck{Username: "me", Password: c.password, Secret: "secret"}}
			if c.reason == late {
				monitor.Timeout = 100 * time.Millisecond
			}
			outcome := Probe(t.Context(), targetAt(answersDatagrams(t, c.answer), monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}
