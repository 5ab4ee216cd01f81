package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/client/top"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// withRuntime asks the API for the state of objects along with them.
var withRuntime = url.Values{"join_subresources": {"runtime"}, "include_name": {"true"}}

// kindCommands makes `weir KIND list|show|create|set|delete` for every kind of object there is.
func kindCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, kind := range schema.Kinds() {
		command := &cobra.Command{
			Use:        kind.Name,
			Aliases:    kind.Short,
			Short:      kind.Title + also(kind.Short),
			Long:       "Objects of kind " + kind.Title + "." + originOf(kind),
			SuggestFor: plurals(kind),
		}
		command.AddCommand(showCommand(kind), setCommand(kind))
		if kind.Only == "" {
			command.AddCommand(listCommand(kind), deleteCommand(kind))
		}
		if kind.Creatable() {
			command.AddCommand(createCommand(kind))
		}
		if actions := actionsOf[kind.Name]; actions != nil {
			command.AddCommand(actions(kind)...)
		}
		all = append(all, menu(command))
	}
	return all
}

func also(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (also: " + strings.Join(names, ", ") + ")"
}

// plurals are what people type who want a list.
func plurals(kind *schema.Kind) []string {
	var all []string
	for _, name := range append([]string{kind.Name}, kind.Short...) {
		all = append(all, name+"s")
	}
	return all
}

// originOf says where objects come from that nobody creates.
func originOf(kind *schema.Kind) string {
	switch {
	case kind.Only != "":
		return " There is exactly one."
	case !kind.Creatable() && kind.Name != "serviceengine":
		return " They come by themselves."
	case !kind.Creatable():
		return " They come by themselves: let an engine join with `weir agent --controller HOST:9444 --token \"$(weir token)\"`."
	}
	return ""
}

func listCommand(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use:        "list",
		Short:      "List them",
		Args:       arguments(),
		SuggestFor: []string{"ls", "get"},
	}
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		session, err := openSession()
		if err != nil {
			return err
		}
		objects, err := session.List(command.Context(), kind.Name, withRuntime)
		if err != nil {
			return err
		}
		if *output == asJSON {
			return printJSON(os.Stdout, append([]client.Object{}, objects...))
		}
		if len(objects) == 0 {
			fmt.Println(howToBegin(kind))
			return nil
		}
		others := column.Others{}
		for _, other := range kind.Beside {
			found, err := listIfAllowed(command.Context(), session, other, withRuntime)
			if err != nil {
				return err
			}
			others.Add(found)
		}
		return tableOf(kind, objects, others, time.Now()).print(os.Stdout)
	}
	return command
}

// listIfAllowed lists the objects that the columns of another kind refer to. If the user may not read them, there are
// none, and these columns are empty.
func listIfAllowed(
	ctx context.Context, session *client.Session, kind string, query url.Values,
) ([]client.Object, error) {
	found, err := session.List(ctx, kind, query)
	if problem := (*client.Problem)(nil); errors.As(err, &problem) && problem.Status == http.StatusForbidden {
		return nil, nil
	}
	return found, err
}

// howToBegin is printed instead of an empty table.
func howToBegin(kind *schema.Kind) string {
	if !kind.Creatable() {
		return "There is no " + kind.Name + "." + originOf(kind)
	}
	return fmt.Sprintf("There is no %s. Create one:\n%s", kind.Name, exampleOf(kind))
}

func showCommand(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use:        usage("show", named(kind)),
		Short:      "Show one, with its state",
		Args:       arguments(named(kind)...),
		SuggestFor: []string{"get"},
	}
	how := alone(show)
	if kind.Name == "virtualservice" {
		how = showService
	}
	return reading(command, kind, how, func(object client.Object) any { return object })
}

// showing shows an object that was read over a session.
type showing func(ctx context.Context, session *client.Session, object client.Object) error

// alone shows an object, and nothing beside it.
func alone(show func(io.Writer, client.Object, time.Time) error) showing {
	return func(_ context.Context, _ *client.Session, object client.Object) error {
		return show(os.Stdout, object, time.Now())
	}
}

// showService shows a virtual service, and what it did in the last minutes.
func showService(ctx context.Context, session *client.Session, object client.Object) error {
	if err := show(os.Stdout, object, time.Now()); err != nil {
		return err
	}
	fmt.Println()
	return top.Recent(ctx, session, fmt.Sprint(object["uuid"]), os.Stdout)
}

// reading makes a command show the object of a kind that its arguments name, or print what is asked for of it as JSON.
func reading(command *cobra.Command, kind *schema.Kind, show showing, asked func(client.Object) any) *cobra.Command {
	command.ValidArgsFunction = completeNames(kind, 1)
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		session, object, err := open(command.Context(), kind, args)
		if err != nil {
			return err
		}
		if *output == asJSON {
			return printJSON(os.Stdout, asked(object))
		}
		return show(command.Context(), session, object)
	}
	return command
}

func show(out io.Writer, object client.Object, now time.Time) error {
	rest, counters := takeGroup(object, "counters")
	rest, times := takeGroup(rest, "times")
	rest, workers := takeList(rest, "workers")
	rest, tls := takeGroup(rest, "tls")
	rest, host := takeGroup(rest, "host")
	err := printParts(out, fieldsOf(rest), countersOf(counters), timesOf(times), workersOf(workers), machineOf(host),
		interfacesOf(host), serversOf(object), checksOf(object),
		handshakesOf(tls), causesOf(counters), handshakeFailuresOf(tls))
	if err != nil || column.At(object, "runtime", "service_engine") == nil {
		return err
	}
	fmt.Fprintln(out)
	return showEngines(out, object, now)
}

// named are the arguments that say which object of a kind: none where there is only one.
func named(kind *schema.Kind) []string {
	if kind.Only != "" {
		return nil
	}
	return []string{"NAME"}
}

func usage(name string, arguments []string) string {
	return strings.Join(append([]string{name}, arguments...), " ")
}

// open opens a session and reads the object that the arguments name, with its state.
func open(ctx context.Context, kind *schema.Kind, args []string) (*client.Session, client.Object, error) {
	session, err := openSession()
	if err != nil {
		return nil, nil, err
	}
	object, err := find(ctx, session, kind, args)
	return session, object, err
}

// find reads the object that the arguments name, with its state.
func find(ctx context.Context, session *client.Session, kind *schema.Kind, args []string) (client.Object, error) {
	path := kind.Name
	if kind.Only == "" {
		object, err := session.ByName(ctx, kind.Name, args[0])
		if errors.Is(err, client.ErrNotFound) {
			return nil, fmt.Errorf("there is no %s named %q: `weir %s list` shows what there is", kind.Name,
				args[0], kind.Name)
		} else if err != nil {
			return nil, err
		}
		path += "/" + fmt.Sprint(object["uuid"])
	}
	var object client.Object
	return object, session.Get(ctx, path+"?"+withRuntime.Encode(), &object)
}

func deleteCommand(kind *schema.Kind) *cobra.Command {
	return &cobra.Command{
		Use:               "delete NAME …",
		Short:             "Delete them",
		Args:              arguments("NAME …"),
		ValidArgsFunction: completeNames(kind, -1),
		SuggestFor:        []string{"rm", "remove", "del"},
		RunE: func(command *cobra.Command, names []string) error {
			session, err := openSession()
			if err != nil {
				return err
			}
			for _, name := range names {
				object, err := find(command.Context(), session, kind, []string{name})
				if err != nil {
					return err
				}
				if err := session.Delete(command.Context(), kind.Name, fmt.Sprint(object["uuid"])); err != nil {
					return notDeleted(kind, name, err)
				}
				fmt.Printf("Deleted %s %v.\n", kind.Name, harmless(fmt.Sprint(object["name"])))
			}
			return nil
		},
	}
}

// notDeleted adds which one, and what to do where others stand on it.
func notDeleted(kind *schema.Kind, name string, err error) error {
	if client.IsStatus(err, http.StatusPreconditionFailed) {
		return fmt.Errorf("%s %s: %w: change or delete those first", kind.Name, name, err)
	}
	if strings.HasPrefix(err.Error(), kind.Name+": ") {
		return err
	}
	return fmt.Errorf("%s %s: %w", kind.Name, name, err)
}

// completeNames completes at most so many names of objects; -1 is any number.
func completeNames(kind *schema.Kind, most int) cobra.CompletionFunc {
	return func(command *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(given) == most || kind.Only != "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
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
