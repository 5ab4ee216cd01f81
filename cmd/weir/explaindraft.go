package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/client/top"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// drafted is an object of a file as it would be written.
type drafted struct {
	kind   *schema.Kind
	fields client.Object
}

// draftOf reads what --with names: FILE, with objects behind the names of their kinds, or KIND/NAME=FILE, with the
// fields of one object. It returns them as the controller takes them: with all fields and the uuid, if they are there
// already.
func draftOf(ctx context.Context, session *client.Session, with string) ([]any, error) {
	objects, err := readDraft(with)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, object := range objects {
		fields := object.fields
		if stored, err := storedAs(ctx, session, object); err == nil {
			maps.Copy(stored, fields)
			fields = stored
		} else if !errors.Is(err, client.ErrNotFound) {
			return nil, err
		}
		for _, own := range []string{"url", "runtime"} {
			delete(fields, own)
		}
		referByName(object.kind, fields)
		all = append(all, map[string]any{object.kind.Name: fields})
	}
	return all, nil
}

// storedAs is the stored object that a draft changes. Error: client.ErrNotFound, if it is new.
func storedAs(ctx context.Context, session *client.Session, of drafted) (client.Object, error) {
	if of.kind.Only != "" {
		var only client.Object
		return only, session.Get(ctx, of.kind.Name, &only)
	}
	for _, field := range []string{"uuid", "name"} {
		if text, _ := of.fields[field].(string); text != "" {
			return session.ByName(ctx, of.kind.Name, text)
		}
	}
	return nil, fmt.Errorf("the %s has no name", of.kind.Name)
}

func readDraft(with string) ([]drafted, error) {
	named, file, isNamed := strings.Cut(with, "=")
	if !isNamed {
		text, err := readFile(with)
		if err != nil {
			return nil, err
		}
		objects, err := objectsIn(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", with, err)
		}
		return objects, nil
	}
	kindName, name, hasName := strings.Cut(named, "/")
	kind := kindNamed(kindName)
	if kind == nil || !hasName || name == "" {
		return nil, fmt.Errorf("--with %s: give FILE or KIND/NAME=FILE, as in httppolicyset/house=house.json", with)
	}
	fields, err := readKind(kind, file)
	if err != nil {
		return nil, err
	}
	fields["name"] = name
	return []drafted{{kind, fields}}, nil
}

// kindNamed is the kind with a name, or with a short one; nil: there is none.
func kindNamed(name string) *schema.Kind {
	if kind, known := schema.Lookup(name); known {
		return kind
	}
	for _, kind := range schema.Kinds() {
		for _, short := range kind.Short {
			if short == name {
				return kind
			}
		}
	}
	return nil
}

// objectsIn are the objects of a file, in its order: those that it has may refer to each other.
func objectsIn(text []byte) (objects []drafted, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("is not a JSON object: %w", err)
		}
		kind := kindNamed(fmt.Sprint(name))
		if kind == nil {
			return nil, fmt.Errorf(`%v is no kind of object: put objects behind the names of their kinds, as in `+
				`{"httppolicyset": {…}}, or give KIND/NAME=FILE`, name)
		}
		var fields client.Object
		if err := decoder.Decode(&fields); err != nil || fields == nil {
			return nil, fmt.Errorf("%v is not a JSON object", name)
		}
		objects = append(objects, drafted{kind, fields})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("is not a JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more behind its JSON object: put all objects into one")
	}
	if len(objects) == 0 {
		return nil, errors.New("has no object")
	}
	return objects, nil
}

// printDraft says what the answer goes by, and what the controller would say to the writes.
func printDraft(out io.Writer, answer map[string]any) error {
	var names, lines []string
	for _, item := range column.List(answer, "draft") {
		what := column.Text(column.At(item, "kind")) + " " + column.Text(column.At(item, "name"))
		names = append(names, what)
		for _, warning := range column.List(item, "weir_warnings") {
			lines = append(lines, fmt.Sprintf("Warning: %s: %s: %s.", what, column.Text(column.At(warning, "field")),
				column.Text(column.At(warning, "message"))))
		}
	}
	if len(names) == 0 {
		return nil
	}
	lines = append([]string{"As if this were stored: " + strings.Join(names, ", ") + ". Nothing is written."}, lines...)
	for _, item := range column.List(answer, "findings") {
		say := func(field string) string { return column.Text(column.At(item, field)) }
		lines = append(lines, fmt.Sprintf("%s %s: %s: %s.", say("kind"), say("name"), say("field"), say("why")))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, top.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}
