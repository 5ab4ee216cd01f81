package ours

import "testing"

func TestCountsAreReadByTheNameOfTheirRow(t *testing.T) {
	text := "# row   own code   cryptography   allocations\ncounted with rustc 1.95.0\nrequest   8716    0   0\n" +
		"request_tls12   11563   3409   2\n"
	if found, err := countsIn(text, "request_tls12"); err != nil || found != (Counts{11563, 2}) {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err := countsIn(text, "request_record"); err == nil || err.Error() != "there is no row request_record" {
		t.Errorf("got %v", err)
	}
}
