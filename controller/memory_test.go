package controller

import (
	"runtime/debug"
	"testing"
)

func TestCollectsGarbageEarlyUnlessAnOperatorHasSetWhen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	t.Setenv("GOGC", "80")
	if CollectEarly(); debug.SetGCPercent(100) != 100 {
		t.Error("it changes what an operator has set")
	}
	t.Setenv("GOGC", "")
	if CollectEarly(); debug.SetGCPercent(100) != garbageMost {
		t.Error("it collects garbage as late as any program of Go")
	}
}
