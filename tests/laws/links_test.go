package laws

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	for _, page := range sources(t, ".md") {
		for _, match := range markdownLink.FindAllStringSubmatch(string(read(t, page)), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, match[1])
			} else if anchor != "" && !anchors(string(read(t, target)))[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", page, match[1], target)
			}
		}
	}
}

// anchors are what the headings of a page are linked by.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")] = true
	}
	return all
}
