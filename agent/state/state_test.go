package state

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/durable"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func identity(t *testing.T) *Identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "engine-1"}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Identity{EngineUUID: "se-1", Key: key, Certificate: certificate,
		Authorities: []*x509.Certificate{certificate}}
}

func TestGivesBackTheIdentityItKept(t *testing.T) {
	dir, want := open(t, t.TempDir()), identity(t)
	if err := dir.SaveIdentity(want); err != nil {
		t.Fatal(err)
	}
	got, err := dir.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if got.EngineUUID != "se-1" || !want.Key.(*ecdsa.PrivateKey).Equal(got.Key) ||
		!got.Certificate.Equal(want.Certificate) {
		t.Errorf("got another identity than was kept: %+v", got)
	}
	if !got.HasAuthority(sha256.Sum256(want.Certificate.Raw)) || got.HasAuthority([32]byte{}) {
		t.Error("does not know its own authority")
	}
	if mode := stat(t, dir.File("identity")).Mode().Perm(); mode != 0o600 {
		t.Errorf("the key is readable by others: %v", mode)
	}
}

func TestGivesBackTheLastPlanItKept(t *testing.T) {
	path := t.TempDir()
	dir := open(t, path)
	for revision := range uint64(3) {
		if err := dir.SavePlan(&enginev1.Plan{Revision: revision,
			Resources: []*enginev1.Resource{{Uuid: "pool-1"}}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := dir.Plan()
	want := &enginev1.Plan{Revision: 2, Resources: []*enginev1.Resource{{Uuid: "pool-1"}}}
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(path, durable.Unfinished)); len(left) != 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

func TestSaysWhenNothingWasKept(t *testing.T) {
	dir := open(t, t.TempDir())
	if _, err := dir.Plan(); !errors.Is(err, ErrAbsent) {
		t.Errorf("Plan: %v", err)
	}
	if _, err := dir.Identity(); !errors.Is(err, ErrAbsent) {
		t.Errorf("Identity: %v", err)
	}
}

func TestMovesACorruptFileAside(t *testing.T) {
	flipped := seal("plan", []byte("body"))
	flipped[len(flipped)-1] ^= 1
	for name, content := range map[string][]byte{
		"a flipped bit":            flipped,
		"a cut":                    seal("plan", []byte("body"))[:30],
		"nothing":                  {},
		"another kind of file":     seal("identity", []byte("body")),
		"a body that is no Plan":   seal("plan", []byte("\xff\xff\xff")),
		"garbage without a header": []byte(strings.Repeat("x", 4096)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := open(t, t.TempDir())
			if err := os.WriteFile(dir.File("plan"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := dir.Plan()
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || corrupt.MovedTo != dir.File("plan.corrupt") ||
				strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v", err)
			}
			stat(t, corrupt.MovedTo)
			if _, err := dir.Plan(); !errors.Is(err, ErrAbsent) {
				t.Errorf("the corrupt file is still in place: %v", err)
			}
		})
	}
}

func TestKeepsTheOldPlanWhenTheNewOneCannotBeWritten(t *testing.T) {
	dir := open(t, t.TempDir())
	if err := dir.SavePlan(&enginev1.Plan{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	gone := &Dir{path: filepath.Join(dir.path, "gone")}
	err := gone.SavePlan(&enginev1.Plan{Revision: 2})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot write "+gone.File("plan")+": ") {
		t.Errorf("got %v", err)
	}
	if plan, err := dir.Plan(); err != nil || plan.GetRevision() != 1 {
		t.Errorf("got %v, %v", plan, err)
	}
}

func TestRefusesADirectoryThatAnotherAgentUses(t *testing.T) {
	path := t.TempDir()
	first := open(t, path)
	if _, err := Open(path); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v", err)
	}
	first.Close()
	open(t, path)
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
