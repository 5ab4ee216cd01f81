// Command weir is every Go process of Weir in one binary: controller, agent, and the operator's tools.
//
// This package has only flags, wiring and tables. What a command does is in the package that it calls.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/lab/network"
)

func main() {
	if err := rootCommand().ExecuteContext(untilInterrupted()); err != nil {
		fmt.Fprintln(os.Stderr, "weir:", harmlessLines(explain(err)))
		os.Exit(exitCode(err))
	}
}

// untilInterrupted ends at the first Ctrl-C. A second Ctrl-C does not wait for an orderly end.
func untilInterrupted() context.Context {
	ctx, end := context.WithCancel(context.Background())
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupts
		end()
		<-interrupts
		labs, _ := network.Standing() // only root has any
		fmt.Fprintln(os.Stderr, "weir:", endedAtOnce(labs))
		os.Exit(exitInterrupted)
	}()
	return ctx
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "A software load-balancing platform",
		Long: `Weir is a software load-balancing platform: one controller, any number of engines behind one address.

To see it work on this machine, run "weir demo". To operate one, log in ("weir login URL") and then use the other
commands; every kind of object has list, show, create, set and delete, for example "weir pool list".`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddGroup(
		&cobra.Group{ID: "processes", Title: "Processes:"},
		&cobra.Group{ID: "operate", Title: "Operate:"},
		&cobra.Group{ID: "objects", Title: "Objects (list, show, create, set, delete):"},
	)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}",
		"{{if not .HasAvailableSubCommands}}", 1))
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return fmt.Errorf("%w: see `%s --help`", err, command.CommandPath())
	})
	add(root, "processes", controllerCommand(), agentCommand(), demoCommand(), labCommand(), benchCommand(),
		recordsCommand())
	operating := []*cobra.Command{statusCommand(), topCommand(), healthCommand(), explainCommand(),
		metricsCommand(), logsCommand(), eventsCommand(), auditCommand(), tokenCommand()}
	kinds := kindCommands()
	addTenant(append(operating, kinds...)...)
	add(root, "operate", append([]*cobra.Command{loginCommand()}, operating...)...)
	add(root, "objects", kinds...)
	return menu(root)
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, command := range commands {
		command.GroupID = group
	}
	root.AddCommand(commands...)
}

// menu makes a command that only holds other commands refuse unknown names. Without arguments it shows its help.
func menu(command *cobra.Command) *cobra.Command {
	command.Args = cobra.ArbitraryArgs
	command.RunE = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.Help()
		}
		hint := hintFor(command, args)
		return fmt.Errorf("%q is no command of `%s`: %s", args[0], command.CommandPath(), hint)
	}
	return command
}

// hintFor says what somebody may have meant who gave these arguments to a command that only holds other commands.
func hintFor(command *cobra.Command, args []string) string {
	path, name := command.CommandPath(), args[0]
	if near := nearest(command, name); near != "" {
		return fmt.Sprintf("did you mean `%s %s`?", path, near)
	}
	if elsewhere, _, err := command.Root().Find(args[:1]); err == nil && command.HasParent() && len(args) > 1 &&
		elsewhere.GroupID == "operate" { // weir vs logs web
		of := ""
		if kind := subcommand(elsewhere, command.Name()); kind != nil {
			of = " " + kind.Name()
		}
		return fmt.Sprintf("did you mean `%s%s %s`?", elsewhere.CommandPath(), of, args[1])
	}
	if len(args) == 1 && command.HasParent() {
		for _, guess := range []string{"show", "virtualservice", "vs"} { // weir vs web, weir metrics web
			if subcommand(command, guess) != nil {
				return fmt.Sprintf("did you mean `%s %s %s`?", path, guess, name)
			}
		}
	}
	return fmt.Sprintf("see `%s --help`", path)
}

func subcommand(of *cobra.Command, name string) *cobra.Command {
	for _, command := range of.Commands() {
		if command.Name() == name {
			return command
		}
	}
	return nil
}

// nearest is the command whose name is most like a word; empty: none is. Short words have fewer mistakes. Two letters
// that changed places are one mistake.
func nearest(command *cobra.Command, word string) string {
	for i := 1; i < len(word); i++ {
		turned := word[:i-1] + word[i:i+1] + word[i-1:i] + word[i+1:]
		if subcommand(command, turned) != nil {
			return turned
		}
	}
	for command.SuggestionsMinimumDistance = range min(3, 1+len(word)/2) {
		near := command.SuggestionsFor(word)
		if len(near) > 0 {
			return slices.MinFunc(near, func(a, b string) int {
				return cmp.Compare(max(len(a), len(word))-min(len(a), len(word)),
					max(len(b), len(word))-min(len(b), len(word)))
			})
		}
	}
	return ""
}

// arguments wants exactly these, or with "…" behind the last one or more of it.
func arguments(names ...string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		many := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
		if len(args) == len(names) || many && len(args) > len(names) {
			return nil
		}
		return fmt.Errorf("give it as `%s`", strings.Join(append([]string{command.CommandPath()}, names...), " "))
	}
}

// version is the version of the whole tree, as in Cargo.toml. An agent logs when its data plane has another version. A
// release may set it at link time: -ldflags "-X main.version=1.2.3".
var version = "0.1.0"
