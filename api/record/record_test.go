package record

import (
	"bytes"
	"net/netip"
	"os"
	"reflect"
	"testing"
	"time"
)

const golden = "testdata/records.bin"

// samples has a different value in each field, so that no two can be confused.
func samples() []Record {
	full := Record{
		Kind: Request, Class: Filtered, Method: 3, HTTP: 20, ServersTried: 2, Weight: 7,
		Flags: PathCut | ServerReused | TLS | Traced | Sampled, Sequence: 0x0102030405060708,
		End: time.UnixMicro(1795534980123456).UTC(), Reasons: ReasonOf("ADF_RESPONSE_CODE_5XX") | ReasonOf(
			"REQUEST_RETRIED"),
		Service: 0x00010002, Server: 0x00030004,
		Client: netip.MustParseAddrPort("192.0.2.7:40001"), Source: netip.MustParseAddr("198.51.100.1"),
		VIP: netip.MustParseAddrPort("203.0.113.9:443"), ServerLocal: netip.MustParseAddrPort("10.0.0.1:50002"),
		Status: 502, ServerStatus: 500, Cause: 24, Filters: 0b101, TLSVersion: 0x0304, Suite: 0x1302,
		Group: 29, Alert: 41, GRPCStatus: 15,
		RequestBytes: 1001, ResponseBytes: 2002, ServerResponseBytes: 3003,
		Wait: 11 * time.Microsecond, App: 12 * time.Microsecond, Transfer: 13 * time.Microsecond,
		Total:     50 * time.Microsecond,
		ClientRTT: 15 * time.Microsecond, ClientRTTAge: 16 * time.Millisecond, ServerRTT: 14 * time.Microsecond,
		Connect: 17 * time.Microsecond, Trace: [16]byte{1, 2, 3, 15: 16}, Span: [8]byte{9, 7: 8},
	}
	for i := range full.Texts {
		full.Texts[i] = bytes.Repeat([]byte{byte('a' + i)}, i+1)
	}
	least := Record{
		Kind: Connection, Class: Significant, Weight: 1, End: time.UnixMicro(1).UTC(), Server: None,
		Client: netip.MustParseAddrPort("[2001:db8::1]:1"), Source: netip.MustParseAddr("2001:db8::1"),
		VIP: netip.MustParseAddrPort("[2001:db8::2]:2"), Reasons: ReasonOf("ADF_CLIENT_SSL_HANDSHAKE_FAILURE"),
	}
	for i := range least.Texts {
		least.Texts[i] = []byte{}
	}
	return []Record{full, least}
}

func TestReadsWhatTheDataPlanePacks(t *testing.T) {
	var packed []byte
	for _, sample := range samples() {
		packed = Append(packed, sample)
	}
	if os.Getenv("WEIR_GEN") == "write" {
		if err := os.WriteFile(golden, packed, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, packed) {
		t.Errorf("%s has %d bytes, which differ from the %d of the samples", golden, len(file), len(packed))
	}
	for _, want := range samples() {
		var got Record
		got, file, err = Next(file)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if len(file) != 0 {
		t.Errorf("%d bytes are left", len(file))
	}
}

func TestRefusesWhatIsNoRecord(t *testing.T) {
	whole := Append(nil, samples()[0])
	for name, spoil := range map[string]func([]byte) []byte{
		"too short":          func(b []byte) []byte { return b[:FixedBytes-1] },
		"cut off":            func(b []byte) []byte { return b[:len(b)-1] },
		"smaller than fixed": func(b []byte) []byte { b[0], b[1] = 1, 0; return b },
		"other version":      func(b []byte) []byte { b[2]++; return b },
		"text beyond end":    func(b []byte) []byte { b[232] = 255; return b },
		"bytes left":         func(b []byte) []byte { b[232]--; return b },
	} {
		if _, _, err := Next(spoil(bytes.Clone(whole))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add(Append(nil, samples()[0]))
	f.Fuzz(func(t *testing.T, packed []byte) {
		for len(packed) > 0 {
			r, rest, err := Next(packed)
			if err != nil {
				return
			}
			r.Said()
			r.Rules()
			r.Offered()
			packed = rest
		}
	})
}

func TestFlagsHoldWhatBecameOfCompression(t *testing.T) {
	for number := range Compressions {
		flags := (OwnSpan | HostCut).WithCompression(7).WithCompression(number)
		if flags.Compression() != number || flags&(OwnSpan|HostCut) != OwnSpan|HostCut {
			t.Errorf("%d: got %d in %b", number, flags.Compression(), flags)
		}
	}
}
