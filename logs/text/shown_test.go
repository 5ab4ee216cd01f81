package text

import (
	"encoding/json"
	"testing"
)

func TestWritesWhatATerminalWouldActOn(t *testing.T) {
	const raw = "\x1b[31m\u009b\u202eé\n\U000e0041\u2028\U0010feff"
	if got := Shown(raw); got != `\u001b[31m\u009b\u202eé\u000a\ue0041\u2028\u10feff` {
		t.Errorf("shown as %s", got)
	}
	if got := ShownLines("a\r\nb\x00"); got != "a\\u000d\nb\\u0000" {
		t.Errorf("lines are shown as %q", got)
	}
	text, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	inert := InertJSON(string(text))
	if inert != `"\u001b[31m\u009b\u202eé\n\udb40\udc41\u2028`+"\U0010feff\"" {
		t.Errorf("JSON is %s", inert)
	}
	var back string
	if err := json.Unmarshal([]byte(inert), &back); err != nil || back != raw {
		t.Errorf("the value is %q, %v", back, err)
	}
}

func TestCellIsNoFormula(t *testing.T) {
	for raw, want := range map[string]string{"": "", "a=1": "a=1", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@a": "'@a",
		"\t=1": `'\u0009=1`, "\r=1": `'\u000d=1`, "\n=1": `'\u000a=1`, "＝1": "'＝1", "＋1": "'＋1", "－1": "'－1",
		"＠a": "'＠a", "\u202e": `\u202e`} {
		if got := Cell(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}
