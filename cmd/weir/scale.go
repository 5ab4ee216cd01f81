package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// actionsOf are commands for what can be done with objects of a kind beside changing them.
var actionsOf = map[string]func(*schema.Kind) []*cobra.Command{
	"virtualservice":    scaleCommands,
	"alertconfig":       silenceCommands,
	"webhook":           testCommands,
	"actiongroupconfig": testCommands,
	"alertemailconfig":  testCommands,
	"alertsyslogconfig": testCommands,
	"serviceenginegroup": func(kind *schema.Kind) []*cobra.Command {
		return []*cobra.Command{redistributeCommand(kind)}
	},
}

// scaleVerb is something that an operator can ask of one virtual service.
type scaleVerb struct {
	name, short string
	to, from    string // help of the flags; empty: it has none
	more        string // help
	then        string // what becomes of the virtual service; empty: it is on more engines, or on fewer
}

var scaleVerbs = []scaleVerb{
	{name: "scaleout", short: "Add an engine", to: "the engine to add", more: toMany},
	{name: "scalein", short: "Remove an engine, after its clients have finished",
		from: "the engine to remove", more: toMany},
	{name: "migrate", short: "Move it from one engine to another, which serves first", to: "the engine to move to",
		from: "the engine to move from; needed if there are several", then: "shall be on another engine"},
	{name: "switchover", short: "Make another of its engines the primary, or the standby the active one",
		to:   "the new primary",
		then: "shall have another of its engines for the primary"},
	{name: "retryplacement", short: "Retry engines that failed to start it",
		then: "is tried again on engines that failed to start it"},
}

const toMany = `

The engine group sets the least and the largest number of engines of its virtual services. To scale all of them to 8:
  weir engine-group set Default-Group min_scaleout_per_vs=8 max_scaleout_per_vs=64 max_se=64`

// scaleCommands are what can be done with a virtual service beside what can be done with every object.
func scaleCommands(kind *schema.Kind) []*cobra.Command {
	commands := []*cobra.Command{enginesCommand(kind), rotateKeysCommand(kind), purgeCommand(kind)}
	for _, verb := range scaleVerbs {
		commands = append(commands, verb.command(kind))
	}
	return commands
}

func (v scaleVerb) command(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use: v.name + " NAME", Short: v.short, Long: v.short + "." + v.more, Args: arguments("NAME"),
		ValidArgsFunction: completeNames(kind, 1),
	}
	var to, host, from string
	var primary, fresh bool
	if v.to != "" {
		command.Flags().StringVar(&to, "to", "", v.to)
	}
	if v.name == "scaleout" || v.name == "migrate" {
		command.Flags().BoolVar(&fresh, "to-new", false,
			"to an empty engine; a cloud that starts engines starts one if there is none")
		command.Flags().StringVar(&host, "to-host", "", "to an engine on the host of this name")
	}
	if v.from != "" {
		command.Flags().StringVar(&from, "from", "", v.from)
	}
	if v.name == "scalein" {
		command.Flags().BoolVar(&primary, "primary", false, "remove the primary")
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		session, object, err := open(command.Context(), kind, args)
		if err != nil {
			return err
		}
		order := client.Object{"scalein_primary": primary, "to_new_se": fresh}
		refer(order, "to_se_ref", "serviceengine", to)
		refer(order, "from_se_ref", "serviceengine", from)
		refer(order, "to_host_ref", "vimgrhostruntime", host)
		var runtime client.Object
		if err := session.Post(command.Context(), fmt.Sprintf("%s/%v/%s", kind.Name, object["uuid"], v.name), order,
			&runtime); err != nil {
			return err
		}
		fmt.Println(harmless(v.told(object["name"], runtime["num_se_requested"])))
		return nil
	}
	return command
}

func rotateKeysCommand(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use: "rotatekeys NAME", Short: "Make TLS session tickets with the next key now",
		Long: `Have all engines make TLS session tickets with the next key now, before its time. This affects all virtual services that have one of its SSL
profiles. Engines still accept tickets of the previous key. To replace every key, rotate three times.`,
	}
	return acting(command, kind, func(name string, _ client.Object) string {
		return name + " makes session tickets by the next key, with all that have one of its SSL profiles."
	})
}

func purgeCommand(kind *schema.Kind) *cobra.Command {
	var uris []string
	var prefix bool
	command := &cobra.Command{
		Use: "purge NAME", Short: "Have no engine answer with what it has stored of it",
		Long: `Have no engine answer with the responses that it has stored of a virtual service: with none at all, or with none for some URIs. URIs are
those that servers are asked for, behind rules that rewrite them. An engine without its controller hears of it when it is connected again.`,
		Example: `  weir vs purge shop
  weir vs purge shop --uri shop.example.com/prices?all
  weir vs purge shop --uri /img/ --prefix`,
		Args: arguments("NAME"), ValidArgsFunction: completeNames(kind, 1),
	}
	command.Flags().StringArrayVar(&uris, "uri", nil,
		"purge this host and path, with its query, or this path of any host")
	command.Flags().BoolVar(&prefix, "prefix", false, "purge all paths that begin with those of the URIs")
	command.RunE = func(command *cobra.Command, args []string) error {
		session, object, err := open(command.Context(), kind, args)
		if err != nil {
			return err
		}
		order := client.Object{}
		if len(uris) > 0 {
			order["uris"] = uris
		}
		if prefix {
			order["prefix"] = true
		}
		var answer client.Object
		if err := session.Post(command.Context(), fmt.Sprintf("%s/%v/purge", kind.Name, object["uuid"]), order,
			&answer); err != nil {
			return err
		}
		what := countOf(float64(len(uris)), "URI")
		if answer["all"] == true {
			what = "all responses"
		}
		fmt.Println(harmless(fmt.Sprintf("%v: %s purged; engines with the next Plan answer with none of them.",
			object["name"], what)))
		return nil
	}
	return command
}

func redistributeCommand(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use:   "redistribute NAME",
		Short: "Switch virtual services over to their standbys, until each engine is active for the same number",
		Long: `Switch virtual services over to their standbys, until each engine is active for the same number. After a failure one engine is active for
all of them. For groups with HA_MODE_LEGACY_ACTIVE_STANDBY and distribute_load_active_standby.`,
	}
	return acting(command, kind, redistributed)
}

func redistributed(name string, answer client.Object) string {
	moved := answer["num_virtualservices"]
	if moved == 0.0 {
		return "Nothing to do: each engine of " + name +
			" is the active one of as many, or of those something is under way with."
	}
	return countOf(moved, "virtual service") + " of " + name +
		" shall change places with the standby; `weir events` shows when it is done."
}

// acting has a command do what it is called with an object, and tell what the answer says.
func acting(command *cobra.Command, kind *schema.Kind, told func(name string,
	answer client.Object) string) *cobra.Command {
	command.Args, command.ValidArgsFunction = arguments("NAME"), completeNames(kind, 1)
	command.RunE = func(command *cobra.Command, args []string) error {
		session, object, err := open(command.Context(), kind, args)
		if err != nil {
			return err
		}
		var answer client.Object
		if err := session.Post(command.Context(), fmt.Sprintf("%s/%v/%s", kind.Name, object["uuid"], command.Name()),
			client.Object{}, &answer); err != nil {
			return err
		}
		fmt.Println(harmlessLines(told(column.Text(object["name"]), answer)))
		return nil
	}
	return command
}

// told says what is to become of a virtual service by an order that was accepted.
func (v scaleVerb) told(name, engines any) string {
	return fmt.Sprintf("%v %s; `weir vs engines %[1]v` shows how far it is.", name,
		cmp.Or(v.then, "shall be on "+countOf(engines, "engine")))
}

// countOf is "1 engine" or "4 engines".
func countOf(count any, noun string) string {
	if count != 1.0 {
		noun += "s"
	}
	return column.Text(count) + " " + noun
}

// refer has a field name an object, where there is a name.
func refer(order client.Object, field, kind, name string) {
	if name != "" {
		order[field] = client.Ref(kind, name)
	}
}

func enginesCommand(kind *schema.Kind) *cobra.Command {
	command := &cobra.Command{
		Use: "engines NAME", Short: "List the engines that serve it, and which part of its connections comes to each",
		Args: arguments("NAME"),
	}
	return reading(command, kind, alone(showEngines), func(object client.Object) any {
		return column.List(object, "runtime", "service_engine")
	})
}

// showEngines shows who serves a virtual service, how far its newest change has come, and what is amiss.
func showEngines(out io.Writer, object client.Object, now time.Time) error {
	if err := enginesOf(object, now).print(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s of %s engines, %s.\n", column.Text(column.At(object, "runtime", "num_se_assigned")),
		column.Text(column.At(object, "runtime", "num_se_requested")),
		harmless(column.Text(column.At(object, "runtime", "applied", "text"))))
	for _, line := range slices.Concat(lastOrder(object, now), whyNotUp("virtual service", object),
		notAsItShallBe("virtual service", object)) {
		fmt.Fprintln(out, harmlessLines(line))
	}
	return nil
}

// lastOrder tells why the last order came to nothing, if it did.
func lastOrder(object client.Object, now time.Time) []string {
	failure := column.At(object, "runtime", "last_scale_status")
	if failure == nil {
		return nil
	}
	return []string{fmt.Sprintf("virtual service %s: the last order failed %s ago (%s): %s",
		column.Text(object["name"]),
		column.Age(column.Text(column.At(failure, "end_time_str")), now), column.Text(column.At(failure, "state")),
		strings.Join(column.Texts(column.List(failure, "reason")), "; "))}
}

func enginesOf(object client.Object, now time.Time) table {
	rows := table{{"ENGINE", "ROLE", "STATE", "SINCE", "CONNECTIONS", "UP"}}
	for _, engine := range column.List(object, "runtime", "service_engine") {
		share := column.Text(column.At(engine, "connections_percent"))
		if share != "" {
			share += " %"
		}
		rows = append(rows, []string{column.Text(column.At(engine, "name")), column.Text(column.At(engine, "role")),
			column.Text(column.At(engine, "state")),
			column.Age(column.Text(column.At(engine, "since")), now), column.Dash(share),
			upOrWhyNot(column.At(engine, "oper_status"))})
	}
	return rows
}

func upOrWhyNot(status any) string {
	if column.At(status, "state") == "OPER_UP" {
		return "yes"
	}
	return strings.Join(append([]string{"no"}, column.Texts(column.List(status, "reason"))...), ": ")
}
