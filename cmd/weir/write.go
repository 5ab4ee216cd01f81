package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

const fieldsHelp = `A field may be a path (servers[0].ip.addr=10.0.0.1, which zsh wants quoted); [0] is the first of a list.
A value that reads as JSON is taken as JSON (true, 80, ["a","b"], null for none); anything else is text. A reference may be
the name of what it refers to (pool_ref=web).`

func createCommand(kind *schema.Kind) *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "create [NAME] [FIELD=VALUE …]",
		Short: "Create one, from fields or from a JSON file",
		Long: `Create an object from FIELD=VALUE pairs, from a JSON file (-f FILE, or -f - for standard input), or from both: pairs
win. ` + fieldsHelp,
		Example:           exampleOf(kind),
		ValidArgsFunction: completeFields(kind),
		SuggestFor:        []string{"add", "new"},
	}
	output := addOutput(command)
	command.Flags().StringVarP(&file, "file", "f", "", "JSON file to read the object from; - is standard input")
	command.RunE = func(command *cobra.Command, args []string) error {
		object, err := composeObject(kind, file, args)
		if err != nil {
			return err
		}
		session, err := openSession()
		if err != nil {
			return err
		}
		created, err := session.Create(command.Context(), kind.Name, object)
		if err != nil {
			return err
		}
		return printWritten(*output, "Created", kind, created)
	}
	return command
}

func setCommand(kind *schema.Kind) *cobra.Command {
	var file string
	names := append(named(kind), "[FIELD=VALUE …]")
	command := &cobra.Command{
		Use:   usage("set", names),
		Short: "Change fields of one",
		Long: `Change fields of an object, from FIELD=VALUE pairs, from a JSON file (-f FILE, or -f - for standard input), or from
both: pairs win. A field of the file replaces the whole field, with everything inside it; a pair changes what it names.
The other fields stay as they are. ` + fieldsHelp,
		Args: func(command *cobra.Command, args []string) error {
			if file != "" && len(args) == len(named(kind)) {
				return nil
			}
			return arguments(append(named(kind), "FIELD=VALUE …")...)(command, args)
		},
		ValidArgsFunction: completeNames(kind, 1),
		SuggestFor:        []string{"edit", "update", "change", "patch"},
	}
	if kind.Only != "" {
		command.ValidArgsFunction = completeFields(kind)
	}
	output := addOutput(command)
	command.Flags().StringVarP(&file, "file", "f", "", "JSON file with fields to change; - is standard input")
	command.RunE = func(command *cobra.Command, args []string) error {
		pairs := args[len(named(kind)):]
		changes, err := changesFrom(kind, file)
		if err != nil {
			return err
		}
		if _, err := composeFields(kind, client.Object{}, pairs); err != nil {
			return err // before anything is asked of the controller
		}
		session, object, err := open(command.Context(), kind, args)
		if err != nil {
			return err
		}
		delete(object, "runtime")
		if err := isOf(object, changes, file); err != nil {
			return err
		}
		maps.Copy(object, changes)
		if object, err = composeFields(kind, object, pairs); err != nil {
			return err
		}
		stored, err := session.Replace(command.Context(), kind.Name, object)
		if err != nil {
			return err
		}
		return printWritten(*output, "Changed", kind, stored)
	}
	return command
}

// changesFrom reads the fields to change from a file; "" means that there is none. If the file says when the object was
// last modified, a later change of somebody else is an error.
func changesFrom(kind *schema.Kind, file string) (client.Object, error) {
	if file == "" {
		return nil, nil
	}
	changes, err := readKind(kind, file)
	if err != nil {
		return nil, err
	}
	for _, own := range []string{"url", "runtime"} {
		delete(changes, own)
	}
	return changes, nil
}

// isOf refuses a file with the name or the uuid of another object: its fields would be written to the wrong one.
func isOf(object, changes client.Object, file string) error {
	for _, field := range []string{"uuid", "name"} {
		if of, has := changes[field]; has && of != object[field] {
			return fmt.Errorf("%s has the fields of %v, not of %v: remove %s from it", file, of, object[field], field)
		}
	}
	return nil
}

func printWritten(output format, done string, kind *schema.Kind, object client.Object) error {
	if output == asJSON {
		return printJSON(os.Stdout, object)
	}
	lines := append([]string{written(done, kind, column.Text(object["name"]))}, warned(object)...)
	_, err := fmt.Println(harmlessLines(strings.Join(lines, "\n")))
	return err
}

// warned is what the controller says will not come of a write, a line each.
func warned(object client.Object) []string {
	var lines []string
	for _, warning := range column.List(object, "weir_warnings") {
		lines = append(lines, fmt.Sprintf("Warning: %s: %s.", column.Text(column.At(warning, "field")),
			column.Text(column.At(warning, "message"))))
	}
	return lines
}

// written says what was done to the object, and where to look for what comes of it.
func written(done string, kind *schema.Kind, name string) string {
	said := fmt.Sprintf("%s %s %s", done, kind.Name, name)
	if kind.Serving == schema.IsService {
		said += fmt.Sprintf("; `weir vs engines %s` shows on how many engines it is applied", name)
	}
	return said + "."
}

// exampleOf is how to create an object of a kind.
func exampleOf(kind *schema.Kind) string {
	return cmp.Or(kind.Example, fmt.Sprintf("  weir %s create NAME -f %s.json", kind.Name, kind.Name))
}

// composeObject reads an object from a file, takes a name, and lays FIELD=VALUE pairs over it.
func composeObject(kind *schema.Kind, file string, args []string) (client.Object, error) {
	object := client.Object{}
	if file != "" {
		read, err := readKind(kind, file)
		if err != nil {
			return nil, err
		}
		object = read
	}
	if len(args) > 0 && !strings.Contains(args[0], "=") {
		object["name"] = args[0]
		args = args[1:]
	}
	if len(object) == 0 && len(args) == 0 {
		return nil, errors.New("nothing to create: give a NAME and FIELD=VALUE pairs, or -f FILE")
	}
	return composeFields(kind, object, args)
}

// composeFields lays FIELD=VALUE pairs over an object. A pair must name fields that there are; a file need not, so that
// what another controller exported can be read.
func composeFields(kind *schema.Kind, object client.Object, pairs []string) (client.Object, error) {
	given := client.Object{}
	for _, pair := range pairs {
		path, value, isPair := strings.Cut(pair, "=")
		if !isPair {
			return nil, fmt.Errorf("%q is not FIELD=VALUE", pair)
		}
		for _, target := range []client.Object{given, object} {
			if err := setField(target, path, value); err != nil {
				return nil, fmt.Errorf("%s: %w", pair, err)
			}
		}
	}
	if err := kind.Unknown(given); err != nil {
		return nil, err
	}
	referByName(kind, object)
	return object, nil
}

var uuid = regexp.MustCompile(`^[a-z]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// referByName turns the bare name in a reference into what the API takes for a name.
func referByName(kind *schema.Kind, object client.Object) {
	for _, reference := range kind.References(object) {
		if !strings.Contains(reference.Value, "/") && !uuid.MatchString(reference.Value) {
			reference.Set("/api/" + reference.Kind + "?name=" + url.QueryEscape(reference.Value))
		}
	}
}

// readKind reads the object of a kind from a file.
func readKind(kind *schema.Kind, file string) (client.Object, error) {
	var object client.Object
	if err := readObject(file, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, fmt.Errorf("%s is not a JSON object: it is null", file)
	}
	inner, err := ofKind(kind, object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return inner, nil
}

// readFile reads a file, or what stands behind -, standard input.
func readFile(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(file)
}

func readObject(file string, object *client.Object) error {
	text, err := readFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return fmt.Errorf("%s is not a JSON object: %w", file, err)
	}
	return nil
}

// ofKind returns the object of a kind from a file, which may have objects of several kinds, each behind the name of its
// kind, as the documentation prints them. A field that no object has would be dropped, and the object be empty.
func ofKind(kind *schema.Kind, file client.Object) (client.Object, error) {
	var others []string
	for name, value := range file {
		inner, isObject := value.(map[string]any)
		if !isObject || slices.Contains(kind.Fields(), name) {
			continue
		}
		if name == kind.Name {
			return inner, nil
		}
		if _, isKind := schema.Lookup(name); isKind {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		return nil, fmt.Errorf("has an object of %s, and none of %s", strings.Join(others, " and "), kind.Name)
	}
	return file, nil
}

// completeFields completes the FIELD of FIELD=VALUE.
func completeFields(kind *schema.Kind) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		var fields []string
		for _, name := range kind.Fields() {
			if strings.HasPrefix(name, begun) {
				fields = append(fields, name+"=")
			}
		}
		return fields, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
