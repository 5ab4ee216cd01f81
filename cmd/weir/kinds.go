package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
)

// shortNames are what people type; the full name of a kind always works.
var shortNames = map[string][]string{
	"virtualservice":       {"vs"},
	"healthmonitor":        {"hm"},
	"applicationprofile":   {"app-profile"},
	"networkprofile":       {"net-profile"},
	"sslprofile":           {"ssl-profile"},
	"sslkeyandcertificate": {"cert"},
	"serviceengine":        {"se", "engine"},
	"serviceenginegroup":   {"seg", "engine-group"},
}

// kindCommands makes `weir KIND list|show|create|delete` for every kind of object there is.
func kindCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, kind := range schema.Kinds() {
		command := &cobra.Command{
			Use:     kind.Name,
			Aliases: shortNames[kind.Name],
			Short:   kind.Title + also(shortNames[kind.Name]),
			Long:    "List, show, create and delete objects of kind " + kind.Title + ".",
		}
		command.AddCommand(listCommand(kind), showCommand(kind), createCommand(kind), deleteCommand(kind))
		all = append(all, command)
	}
	return all
}

func also(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (also: " + strings.Join(names, ", ") + ")"
}

func listCommand(kind *schema.Kind) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "list",
		Short: "List them",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			session, err := openSession()
			if err != nil {
				return err
			}
			objects, err := session.List(command.Context(), kind.Name, nil)
			if err != nil {
				return expired(err)
			}
			if output == "json" {
				return printJSON(os.Stdout, nonNil(objects))
			}
			return printObjects(command.Context(), os.Stdout, session, kind.Name, objects)
		},
	}
	addOutput(command, &output)
	return command
}

func showCommand(kind *schema.Kind) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show one, with its state",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(kind),
		RunE: func(command *cobra.Command, args []string) error {
			session, err := openSession()
			if err != nil {
				return err
			}
			object, err := session.ByName(command.Context(), kind.Name, args[0])
			if err != nil {
				return expired(err)
			}
			if output == "json" {
				return printJSON(os.Stdout, object)
			}
			return printObject(command.Context(), os.Stdout, session, kind.Name, object)
		},
	}
	addOutput(command, &output)
	return command
}

func createCommand(kind *schema.Kind) *cobra.Command {
	var file, output string
	command := &cobra.Command{
		Use:   "create [NAME] [FIELD=VALUE …]",
		Short: "Create one, from fields or from a JSON file",
		Long: `Create an object from FIELD=VALUE pairs, from a JSON file (-f FILE, or -f - for standard input), or from both: pairs
win. A field may be a path (servers[0].ip.addr=10.0.0.1); a value that reads as JSON is taken as JSON; a reference may
be a name, written as in the API: pool_ref=/api/pool?name=web.`,
		Example: exampleOf(kind.Name),
		RunE: func(command *cobra.Command, args []string) error {
			object, err := composeObject(file, args)
			if err != nil {
				return err
			}
			session, err := openSession()
			if err != nil {
				return err
			}
			created, err := session.Create(command.Context(), kind.Name, object)
			if err != nil {
				return expired(err)
			}
			if output == "json" {
				return printJSON(os.Stdout, created)
			}
			fmt.Printf("Created %s %v (%v).\n", kind.Name, created["name"], created["uuid"])
			return nil
		},
	}
	command.Flags().StringVarP(&file, "file", "f", "", "JSON file to read the object from; - is standard input")
	addOutput(command, &output)
	return command
}

func exampleOf(kind string) string {
	switch kind {
	case "pool":
		return `  weir pool create web servers[0].ip.addr=10.0.0.1 servers[0].port=8080 health_monitor_refs[0]=/api/healthmonitor?name=System-HTTP`
	case "vsvip":
		return `  weir vsvip create web-vip vip[0].ip_address.addr=192.0.2.10`
	case "virtualservice":
		return `  weir vs create web vsvip_ref=/api/vsvip?name=web-vip pool_ref=/api/pool?name=web services[0].port=80`
	default:
		return fmt.Sprintf("  weir %s create NAME -f %s.json", kind, kind)
	}
}

func deleteCommand(kind *schema.Kind) *cobra.Command {
	return &cobra.Command{
		Use:               "delete NAME …",
		Short:             "Delete them",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeNames(kind),
		RunE: func(command *cobra.Command, names []string) error {
			session, err := openSession()
			if err != nil {
				return err
			}
			for _, name := range names {
				object, err := session.ByName(command.Context(), kind.Name, name)
				if err != nil {
					return expired(err)
				}
				if err := session.Delete(command.Context(), kind.Name, fmt.Sprint(object["uuid"])); err != nil {
					return expired(err)
				}
				fmt.Printf("Deleted %s %v.\n", kind.Name, object["name"])
			}
			return nil
		},
	}
}

// composeObject reads an object from a file and lays FIELD=VALUE pairs over it.
func composeObject(file string, args []string) (client.Object, error) {
	object := client.Object{}
	if file != "" {
		if err := readObject(file, &object); err != nil {
			return nil, err
		}
	}
	for i, arg := range args {
		field, value, isPair := strings.Cut(arg, "=")
		switch {
		case isPair:
			if err := setField(object, field, value); err != nil {
				return nil, fmt.Errorf("%s: %w", arg, err)
			}
		case i == 0:
			object["name"] = arg
		default:
			return nil, fmt.Errorf("%q is not FIELD=VALUE", arg)
		}
	}
	if len(object) == 0 {
		return nil, errors.New("nothing to create: give a NAME and FIELD=VALUE pairs, or -f FILE")
	}
	return object, nil
}

func readObject(file string, object *client.Object) error {
	source := os.Stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer opened.Close()
		source = opened
	}
	text, err := io.ReadAll(source)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return fmt.Errorf("%s is not a JSON object: %w", file, err)
	}
	return nil
}

func completeNames(kind *schema.Kind) cobra.CompletionFunc {
	return func(command *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		session, err := openSession()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		objects, err := session.List(command.Context(), kind.Name, nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, object := range objects {
			if name := fmt.Sprint(object["name"]); !slices.Contains(given, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// expired turns the refusal of an old session into what to do about it.
func expired(err error) error {
	if client.IsStatus(err, http.StatusUnauthorized) || client.IsStatus(err, 419) {
		return fmt.Errorf("the session has expired: run `weir login` again (%w)", err)
	}
	return err
}

func addOutput(command *cobra.Command, output *string) {
	command.Flags().StringVarP(output, "output", "o", "table", "table or json")
}

func nonNil(objects []client.Object) []client.Object {
	return append([]client.Object{}, objects...)
}
