package rest

import (
	"fmt"
	"strconv"
	"strings"
)

// ancient is the version of a client that does not send one.
const ancient = "16.4.2"

// negotiate checks the version that the client asks for, and says which version the answer has.
func (c *call) negotiate() error {
	asked := firstWord(c.r.Header.Get("X-Avi-Version"))
	if asked == "" {
		asked = ancient
	}
	asked = strings.ReplaceAll(asked, "_", ".")
	// Header.Set would change the case of the name, which clients compare.
	c.w.Header()["AVI_API_VERSION"] = []string{asked}
	if newer(asked, APIVersion) {
		return &unsupportedVersion{asked}
	}
	return nil
}

type unsupportedVersion struct{ asked string }

func (e *unsupportedVersion) Error() string {
	underscored := strings.ReplaceAll(e.asked, ".", "_")
	return fmt.Sprintf(
		"Incoming request (v%s) is of a later version than this controller's (v%s): ask for X-Avi-Version %s",
		underscored, strings.ReplaceAll(APIVersion, ".", "_"), APIVersion)
}

func firstWord(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// newer compares two versions, number by number. Anything but a number counts as 0.
func newer(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if x, y := part(as, i), part(bs, i); x != y {
			return x > y
		}
	}
	return false
}

func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	value, err := strconv.Atoi(parts[i])
	if err != nil {
		return 0
	}
	return value
}
