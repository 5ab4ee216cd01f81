package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// aviFields lists Avi's fields: name, type, reference and default. The head of the file describes its format.
//
//go:embed avi_fields.txt
var aviFields string

// aviField is one line of aviFields.
type aviField struct {
	name   string
	typed  string // one of plainTypes, or a message
	listed bool
	ref    string // the kind that it refers to; Weir may lack that kind (refers)
	usual  any    // its default; nil: none
	secret bool
}

var plainTypes = []string{"string", "integer", "number", "boolean"}

// aviMessages are the fields of each message.
var aviMessages = parseAviFields(aviFields)

// AviFields adds messages to those of avi_fields.txt, in the same format, and returns their names. Call it to
// initialise a variable of the package: Go initialises variables before it runs the init functions that register kinds.
func AviFields(text string) (messages []string) {
	for message, fields := range parseAviFields(text) {
		if _, known := aviMessages[message]; known {
			panic("schema: the fields of " + message + " are known already")
		}
		aviMessages[message] = fields
		messages = append(messages, message)
	}
	return messages
}

func parseAviFields(text string) map[string][]aviField {
	messages := map[string][]aviField{}
	message := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			messages[message] = append(messages[message], parseAviField(message, strings.TrimSpace(line)))
		default:
			message = line
			messages[message] = nil
		}
	}
	return messages
}

func parseAviField(message, line string) aviField {
	line, usual, hasUsual := strings.Cut(line, " =")
	words := strings.Fields(line)
	f := aviField{name: words[0]}
	f.typed, f.listed = strings.CutPrefix(words[1], "[")
	f.typed = strings.TrimSuffix(f.typed, "]")
	for _, word := range words[2:] {
		if word == "secret" {
			f.secret = true
		}
		if ref, ok := strings.CutPrefix(word, "->"); ok {
			f.ref = ref
		}
	}
	if hasUsual {
		must(message+"."+f.name, json.Unmarshal([]byte(usual), &f.usual))
	}
	return f
}

// keepRest adds the fields that Avi has and the struct lacks.
func (k *Kind) keepRest() {
	if k.Own {
		return
	}
	if aviMessages[k.Title] == nil {
		panic("schema: no AviFields are of " + k.Title + ": give them, or say that it is Weir's Own")
	}
	k.record.keepRest(k.Title)
}

// keepRest adds to a record the fields of its Avi message that its struct lacks. Weir keeps them as they were sent: it
// checks their type, stores them, returns them, and KeptFields finds them.
func (r *record) keepRest(message string) {
	if r.message != "" {
		if r.message != message {
			panic(fmt.Sprintf("schema: %s is both %s and %s", r.goType, r.message, message))
		}
		return
	}
	r.message = message
	for _, known := range aviMessages[message] {
		known.mustHaveType(message)
		if f, has := r.byName[known.name]; has {
			f.keepRest(known)
			continue
		}
		f := known.kept()
		r.fields = append(r.fields, f)
		r.byName[f.name] = f
	}
}

// mustHaveType panics if the type of a field is no message of AviFields: no value would fit.
func (a aviField) mustHaveType(message string) {
	if _, isMessage := aviMessages[a.typed]; !isMessage && !slices.Contains(plainTypes, a.typed) {
		panic(fmt.Sprintf("schema: %s.%s is a %s, of which there are no AviFields", message, a.name, a.typed))
	}
}

// keepRest does the same for the objects in a field.
func (f *field) keepRest(known aviField) {
	if f.shape == list {
		f = f.element
	}
	if _, isMessage := aviMessages[known.typed]; isMessage && f.shape == object {
		f.record.keepRest(known.typed)
	}
}

// keptRecords are the messages that no struct describes. They are read only after the program has started.
var keptRecords = map[string]*record{}

func keptRecord(message string) *record {
	if known, ok := keptRecords[message]; ok {
		return known
	}
	r := &record{byName: map[string]*field{}}
	keptRecords[message] = r
	r.keepRest(message)
	return r
}

// kept describes a field that no struct has.
func (a aviField) kept() *field {
	leaf := &field{name: a.name, kept: true, usual: a.usual}
	switch a.typed {
	case "boolean":
		leaf.shape = boolean
	case "integer":
		leaf.shape, leaf.low, leaf.high = whole, math.MinInt64, math.MaxInt64
	case "number":
		leaf.shape = real
	case "string":
		leaf.shape = text
	default:
		leaf.shape, leaf.record = object, keptRecord(a.typed)
	}
	leaf.secret, leaf.ref = a.secret, a.ref
	if !a.listed {
		return leaf
	}
	leaf.name = ""
	return &field{name: a.name, kept: true, shape: list, element: leaf, items: maxItems}
}
