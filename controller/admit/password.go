package admit

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/weir-lb/weir/controller/schema"
)

// The parameters of argon2id that OWASP recommends for little memory: 19 MiB, two passes, one lane.
const (
	argonMemoryKiB = 19 << 10
	argonPasses    = 2
	argonLanes     = 1
	saltBytes      = 16
	hashBytes      = 32
)

const (
	minPasswordRunes = 8 // if the system configuration sets no minimum
	maxPasswordBytes = 1024
)

// hashPassword returns the PHC string that is stored instead of a password.
func hashPassword(password string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		argonMemoryKiB, argonPasses, argonLanes, encode(salt), encode(argon(password, salt, hashBytes)))
}

// passwordMatches takes as long for a user without a usable hash as for one with a wrong password.
func passwordMatches(stored, password string) bool {
	salt, hash, ok := parseHash(stored)
	if !ok {
		salt, hash = make([]byte, saltBytes), make([]byte, hashBytes)
	}
	if len(password) > maxPasswordBytes {
		return false
	}
	return subtle.ConstantTimeCompare(hash, argon(password, salt, uint32(len(hash)))) == 1 && ok
}

func argon(password string, salt []byte, length uint32) []byte {
	return argon2.IDKey([]byte(password), salt, argonPasses, argonMemoryKiB, argonLanes, length)
}

func parseHash(stored string) (salt, hash []byte, ok bool) {
	parts := strings.Split(stored, "$")
	want := fmt.Sprintf("m=%d,t=%d,p=%d", argonMemoryKiB, argonPasses, argonLanes)
	if len(parts) != 6 || parts[1] != "argon2id" || parts[3] != want {
		return nil, nil, false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	hash, hashErr := base64.RawStdEncoding.DecodeString(parts[5])
	return salt, hash, saltErr == nil && hashErr == nil && len(hash) == hashBytes
}

// hidePassword replaces a password that the client sent by its hash. A password that the client left out is a hash
// already.
func (g *Gate) hidePassword(w Write, next, stored schema.Object) error {
	sent := textOf(next, "password")
	if w.Kind.Name != userKind || sent == "" || sent == textOf(stored, "password") {
		return nil
	}
	shortest := shortestPassword(g.store.View())
	if w.system { // the first password may be older than the minimum of the operator
		shortest = minPasswordRunes
	}
	if problem := weakPassword(sent, shortest); problem != "" {
		return &schema.FieldError{Kind: userKind, Field: "password", Problem: problem}
	}
	hash, err := w.chores.hash(sent)
	if err == nil {
		next["password"] = hash
	}
	return err
}

func weakPassword(password string, shortest int64) string {
	switch {
	case int64(utf8.RuneCountInString(password)) < shortest:
		return fmt.Sprintf("is too short; give at least %d characters", shortest)
	case len(password) > maxPasswordBytes:
		return fmt.Sprintf("is too long; give at most %d bytes", maxPasswordBytes)
	}
	return ""
}
