package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// cipherRulesMax bounds a cipher string; there are fewer suites than this.
const cipherRulesMax = 256

// cipherList reads an OpenSSL cipher string (ciphers(1)): names of OpenSSL or IANA, keywords, + ! - and @STRENGTH. It
// returns IANA names in order of preference, and the rules that it did not understand. Like OpenSSL, it skips these
// rules. Keywords never match TLS 1.3 suites, only names do.
func cipherList(text string) (iana []string, unknown []string) {
	list := &selection{}
	for i := range suites {
		list.order = append(list.order, &choice{suite: &suites[i]})
	}
	rules := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(":, ;", r) })
	if len(rules) > cipherRulesMax {
		rules, unknown = rules[:cipherRulesMax], []string{fmt.Sprintf("all after the first %d", cipherRulesMax)}
	}
	for _, rule := range rules {
		if !list.apply(rule) {
			unknown = append(unknown, rule)
		}
	}
	for _, choice := range list.order {
		if choice.active {
			iana = append(iana, choice.suite.iana)
		}
	}
	return iana, unknown
}

// selection works like OpenSSL's linked list: each rule moves the suites that it matches to the end, and a rule with -
// moves them to the front.
type selection struct {
	order []*choice
}

type choice struct {
	suite  *suite
	active bool
	killed bool
}

// apply reports whether it understood the rule.
func (l *selection) apply(rule string) bool {
	switch {
	case rule == "@STRENGTH":
		slices.SortStableFunc(l.order, func(a, b *choice) int { return cmp.Compare(b.suite.bits, a.suite.bits) })
		return true
	case strings.HasPrefix(rule, "@SECLEVEL="):
		return true
	case rule == "DEFAULT":
		return l.apply("ALL") && l.apply("-RC4") && l.apply("-3DES")
	}
	operator := rule[0]
	if strings.ContainsRune("!-+", rune(operator)) {
		rule = rule[1:]
	}
	matches, known := matcher(rule)
	if known {
		l.move(operator, matches)
	}
	return known
}

func (l *selection) move(operator byte, matches func(*suite) bool) {
	var kept, moved []*choice
	for _, choice := range l.order {
		if matches(choice.suite) && !choice.killed && choice.affected(operator) {
			moved = append(moved, choice)
		} else {
			kept = append(kept, choice)
		}
	}
	for _, choice := range moved {
		choice.active = operator != '!' && operator != '-'
		choice.killed = operator == '!'
	}
	if operator == '-' {
		l.order = append(moved, kept...) // as in OpenSSL: suites that are added again keep their order
		return
	}
	l.order = append(kept, moved...)
}

// affected: a plain rule adds inactive suites, - and + change active ones, ! removes both for good.
func (c *choice) affected(operator byte) bool {
	switch operator {
	case '!':
		return true
	case '-', '+':
		return c.active
	default:
		return !c.active
	}
}

// matcher reads one name, one keyword, or several keywords joined by + that must all match.
func matcher(rule string) (matches func(*suite) bool, known bool) {
	if named := suiteByName[rule]; named != nil {
		return func(s *suite) bool { return s == named }, true
	}
	keywords := strings.Split(rule, "+")
	for _, keyword := range keywords {
		if !isKeyword(keyword) {
			return nil, false
		}
	}
	return func(s *suite) bool {
		return !slices.ContainsFunc(keywords, func(keyword string) bool { return !s.is(keyword) })
	}, true
}

var suiteByName = func() map[string]*suite {
	byName := map[string]*suite{}
	for i := range suites {
		byName[suites[i].openssl], byName[suites[i].iana] = &suites[i], &suites[i]
	}
	return byName
}()

func isKeyword(word string) bool {
	return slices.Contains(barren, word) || slices.ContainsFunc(suites, func(s suite) bool { return s.is(word) })
}

func (s *suite) is(keyword string) bool {
	if s.version == tls13 {
		return false
	}
	switch keyword {
	case "ALL":
		return true
	case "HIGH":
		return s.bits >= 128
	case "MEDIUM":
		return s.bits < 128
	case "TLSv1.2", "TLSv1", "TLSv1.0", "SSLv3":
		return s.version == strings.TrimSuffix(keyword, ".0")
	default:
		return slices.Contains(s.words, keyword)
	}
}
