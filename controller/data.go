package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/countries"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/durable"
)

// Names of files and directories in the data directory. Each is of this node; the content of the store is the same on
// every node.
const (
	secretsKeyName = "secrets.key" // opens the store; all nodes of a controller have the same key
	// only on the node that was started first; counts until the password is changed
	adminPasswordName = "admin-password"
	storeName         = "store"
)

// data is an open data directory.
type data struct {
	objects      *store.Store
	gate         *admit.Gate
	sealer       *pki.Sealer
	countries    model.Countries
	places       model.Places
	passwordFile string // file of the administrator's first password; empty: not known any more
}

func openData(ctx context.Context, config Config, records *records) (*data, error) {
	if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
		return nil, unusable(config.DataDir, err)
	}
	data := &data{}
	var err error
	if config.CountriesFile != "" {
		if data.countries, data.places, err = countries.Read(config.CountriesFile); err != nil {
			return nil, fmt.Errorf("--countries: %w", err)
		}
	}
	data.objects, err = store.Open(ctx, store.Config{
		Dir: filepath.Join(config.DataDir, storeName), Logger: config.Log, Index: admit.IndexKeys,
		Sealer: func() (store.Sealer, error) { return data.openSealer(config.DataDir) },
	})
	if err != nil {
		return nil, err
	}
	if data.gate, err = admit.Open(ctx, data.objects, time.Now, config.Log); err == nil {
		records.keepAudit(data.gate)
		err = data.bootstrap(ctx, config)
	}
	if err != nil {
		data.objects.Close()
		return nil, err
	}
	return data, nil
}

// openSealer creates the key at the first start. It never creates another key for a database that exists: only the key
// that sealed a database opens it.
func (d *data) openSealer(dir string) (sealer *pki.Sealer, err error) {
	key := filepath.Join(dir, secretsKeyName)
	if !exists(key) && exists(filepath.Join(dir, storeName, "member")) {
		return nil, fmt.Errorf(
			"secrets key file %s is missing, and nothing else opens the database: restore it from a backup", key)
	}
	if d.sealer, err = pki.OpenSealer(key); err != nil {
		return nil, unusable(dir, err)
	}
	return d.sealer, nil
}

// bootstrap creates the built-in objects. It writes the first password of the administrator to disk before it creates
// that user.
func (d *data) bootstrap(ctx context.Context, config Config) (err error) {
	password := rand.Text() // not used if there is an administrator
	if _, there := d.objects.View().Get("user", schema.BuiltinUUID("user", "admin")); !there {
		if password, d.passwordFile, err = adminPassword(config); err != nil {
			return err
		}
	} else if generated := filepath.Join(config.DataDir, adminPasswordName); exists(generated) {
		d.passwordFile = generated
	}
	return d.gate.Bootstrap(ctx, password)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// adminPassword reads the first password of the administrator, or generates it.
func adminPassword(config Config) (password, file string, err error) {
	file = config.AdminPasswordFile
	if file == "" {
		file = filepath.Join(config.DataDir, adminPasswordName)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && config.AdminPasswordFile == "" {
		text = []byte(rand.Text() + "\n")
		err = durable.WriteFile(file, text)
	}
	if err != nil {
		return "", "", fmt.Errorf("admin password: %w", err)
	}
	password = strings.TrimSpace(string(text))
	if password == "" {
		return "", "", fmt.Errorf("admin password: %s is empty: write the password into it", file)
	}
	return password, file, nil
}

// unusable says what an operator can do if the controller cannot write files in a directory.
func unusable(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("data directory: %w: give a directory that this user may write with --data-dir", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("data directory: %w: free some space under %s", err, dir)
	default:
		return err
	}
}
