package top

import (
	"unicode"
	"unicode/utf8"
)

// key is a key that was pressed: a character, or one of those below.
type key rune

const (
	keyEnter     key = '\r'
	keyEscape    key = '\x1b'
	keyBackspace key = '\x7f'
	keyInterrupt key = '\x03'
	keyUp        key = -1
	keyDown      key = -2
	keyPageUp    key = -3
	keyPageDown  key = -4
)

// sequences are what terminals send for some keys.
var sequences = map[string]key{
	"\x1b[A": keyUp, "\x1bOA": keyUp, "\x1b[B": keyDown, "\x1bOB": keyDown, "\x1b[5~": keyPageUp,
	"\x1b[6~": keyPageDown, "\n": keyEnter, "\b": keyBackspace,
}

// keysIn are the keys in what a terminal sent at once. Sequences that mean nothing here are left out.
func keysIn(sent []byte) (keys []key) {
	for len(sent) > 0 {
		length := sequenceLength(sent)
		if known, ok := sequences[string(sent[:length])]; ok {
			keys = append(keys, known)
		} else if r, size := utf8.DecodeRune(sent); size == length && r != utf8.RuneError {
			keys = append(keys, key(r))
		}
		sent = sent[length:]
	}
	return keys
}

// sequenceLength is the length of the first key in bytes. An escape that nothing follows is the key itself.
func sequenceLength(sent []byte) int {
	if sent[0] != '\x1b' || len(sent) == 1 || sent[1] != '[' && sent[1] != 'O' {
		_, size := utf8.DecodeRune(sent)
		return size
	}
	for i := 2; i < len(sent); i++ {
		if sent[i] >= '@' && sent[i] <= '~' {
			return i + 1
		}
	}
	return len(sent)
}

// action is what a key makes the program do, besides changing the view.
type action int

const (
	stay action = iota
	quit
	open // the virtual service below the cursor
	turn // to another page, or back
)

// moves are the keys that move up or down, by a number of rows.
var moves = map[key]int{
	keyUp: -1, 'k': -1, keyDown: 1, 'j': 1, keyPageUp: -10, keyPageDown: 10,
}

// press changes the view as a key says. rows is the number of virtual services that are listed, or of lines of another
// page.
func (v *view) press(k key, rows int) action {
	v.notice = ""
	if k == keyInterrupt {
		return quit
	}
	if v.typing {
		v.typeFilter(k)
		return stay
	}
	switch k {
	case 'q':
		return quit
	case keyEscape, 'h', keyBackspace:
		return v.back()
	}
	if by := moves[k]; by != 0 {
		v.move(by, rows)
	}
	if v.page != servicesPage {
		return stay
	}
	switch k {
	case 's':
		v.order, v.cursor = (v.order+1)%orders, 0
	case '/':
		v.typing = true
	case 'e':
		v.page, v.offset = enginesPage, 0
		return turn
	case keyEnter:
		if rows > 0 {
			v.page, v.offset = servicePage, 0
			return open
		}
	}
	return stay
}

func (v *view) move(by, rows int) {
	at := &v.cursor
	if v.page != servicesPage {
		at = &v.offset
	}
	*at = max(0, min(*at+by, rows-1))
}

func (v *view) back() action {
	if v.page == servicesPage {
		v.filter, v.cursor = "", 0
		return stay
	}
	v.page = servicesPage
	return turn
}

// filterMost is the length of a name at most.
const filterMost = 255

func (v *view) typeFilter(k key) {
	v.cursor = 0
	switch letters := []rune(v.filter); {
	case k == keyEnter:
		v.typing = false
	case k == keyEscape:
		v.typing, v.filter = false, ""
	case k == keyBackspace:
		v.filter = string(letters[:max(0, len(letters)-1)])
	case k > 0 && unicode.IsGraphic(rune(k)) && len(letters) < filterMost:
		v.filter += string(rune(k))
	}
}
