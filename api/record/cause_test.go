package record

import (
	"os"
	"regexp"
	"testing"
)

func TestCausesAreThoseOfTheDataPlane(t *testing.T) {
	source, err := os.ReadFile("../../dataplane/telemetry/src/cause.rs")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^    [A-Z][A-Za-z0-9]* = "([a-z_0-9]+)",$`).FindAllStringSubmatch(
		string(source), -1)
	if len(found) != len(causeNames) {
		t.Fatalf("the data plane has %d causes, and there are %d names", len(found), len(causeNames))
	}
	for i, match := range found {
		if got := CauseName(uint16(i + 1)); got != match[1] {
			t.Errorf("cause %d is %q, want %q", i+1, got, match[1])
		}
		if CauseMeaning(match[1]) == "" {
			t.Errorf("nothing says what %s means", match[1])
		}
	}
	if len(meanings) != len(causeNames) {
		t.Errorf("%d causes have a meaning, and there are %d", len(meanings), len(causeNames))
	}
	if CauseName(0) != "" || CauseName(uint16(len(causeNames)+1)) != "" {
		t.Error("a cause that is none has a name")
	}
}
