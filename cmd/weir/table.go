package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weir-lb/weir/client"
)

// column is a heading and how to read its cell from an object and its runtime.
type column struct {
	heading string
	cell    func(object, runtime client.Object) string
}

// printObjects prints a table of objects of one kind.
func printObjects(ctx context.Context, out io.Writer, session *client.Session, kind string, objects []client.Object) error {
	if len(objects) == 0 {
		_, err := fmt.Fprintf(out, "No %s.\n", kind)
		return err
	}
	columns := columnsOf(kind)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, c := range columns {
		fmt.Fprint(table, c.heading, "\t")
	}
	fmt.Fprintln(table)
	for _, object := range objects {
		runtime, err := runtimeOf(ctx, session, kind, object)
		if err != nil {
			return err
		}
		for _, c := range columns {
			fmt.Fprint(table, dash(c.cell(object, runtime)), "\t")
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// printObject prints every field of one object, then its runtime.
func printObject(ctx context.Context, out io.Writer, session *client.Session, kind string, object client.Object) error {
	runtime, err := runtimeOf(ctx, session, kind, object)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	printFields(table, "", map[string]any(object))
	if runtime != nil {
		fmt.Fprintln(table, "\nruntime\t")
		printFields(table, "  ", map[string]any(runtime))
	}
	return table.Flush()
}

// printFields prints nested values as lines that are indented by depth.
func printFields(out io.Writer, indent string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range fieldOrder(v) {
			printField(out, indent, name, v[name])
		}
	case []any:
		for i, item := range v {
			printField(out, indent, fmt.Sprintf("[%d]", i), item)
		}
	}
}

func printField(out io.Writer, indent, name string, value any) {
	switch v := value.(type) {
	case map[string]any, []any:
		fmt.Fprintf(out, "%s%s\t\n", indent, name)
		printFields(out, indent+"  ", v)
	default:
		fmt.Fprintf(out, "%s%s\t%s\n", indent, name, text(v))
	}
}

// fieldOrder puts what names an object first.
func fieldOrder(object map[string]any) []string {
	var names []string
	for name := range object {
		names = append(names, name)
	}
	rank := func(name string) int {
		if at := slices.Index([]string{"name", "uuid", "url"}, name); at >= 0 {
			return at
		}
		return 3
	}
	slices.SortFunc(names, func(a, b string) int {
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		return strings.Compare(a, b)
	})
	return names
}

// runtimeOf reads the state of an object; nil for kinds that have none.
func runtimeOf(ctx context.Context, session *client.Session, kind string, object client.Object) (client.Object, error) {
	if !slices.Contains([]string{"virtualservice", "pool", "serviceengine"}, kind) {
		return nil, nil
	}
	var runtime client.Object
	if err := session.Get(ctx, fmt.Sprintf("%s/%v/runtime", kind, object["uuid"]), &runtime); err != nil {
		return nil, expired(err)
	}
	return runtime, nil
}

// at reads a value by names; nil when it is not there.
func at(value any, names ...string) any {
	for _, name := range names {
		switch v := value.(type) {
		case client.Object:
			value = v[name]
		case map[string]any:
			value = v[name]
		default:
			return nil
		}
	}
	return value
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return refName(v)
	case float64:
		return fmt.Sprintf("%g", v)
	default:
		return fmt.Sprint(v)
	}
}

// refName shortens a reference such as https://host/api/pool/pool-1#web to web.
func refName(value string) string {
	if _, name, found := strings.Cut(value, "#"); found && strings.Contains(value, "/api/") {
		return name
	}
	return value
}

func dash(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
