package admit

import (
	"strings"
	"testing"
)

func TestPasswordMatchesItsHashAndNoOther(t *testing.T) {
	hash := hashPassword("correct horse")
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash is %s", hash)
	}
	if !passwordMatches(hash, "correct horse") {
		t.Error("the password does not match")
	}
	for _, other := range []string{"", "correct horse ", hash, strings.Repeat("x", maxPasswordBytes+1)} {
		if passwordMatches(hash, other) {
			t.Errorf("%q matches", other)
		}
	}
}

func TestTwoHashesOfOnePasswordDiffer(t *testing.T) {
	if hashPassword("x") == hashPassword("x") {
		t.Error("the salt repeats")
	}
}

func TestUnusableHashMatchesNothing(t *testing.T) {
	for _, stored := range []string{"", "plain", "$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA",
		"$argon2id$v=19$m=19456,t=2,p=1$!$!",
		"$argon2id$v=19$m=19456,t=2,p=1$$"} {
		for _, password := range []string{"", "plain", stored} {
			if passwordMatches(stored, password) {
				t.Errorf("%q matches %q", password, stored)
			}
		}
	}
}
