package controller

import (
	"os"
	"runtime/debug"
)

// garbageMost is how much garbage there may be, in percent of the memory in use. Go's default is 100. Most of the
// memory of a controller is objects and series, which stay, and it makes little garbage: it can be collected more
// often.
const garbageMost = 40

// CollectEarly has garbage collected before there is much of it, unless an operator has set GOGC.
func CollectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageMost)
	}
}
