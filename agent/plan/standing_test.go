package plan

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlansThatComeStayUntilTheyOrLaterOnesAreAnswered(t *testing.T) {
	for events, want := range map[string]string{
		"":                                     "serves none, come []",
		"expect 1":                             "serves none, come [1]",
		"expect 1, hold 1":                     "serves 1, come []",
		"expect 1, drop 1":                     "serves none, come []",
		"expect 1, drop 1, expect 1":           "serves none, come [1]",
		"hold 1, expect 2, expect 3":           "serves 1, come [2 3]",
		"hold 1, expect 2, expect 3, hold 2":   "serves 2, come [3]",
		"hold 1, expect 2, expect 3, drop 2":   "serves 1, come [3]",
		"hold 1, expect 2, expect 3, hold 3":   "serves 3, come []",
		"hold 1, expect 2, expect 3, drop 3":   "serves 1, come []",
		"hold 1, expect 2, expect 3, drop 4":   "serves 1, come [2 3]",
		"hold 1, expect 2, expect 3, hold 1":   "serves 1, come [2 3]",
		"expect 1, expect 2, expect 3, drop 2": "serves none, come [3]",
	} {
		if got := standingAfter(strings.Split(events, ", ")); got != want {
			t.Errorf("after %q: %s, want %s", events, got, want)
		}
	}
}

func TestOfTooManyPlansThatComeTheSecondIsForgotten(t *testing.T) {
	events := []string{"hold 1"}
	for revision := range comingMax + 1 {
		events = append(events, fmt.Sprint("expect ", 2+revision))
	}
	if got, want := standingAfter(events), "serves 1, come [2 4 5 6 7 8 9 10]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func standingAfter(events []string) string {
	var standing Standing
	plans := map[string]*Plan{}
	names := map[*Plan]string{nil: "none"}
	for _, event := range events {
		does, name, _ := strings.Cut(event, " ")
		if plans[name] == nil {
			plans[name] = new(Plan)
			names[plans[name]] = name
		}
		switch does {
		case "expect":
			standing.Expect(plans[name])
		case "hold":
			standing.Hold(plans[name])
		case "drop":
			standing.Drop(plans[name])
		}
	}
	var all []string
	for _, each := range standing.All() {
		all = append(all, names[each])
	}
	return fmt.Sprintf("serves %s, come %v", all[0], all[1:])
}
