package rules

import "testing"

func TestRowsThatAreComparedAreRecorded(t *testing.T) {
	found, err := measureIdle(t.Context(), &run{Options: Options{Source: "../.."}})
	if err != nil || found.Note == "" {
		t.Errorf("got %+v, %v", found, err)
	}
}
