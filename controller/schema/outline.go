package schema

import "math"

// Outline describes the fields of a kind as JSON, for programs that make forms. All of it follows from the tags, the
// rules of the kind and avi_fields.txt. A field has
//
//	name, type            boolean, integer, number, string, list, object
//	element               of a list: its type, without a name
//	fields                of an object; absent if the field is only kept: then its content is any JSON
//	default               a reference by name, as a client would send it
//	min, max, also, most  the range, one value outside of it, and the longest list
//	enum, ref             the values, and the kind that it refers to
//	required, secret, computed
//	effect, why           if it has no function: none, closes or refused, and what happens instead
//	kept                  no part of Weir reads it
func (k *Kind) Outline() []any { return k.outline(k.record, "") }

func (k *Kind) outline(r *record, within string) []any {
	fields := []any{}
	for _, f := range r.fields {
		at := f.name
		if within != "" {
			at = within + "." + f.name
		}
		outlined := k.outlineField(f, at)
		outlined["name"] = f.name
		fields = append(fields, outlined)
	}
	return fields
}

func (k *Kind) outlineField(f *field, at string) Object {
	o := Object{"type": shapeNames[f.shape]}
	for name, is := range map[string]bool{"required": f.required, "secret": f.secret, "computed": f.computed,
		"kept": f.kept} {
		if is {
			o[name] = true
		}
	}
	if f.fallback != nil {
		o["default"] = clone(f.fallback)
	}
	if judged, said := k.judgementOn(f, at); said {
		o["effect"], o["why"] = effectNames[judged.effect], judged.why
	}
	switch f.shape {
	case list:
		o["most"] = int64(f.items)
		o["element"] = k.outlineField(f.element, at)
		delete(o["element"].(Object), "effect")
		delete(o["element"].(Object), "why")
	case object:
		if !f.kept {
			o["fields"] = k.outline(f.record, at)
		}
	case whole:
		f.outlineRange(o)
	}
	if f.enum != nil {
		o["enum"] = stringsOf(f.enum)
	}
	if f.refers() {
		o["ref"] = f.ref
	}
	return o
}

// judgementOn says what a value in a field means, if the field has no function.
func (k *Kind) judgementOn(f *field, at string) (judgement, bool) {
	switch {
	case f.kept:
		return k.judge(at, guarding.MatchString(f.name)), true
	case f.unread:
		judged, about := k.judgeUnread(at, nil)
		return judged, about != ""
	}
	return judgement{}, false
}

func (f *field) outlineRange(o Object) {
	if f.low > math.MinInt32 {
		o["min"] = f.low
	}
	if f.high < math.MaxInt32 || f.high == math.MaxUint32 {
		o["max"] = f.high
	}
	if f.also != nil {
		o["also"] = *f.also
	}
}

func stringsOf(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

var shapeNames = map[shape]string{boolean: "boolean", whole: "integer", real: "number", text: "string", list: "list",
	object: "object"}

var effectNames = map[effect]string{noEffect: "none", closes: "closes", refused: "refused"}
