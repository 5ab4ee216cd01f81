package spool

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/durable"
)

const (
	suffix = ".batches"
	// headBytes are the checksum of a batch and its length.
	headBytes     = 4 + 4
	batchBytesMax = 8 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is a file with batches, one behind the other. It is written once; only the newest one still grows.
type segment struct {
	number uint64
	file   *os.File
	bytes  int64
	live   []*entry // those that are not taken
}

func segmentName(number uint64) string { return fmt.Sprintf("%016x%s", number, suffix) }

func createSegment(dir string, number uint64) (*segment, error) {
	file, err := os.OpenFile(filepath.Join(dir, segmentName(number)), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := durable.SyncDir(dir); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &segment{number: number, file: file}, nil
}

// place is where a batch is in its segment.
type place struct{ at, bytes int64 }

// write puts batches on disk behind the others. After an error the file ends where it did before.
func (s *segment) write(batches []*enginev1.RecordBatch) (places []place, err error) {
	var content []byte
	for _, batch := range batches {
		start := len(content)
		content = append(content, make([]byte, headBytes)...)
		if content, err = (proto.MarshalOptions{}).MarshalAppend(content, batch); err != nil {
			return nil, err
		}
		body := content[start+headBytes:]
		binary.LittleEndian.PutUint32(content[start:], crc32.Checksum(body, castagnoli))
		binary.LittleEndian.PutUint32(content[start+4:], uint32(len(body)))
		places = append(places, place{s.bytes + int64(start), int64(len(content) - start)})
	}
	if _, err = s.file.WriteAt(content, s.bytes); err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, s.file.Truncate(s.bytes))
	}
	s.bytes += int64(len(content))
	return places, nil
}

func (s *segment) read(at place) (*enginev1.RecordBatch, error) {
	content := make([]byte, at.bytes)
	if _, err := s.file.ReadAt(content, at.at); err != nil {
		return nil, err
	}
	return readBatch(content)
}

// readBatch reads a batch with its head.
func readBatch(content []byte) (*enginev1.RecordBatch, error) {
	batch := new(enginev1.RecordBatch)
	if crc32.Checksum(content[headBytes:], castagnoli) != binary.LittleEndian.Uint32(content) {
		return nil, errors.New("a batch of records on disk is damaged")
	}
	return batch, proto.Unmarshal(content[headBytes:], batch)
}

// openSegments opens the segments in a directory, oldest first. A batch that is not whole was never safe, and ends its
// segment.
func openSegments(dir string) (all []*segment, err error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names { // sorted
		number, err := strconv.ParseUint(strings.TrimSuffix(name.Name(), suffix), 16, 64)
		if err != nil || !strings.HasSuffix(name.Name(), suffix) {
			continue
		}
		opened, err := openSegment(dir, number)
		if err != nil {
			return nil, err
		}
		all = append(all, opened)
	}
	return all, nil
}

func openSegment(dir string, number uint64) (*segment, error) {
	file, err := os.OpenFile(filepath.Join(dir, segmentName(number)), os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s := &segment{number: number, file: file}
	for stream := bufio.NewReader(file); ; {
		batch, bytes := nextBatch(stream)
		if batch == nil {
			break
		}
		kept := newEntry(batch)
		kept.first = cmp.Or(batch.GetFirstNumber(), kept.number)
		kept.batch, kept.segment, kept.place = nil, s, place{s.bytes, bytes}
		s.live = append(s.live, kept)
		s.bytes += bytes
	}
	return s, file.Truncate(s.bytes)
}

// nextBatch reads a batch, and says how many bytes it takes with its head; nil: no whole batch follows. No batch is
// empty: after a power cut, a file can end with zeros.
func nextBatch(stream *bufio.Reader) (batch *enginev1.RecordBatch, bytes int64) {
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(stream, head); err != nil {
		return nil, 0
	}
	length := int(binary.LittleEndian.Uint32(head[4:]))
	if length == 0 || length > batchBytesMax {
		return nil, 0
	}
	content := append(slices.Clip(head), make([]byte, length)...)
	if _, err := io.ReadFull(stream, content[headBytes:]); err != nil {
		return nil, 0
	}
	batch, err := readBatch(content)
	if err != nil {
		return nil, 0
	}
	return batch, int64(len(content))
}

// known are the entries of segments, oldest first. A crash while segments were written anew leaves batches twice, or
// beside the one that stands for them: then those in the newest segment count.
func known(segments []*segment) (all []*entry) {
	type worker struct {
		epoch  uint64
		worker uint32
	}
	from := map[worker]uint64{} // the batches from this number on are known
	for _, one := range slices.Backward(segments) {
		var live []*entry
		first := map[worker]uint64{}
		for _, batch := range one.live {
			of := worker{batch.epoch, batch.worker}
			if least, is := from[of]; is && batch.number >= least {
				continue
			}
			live = append(live, batch)
			if least, is := first[of]; !is || batch.first < least {
				first[of] = batch.first
			}
		}
		for of, number := range first {
			from[of] = number
		}
		one.live = live
		all = append(slices.Clone(live), all...)
	}
	return all
}

// classBytes is how much of a class could go.
func (s *segment) classBytes(class record.Class) (bytes int64) {
	for _, one := range s.live {
		if !one.sent {
			bytes += one.bytes[class]
		}
	}
	return bytes
}

// remove deletes the file of a segment.
func (s *segment) remove(dir string) error {
	return errors.Join(s.file.Close(), os.Remove(filepath.Join(dir, segmentName(s.number))))
}
