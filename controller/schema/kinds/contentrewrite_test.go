package kinds

import (
	"fmt"
	"strings"
	"testing"
)

func TestRefusesTextsThatCannotBeReplaced(t *testing.T) {
	service := func(pairs string) string {
		return fmt.Sprintf(`{"name":"a","vsvip_ref":"/api/vsvip?name=a","services":[{"port":80}],
			"content_rewrite":{"rsp_rewrite_rules":[{"enable":true,"pairs":[%s]}]}}`, pairs)
	}
	pair := func(search, replacement string) string {
		return fmt.Sprintf(`{"search_string":{"val":%q},"replacement_string":{"val":%q}}`, search, replacement)
	}
	many := make([]string, 13)
	for i := range many {
		many[i] = pair(strings.Repeat("a", i+1), strings.Repeat("b", 16384))
	}
	for _, c := range []struct{ pairs, field, want string }{
		{strings.Join(many, ","), "pairs", "have 213083 bytes of text together: give at most 196608"},
		{pair("", "a"), "pairs[0].search_string.val", "is required"},
		{pair(strings.Repeat("a", 1025), ""), "pairs[0].search_string.val", "at most 1024"},
		{pair("a", strings.Repeat("b", 16385)), "pairs[0].replacement_string.val", "at most 16384"},
		{pair("a", "b") + "," + pair("a", "c"), "pairs[1].search_string.val", "pairs[0] already"},
	} {
		got := refusalOf(t, "virtualservice", service(c.pairs))
		want := "virtualservice: content_rewrite.rsp_rewrite_rules[0]." + c.field
		if !strings.HasPrefix(got, want) || !strings.Contains(got, c.want) {
			t.Errorf("got %s\nwant %s… %s", got, want, c.want)
		}
	}
}
