package dataplane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

const (
	// frameBytesMax bounds a frame in both directions; no Plan is longer.
	frameBytesMax = 64 << 20
	// descriptorsMax is how many descriptors one frame carries; the kernel's limit is 253 (SCM_MAX_FD).
	descriptorsMax = 250
	// writeTimeout is how long a data plane may leave a frame unread before it counts as stuck.
	writeTimeout = 5 * time.Second
	headerBytes  = 4
)

// Errors of a peer that breaks the contract of dataplane.proto.
var (
	errFrameLength = fmt.Errorf("a frame is longer than %d bytes", frameBytesMax)
	errDescriptors = errors.New("a frame carries another number of descriptors than it names")
)

// wire is a connection to a data plane: frames of a 4-byte big-endian length and a message, descriptors beside them.
// One goroutine may read while another writes.
type wire struct {
	socket *net.UnixConn
}

// frame is what was read, and the descriptors that came with it, which the reader owns.
type frame struct {
	message     *dataplanev1.FromDataplane
	descriptors []int
}

// write sends one frame. The descriptors stay the caller's.
func (w wire) write(message *dataplanev1.ToDataplane, descriptors ...int) error {
	content, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, headerBytes), message)
	if err != nil {
		return err
	}
	if len(content)-headerBytes > frameBytesMax {
		return errFrameLength
	}
	binary.BigEndian.PutUint32(content, uint32(len(content)-headerBytes))
	if err := w.socket.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	var rights []byte
	if len(descriptors) > 0 {
		rights = unix.UnixRights(descriptors...)
	}
	sent, _, err := w.socket.WriteMsgUnix(content, rights, nil)
	if err != nil {
		return err
	}
	_, err = w.socket.Write(content[sent:]) // the rights went with the first byte
	return err
}

// read waits for one frame. Descriptors of a frame that breaks the contract are closed.
func (w wire) read() (frame, error) {
	var in frame
	if err := w.readInto(&in); err != nil {
		closeAll(in.descriptors)
		return frame{}, err
	}
	return in, nil
}

func (w wire) readInto(in *frame) error {
	header := make([]byte, headerBytes)
	if err := w.readFull(in, header); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(header)
	if length > frameBytesMax {
		return errFrameLength
	}
	content := make([]byte, length)
	if err := w.readFull(in, content); err != nil {
		return err
	}
	in.message = new(dataplanev1.FromDataplane)
	if err := proto.Unmarshal(content, in.message); err != nil {
		return fmt.Errorf("a frame is no message: %w", err)
	}
	if len(in.descriptors) != len(in.message.GetSockets().GetSockets()) {
		return errDescriptors
	}
	return nil
}

// readFull never reads past into, so that the descriptors it meets belong to this frame.
func (w wire) readFull(in *frame, into []byte) error {
	rights := make([]byte, unix.CmsgSpace(descriptorsMax*4))
	for len(into) > 0 {
		n, rightsBytes, flags, _, err := w.socket.ReadMsgUnix(into, rights)
		if err != nil {
			return err
		}
		if err := in.collect(rights[:rightsBytes]); err != nil {
			return err
		}
		if flags&unix.MSG_CTRUNC != 0 {
			return errDescriptors
		}
		if n == 0 {
			return io.EOF
		}
		into = into[n:]
	}
	return nil
}

func (f *frame) collect(rights []byte) error {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return err
	}
	for _, message := range messages {
		descriptors, err := unix.ParseUnixRights(&message)
		if err != nil {
			return err
		}
		f.descriptors = append(f.descriptors, descriptors...)
	}
	if len(f.descriptors) > descriptorsMax {
		return errDescriptors
	}
	return nil
}

func closeAll(descriptors []int) {
	for _, descriptor := range descriptors {
		unix.Close(descriptor)
	}
}
