package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-lb/weir/client"
)

// errNotLoggedIn is what every command that needs a controller says before `weir login`.
var errNotLoggedIn = errors.New("not logged in: run `weir login https://CONTROLLER:9443` first")

func loginCommand() *cobra.Command {
	var credentials client.Credentials
	var passwordFile string
	var trustNew bool
	command := &cobra.Command{
		Use:   "login URL",
		Short: "Log in to a controller; the other commands then talk to it",
		Long: `Log in to a controller and keep the session for the commands that follow.

The command asks for the password, or reads it from --password-file or WEIR_PASSWORD. A controller that signs its own
certificate is recognised by the SHA-256 fingerprint of the certificate, which the controller prints when it starts. The
first login shows the fingerprint and asks, and the next ones know it. --fingerprint states it; --trust-on-first-use accepts any.`,
		Example: `  weir login https://127.0.0.1:9443
  weir login lb.example.net:9443 --user alice --password-file ~/.lb-password`,
		Args: arguments("URL"),
		RunE: func(command *cobra.Command, args []string) error {
			credentials.URL = args[0]
			var err error
			if credentials.Password, err = passwordFor(command.Context(), credentials.Username,
				passwordFile); err != nil {
				return err
			}
			session, err := logIn(command.Context(), credentials, trustNew)
			if err != nil {
				return fmt.Errorf("log in as %s: %w", credentials.Username, err)
			}
			if err := saveSession(session.Saved()); err != nil {
				return err
			}
			fmt.Printf("Logged in to %s as %s.\n", session.URL(), credentials.Username)
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVarP(&credentials.Username, "user", "u", "admin", "user name")
	flags.StringVar(&credentials.Tenant, "tenant", "admin", "tenant to act in")
	flags.StringVar(&passwordFile, "password-file", "", "file that holds the password")
	flags.StringVar(&credentials.Fingerprint, "fingerprint", "", "SHA-256 fingerprint of the controller's certificate")
	flags.BoolVar(&trustNew, "trust-on-first-use", false, "accept the controller's certificate without asking")
	return command
}

func logIn(ctx context.Context, credentials client.Credentials, trustNew bool) (*client.Session, error) {
	session, err := client.Login(ctx, credentials)
	var unknown *client.UnknownCertificate
	if !errors.As(err, &unknown) {
		return session, err
	}
	if !trustNew && !isTrusted(unknown) {
		if err := agree(ctx, unknown); err != nil {
			return nil, err
		}
	}
	credentials.Fingerprint = unknown.Fingerprint
	return client.Login(ctx, credentials)
}

// isTrusted tells whether the last login was to the same controller, with the same certificate.
func isTrusted(unknown *client.UnknownCertificate) bool {
	saved, err := savedSession()
	return err == nil && saved.URL == "https://"+unknown.Host && saved.Fingerprint == unknown.Fingerprint
}

func passwordFor(ctx context.Context, user, file string) (string, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--password-file: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	if password := os.Getenv("WEIR_PASSWORD"); password != "" {
		return password, nil
	}
	if !term.IsTerminal(stdin) {
		return "", errors.New("no terminal to ask for the password on: use --password-file or WEIR_PASSWORD")
	}
	return ask(ctx, fmt.Sprintf("Password of %s: ", user), func() (string, error) {
		password, err := term.ReadPassword(stdin)
		fmt.Fprintln(os.Stderr)
		return string(password), err
	})
}

// agree asks whether a certificate that no CA has signed is the right one. If nobody can answer, that is an error.
func agree(ctx context.Context, unknown *client.UnknownCertificate) error {
	if !term.IsTerminal(stdin) {
		return unknown
	}
	answer, err := ask(ctx, fmt.Sprintf("%s.\nIs this your controller? [y/N] ", unknown), func() (string, error) {
		return bufio.NewReader(os.Stdin).ReadString('\n')
	})
	if err == nil && !strings.HasPrefix(strings.ToLower(answer), "y") {
		return unknown
	}
	return err
}

var stdin = int(os.Stdin.Fd())

// ask waits for an answer, or for ctx to end. A read from a terminal cannot be cancelled, so it is abandoned, and the
// terminal's state is restored.
func ask(ctx context.Context, question string, read func() (string, error)) (string, error) {
	before, err := term.GetState(stdin)
	if err != nil {
		return "", err
	}
	fmt.Fprint(os.Stderr, question)
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := read()
		answered <- answer{text, err}
	}()
	select {
	case a := <-answered:
		return a.text, a.err
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr)
		return "", errors.Join(ctx.Err(), term.Restore(stdin, before))
	}
}

func sessionFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no place to keep the session: %w", err)
	}
	return filepath.Join(dir, "weir", "session.json"), nil
}

func saveSession(saved client.Saved) error {
	file, err := sessionFile()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(saved, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep the session: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("keep the session: %w", err)
	}
	return nil
}

// inTenant is the tenant that the flag --tenant names; empty: that of the login.
var inTenant string

func addTenant(commands ...*cobra.Command) {
	for _, command := range commands {
		command.PersistentFlags().StringVar(&inTenant, "tenant", "",
			"tenant to act in; * for all (default: that of the login)")
	}
}

// openSession goes on with the session that `weir login` kept.
func openSession() (*client.Session, error) {
	saved, err := savedSession()
	if err != nil {
		return nil, err
	}
	session, err := client.Resume(saved)
	if err != nil || inTenant == "" {
		return session, err
	}
	return session.InTenant(inTenant), nil
}

func savedSession() (saved client.Saved, err error) {
	file, err := sessionFile()
	if err != nil {
		return saved, err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, errNotLoggedIn
	} else if err != nil {
		return saved, fmt.Errorf("the session cannot be read: %w", err)
	}
	if err := json.Unmarshal(text, &saved); err != nil {
		return saved, fmt.Errorf("%s is damaged: run `weir login` again: %w", file, err)
	}
	return saved, nil
}
