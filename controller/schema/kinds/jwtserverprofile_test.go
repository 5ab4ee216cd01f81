package kinds

import (
	"strings"
	"testing"
)

const (
	ecKeyX  = `"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"`
	ecKeyY  = `"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"`
	ecWhole = `{"kty":"EC","crv":"P-256",` + ecKeyX + `,` + ecKeyY + `}`                        // RFC 7515 appendix A.3
	edWhole = `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}` // RFC 8037 appendix A.2
	rsaN    = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT" +
		"-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WT" +
		"BEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2P" +
		"AcDTW9gb54h4FRWyuXpoQ" // RFC 7515 appendix A.2
	rsaWhole = `{"kty":"RSA","e":"AQAB","n":"` + rsaN + `"}`
)

func keySet(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

func with(key, more string) string { return strings.TrimSuffix(key, "}") + "," + more + "}" }

func TestKeyFixesItsAlgorithm(t *testing.T) {
	for key, want := range map[string]string{
		ecWhole: "ES256", edWhole: "EdDSA", rsaWhole: "RS256", with(rsaWhole, `"alg":"PS512"`): "PS512",
		with(ecWhole, `"alg":"ES256","use":"sig","kid":"a"`): "ES256",
	} {
		keys, problem := readTokenKeys(keySet(key))
		if problem != nil || len(keys) != 1 || keys[0].Algorithm != want || len(keys[0].DER) == 0 {
			t.Errorf("%s: %+v, %v, want %s", key, keys, problem, want)
		}
	}
	keys, problem := readTokenKeys(keySet(with(rsaWhole, `"use":"enc"`), with(ecWhole, `"kid":"a"`), edWhole))
	if problem != nil || len(keys) != 2 || *keys[0].ID != "a" || keys[1].ID != nil {
		t.Errorf("%+v, %v", keys, problem)
	}
}

func TestKeySetsThatWouldLetOthersInAreRefused(t *testing.T) {
	for set, want := range map[string]string{
		"":                                            "JWK Set",
		`[]`:                                          "JWK Set",
		`{"keys":[]}`:                                 "no key for signatures",
		keySet(with(rsaWhole, `"use":"enc"`)):         "no key for signatures",
		keySet(`{"kty":"oct","k":"c2VjcmV0"}`):        "could make them",
		keySet(with(ecWhole, `"alg":"HS256"`)):        "is not for this key",
		keySet(with(rsaWhole, `"alg":"ES256"`)):       "is not for this key",
		keySet(with(ecWhole, `"alg":"none"`)):         "is not for this key",
		keySet(with(ecWhole, `"d":"AA"`)):             "private",
		keySet(`{"kty":"RSA","e":"AQAB","n":"AQAB"}`): "bits",
		keySet(`{"kty":"RSA","e":"AQ","n":"` + rsaN + `"}`):                                         "exponent",
		keySet(`{"kty":"EC","crv":"P-256",` + ecKeyX + `,"y":"` + strings.Repeat("A", 43) + `"}`):   "point",
		keySet(`{"kty":"EC","crv":"P-384",` + ecKeyX + `,` + ecKeyY + `}`):                          "need 48 each",
		keySet(`{"kty":"EC","crv":"secp256k1",` + ecKeyX + `,` + ecKeyY + `}`):                      "not implemented",
		keySet(`{"kty":"OKP","crv":"Ed448","x":"AAAA"}`):                                            "not implemented",
		keySet(with(ecWhole, `"kid":"a"`), with(edWhole, `"kid":"a"`)):                              "is there twice",
		keySet(strings.Split(strings.Repeat(edWhole+" ", tokenKeysMax+1), " ")[:tokenKeysMax+1]...): "at most 16",
	} {
		if keys, problem := readTokenKeys(set); problem == nil || !strings.Contains(problem.Problem, want) {
			t.Errorf("%s: %+v, %v, want %q", set, keys, problem, want)
		}
	}
}
