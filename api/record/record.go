// Package record reads the records of requests and connections that a data plane packs (Records.packed in
// api/dataplane/v1): a run of records, each with a fixed part of 264 bytes and texts behind it. Numbers are
// little-endian. The data plane writes them in dataplane/telemetry/src/record. testdata/records.bin is what both sides
// have to agree on.
package record

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// FixedBytes is the size of the fixed part. The first two bytes of it are the size of the whole record.
const FixedBytes = 264

// MaxBytes is the largest record.
const MaxBytes = 32 << 10

const version = 2

// Kind is what ended.
type Kind uint8

const (
	Request    Kind = 1 // a request with its response, or without
	Connection Kind = 2 // a connection of layer 4, or one that never made a request
	Session    Kind = 3 // of datagrams
)

// Class is why there is a record: the first of these that holds.
type Class uint8

const (
	Significant Class = 1 // Reasons says why
	Filtered    Class = 2 // Filters says which
	All         Class = 3
)

// None is the number of a server if there was none.
const None = ^uint32(0)

// Flags are yes-or-no properties.
type Flags uint32

const (
	HostCut Flags = 1 << iota // the text is longer than a record holds
	PathCut
	QueryCut
	UserAgentCut
	RefererCut
	ForwardedForCut
	HeadersCut
	Named        // rules or scripts wanted to know names of the request: see Record.Names
	ServerReused // the connection to the server had served a request before
	Persisted    // the client returned to the server of its last response
	TLS          // the client spoke TLS
	Resumed      // its TLS session was resumed
	Traced       // Trace and Span are set
	Sampled      // the trace is sampled
	Local        // the response was made by the data plane
	WebSocket
	GRPC
	Tunnel  // bytes were passed on without parsing, from some point on
	OwnSpan // Span is the data plane's, and the text ClientSpan that of the client
	// Three bits are a number: see Compressions.
	compression
	_
	_
	CacheHit  // a stored response has answered
	Cacheable // the response was stored, or is
	// Scripted: in the place of ClientSpan stand its length, as a byte, the span, and what scripts have said.
	Scripted
)

const compressionBits = 7 * compression

// Compressions say what became of the compression of a response, by Flags.Compression: 0 is that there is none.
var Compressions = [8]string{"", "COMPRESSED", "NO_COMPRESSION_CONTENT_TYPE", "NO_COMPRESSION_GZIP_CONTENT",
	"NO_COMPRESSION_CUSTOM_FILTER", "NO_COMPRESSION_AUTO_FILTER", "NO_COMPRESSION_MIN_LENGTH",
	"NO_COMPRESSION_CAN_BE_COMPRESSED"}

// Compressed is the number of responses that were compressed.
const Compressed = 1

// Compression is a number of Compressions.
func (f Flags) Compression() int { return int(f&compressionBits) / int(compression) }

// WithCompression returns flags with a number of Compressions.
func (f Flags) WithCompression(number int) Flags {
	return f&^compressionBits | Flags(number)*compression
}

// Text is which text of a record.
type Text int

const (
	Host Text = iota
	Path
	Query
	UserAgent
	Referer
	ForwardedFor
	ServerName // of TLS
	OtherMethod
	RequestHeaders  // "name: value" lines that end with CR LF
	ResponseHeaders // likewise
	// OfferedSuites are those of a TLS handshake that failed: see Record.Offered.
	OfferedSuites
	ClientFault   // what is wrong with the certificate of the client; empty: nothing, or nobody has verified it
	ClientSubject // of that certificate; empty: there is none, or it has no subject
	ContentType   // of the response
	texts
)

// ClientSpan is the span of the client, 8 bytes or none, of a request with OwnSpan: see Record.Said.
const ClientSpan = OfferedSuites

// Methods are the names of Method, from 1. The number 255 is another method: see OtherMethod.
var Methods = [...]string{"", "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

// Record is one record. Its texts are parts of what was parsed.
type Record struct {
	Kind         Kind
	Class        Class
	Method       uint8  // see Methods; 0: none
	HTTP         uint8  // 10, 11 or 20; 0: none
	ServersTried uint8  // 255: that many or more
	Weight       uint32 // how many requests or connections the record stands for
	Flags        Flags
	Sequence     uint64 // of the worker
	End          time.Time
	Reasons      Reasons
	Service      uint32 // number, see Records.services
	Server       uint32 // number, see Records.servers, or None

	Client      netip.AddrPort // as a PROXY header has it, if there is one
	Source      netip.Addr     // the other end of the connection
	VIP         netip.AddrPort
	ServerLocal netip.AddrPort // this end of the connection to the server; the zero value: none

	Status       uint16 // 0: none was sent
	ServerStatus uint16 // 0: no server answered
	Cause        uint16 // number of the cause from 1; 0: nothing failed
	Filters      uint16 // bit i: filter i holds
	TLSVersion   uint16 // 0x0303, 0x0304
	Suite        uint16 // IANA
	Group        uint16 // IANA
	Alert        uint16 // of TLS, plus 1; 0: none
	GRPCStatus   uint16 // of a call, plus 1; 0: none was sent

	// heads and bodies; of a connection: from and to the client, from the server
	RequestBytes, ResponseBytes, ServerResponseBytes uint64

	// The first three and ServerRTT make up Total.
	Wait, App, Transfer, Total time.Duration
	ClientRTT                  time.Duration // 0: not known
	ClientRTTAge               time.Duration // how old ClientRTT is
	ServerRTT, Connect         time.Duration // Connect 0: no new connection

	Trace [16]byte
	Span  [8]byte
	Texts [texts][]byte
}

// Next parses the first record, and returns the bytes behind it.
func Next(packed []byte) (r Record, rest []byte, err error) {
	if len(packed) < FixedBytes {
		return r, nil, fmt.Errorf("a record begins with %d bytes, fewer than %d", len(packed), FixedBytes)
	}
	size := int(u16(packed, 0))
	if size < FixedBytes || size > MaxBytes || size > len(packed) {
		return r, nil, fmt.Errorf("a record says that it has %d bytes, with %d left", size, len(packed))
	}
	if packed[2] != version {
		return r, nil, fmt.Errorf("a record has version %d, want %d", packed[2], version)
	}
	fixed, rest := packed[:FixedBytes], packed[size:]
	r.fixed(fixed)
	texts := packed[FixedBytes:size]
	for i := range r.Texts {
		length := int(u16(fixed, 232+2*i))
		if length > len(texts) {
			return r, nil, fmt.Errorf("text %d of a record has %d bytes, with %d left", i, length, len(texts))
		}
		r.Texts[i], texts = texts[:length], texts[length:]
	}
	if len(texts) > 0 {
		return r, nil, fmt.Errorf("a record has %d bytes behind its texts", len(texts))
	}
	return r, rest, nil
}

func (r *Record) fixed(b []byte) {
	r.Kind, r.Class, r.Method, r.HTTP, r.ServersTried = Kind(b[3]), Class(b[4]), b[5], b[6], b[7]
	r.Weight, r.Flags = u32(b, 8), Flags(u32(b, 12))
	r.Sequence, r.End, r.Reasons = u64(b, 16), time.UnixMicro(int64(u64(b, 24))).UTC(), Reasons(u64(b, 32))
	r.Service, r.Server = u32(b, 40), u32(b, 44)
	r.Client = netip.AddrPortFrom(address(b[48:64]), u16(b, 112))
	r.Source = address(b[64:80])
	r.VIP = netip.AddrPortFrom(address(b[80:96]), u16(b, 114))
	if port := u16(b, 116); port != 0 {
		r.ServerLocal = netip.AddrPortFrom(address(b[96:112]), port)
	}
	r.Status, r.ServerStatus, r.Cause, r.Filters = u16(b, 118), u16(b, 120), u16(b, 122), u16(b, 124)
	r.TLSVersion, r.Suite, r.Group, r.Alert = u16(b, 126), u16(b, 128), u16(b, 130), u16(b, 132)
	r.GRPCStatus = u16(b, 134)
	r.RequestBytes, r.ResponseBytes, r.ServerResponseBytes = u64(b, 136), u64(b, 144), u64(b, 152)
	r.Wait, r.App, r.Transfer, r.Total = micros(u64(b, 160)), micros(u64(b, 168)), micros(u64(b, 176)),
		micros(u64(b, 184))
	r.ClientRTT, r.ClientRTTAge = micros(uint64(u32(b, 192))), time.Duration(u32(b, 196))*time.Millisecond
	r.ServerRTT, r.Connect = micros(uint64(u32(b, 200))), micros(uint64(u32(b, 204)))
	copy(r.Trace[:], b[208:224])
	copy(r.Span[:], b[224:232])
}

// Append packs a record behind others. It is for tests: a data plane packs its own.
func Append(packed []byte, r Record) []byte {
	begin := len(packed)
	packed = append(packed, make([]byte, FixedBytes)...)
	for i, text := range r.Texts {
		binary.LittleEndian.PutUint16(packed[begin+232+2*i:], uint16(len(text)))
		packed = append(packed, text...)
	}
	b, le := packed[begin:], binary.LittleEndian
	le.PutUint16(b, uint16(len(b)))
	b[2], b[3], b[4], b[5], b[6], b[7] = version, byte(r.Kind), byte(r.Class), r.Method, r.HTTP, r.ServersTried
	le.PutUint32(b[8:], r.Weight)
	le.PutUint32(b[12:], uint32(r.Flags))
	le.PutUint64(b[16:], r.Sequence)
	le.PutUint64(b[24:], uint64(r.End.UnixMicro()))
	le.PutUint64(b[32:], uint64(r.Reasons))
	le.PutUint32(b[40:], r.Service)
	le.PutUint32(b[44:], r.Server)
	for i, a := range []netip.Addr{r.Client.Addr(), r.Source, r.VIP.Addr(), r.ServerLocal.Addr()} {
		if a.IsValid() {
			long := a.As16()
			copy(b[48+16*i:], long[:])
		}
	}
	for i, n := range []uint16{
		r.Client.Port(), r.VIP.Port(), r.ServerLocal.Port(), r.Status, r.ServerStatus, r.Cause, r.Filters,
		r.TLSVersion, r.Suite, r.Group, r.Alert, r.GRPCStatus,
	} {
		le.PutUint16(b[112+2*i:], n)
	}
	for i, n := range []uint64{
		r.RequestBytes, r.ResponseBytes, r.ServerResponseBytes, uint64(r.Wait.Microseconds()),
		uint64(r.App.Microseconds()), uint64(r.Transfer.Microseconds()), uint64(r.Total.Microseconds()),
	} {
		le.PutUint64(b[136+8*i:], n)
	}
	le.PutUint32(b[192:], uint32(r.ClientRTT.Microseconds()))
	le.PutUint32(b[196:], uint32(r.ClientRTTAge.Milliseconds()))
	le.PutUint32(b[200:], uint32(r.ServerRTT.Microseconds()))
	le.PutUint32(b[204:], uint32(r.Connect.Microseconds()))
	copy(b[208:], r.Trace[:])
	copy(b[224:], r.Span[:])
	return packed
}

func u16(b []byte, at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// address reads an IPv6 address, or an IPv4 address that is mapped into one.
func address(b []byte) netip.Addr { return netip.AddrFrom16([16]byte(b)).Unmap() }

// micros never returns a negative duration, however large n is.
func micros(n uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Microsecond)
	return time.Duration(min(n, most)) * time.Microsecond
}
