package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/logs/wire"
)

const suffix = ".journal"

// fileName names the file whose first entry has this number. Names sort like numbers.
func fileName(first uint64) string { return fmt.Sprintf("%020d%s", first, suffix) }

// firstNumber returns the number in the name of a file; 0: it is no file of a journal.
func firstNumber(name string) uint64 {
	digits, ok := strings.CutSuffix(name, suffix)
	number, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return 0
	}
	return number
}

func listFiles(dir string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range all {
		if firstNumber(entry.Name()) > 0 {
			files = append(files, entry.Name())
		}
	}
	slices.Sort(files)
	return files, nil
}

// An entry is a head of fixed size, the name of the source, and the batch. The checksum is of everything behind it.
const (
	// checksum, bytes behind the head, number, epoch, sequence, bytes of the source
	headBytes      = 4 + 4 + 8 + 8 + 8 + 4
	maxSourceBytes = 128
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (e Entry) append(to []byte) []byte {
	start := len(to)
	to = slices.Grow(to, headBytes+len(e.Origin.Source)+len(e.Batch))
	to = binary.LittleEndian.AppendUint32(to, 0)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(e.Origin.Source)+len(e.Batch)))
	to = binary.LittleEndian.AppendUint64(to, e.Number)
	to = binary.LittleEndian.AppendUint64(to, e.Origin.Epoch)
	to = binary.LittleEndian.AppendUint64(to, e.Origin.Sequence)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(e.Origin.Source)))
	to = append(append(to, e.Origin.Source...), e.Batch...)
	binary.LittleEndian.PutUint32(to[start:], crc32.Checksum(to[start+4:], castagnoli))
	return to
}

// readEntry takes the first entry off content. ok is false if content begins with no whole entry.
func readEntry(content []byte) (entry Entry, rest []byte, ok bool) {
	if len(content) < headBytes {
		return Entry{}, nil, false
	}
	size := int(binary.LittleEndian.Uint32(content[4:]))
	source := int(binary.LittleEndian.Uint32(content[32:]))
	if size > maxSourceBytes+wire.MaxBatchBytes || size > len(content)-headBytes || source > min(size, maxSourceBytes) {
		return Entry{}, nil, false
	}
	whole := content[:headBytes+size]
	if binary.LittleEndian.Uint32(whole) != crc32.Checksum(whole[4:], castagnoli) {
		return Entry{}, nil, false
	}
	return Entry{
		Number: binary.LittleEndian.Uint64(whole[8:]),
		Origin: wire.Origin{
			Source: string(whole[headBytes : headBytes+source]),
			Epoch:  binary.LittleEndian.Uint64(whole[16:]), Sequence: binary.LittleEndian.Uint64(whole[24:]),
		},
		Batch: whole[headBytes+source:],
	}, content[len(whole):], true
}

// readFile gives the entries of a file to each, up to the first one that is not whole, and returns their size. The
// record store begins the next file at 64 MiB, so that a file fits into memory.
func readFile(path string, each func(Entry) error) (bytes int64, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for rest := content; ; {
		entry, behind, ok := readEntry(rest)
		if !ok {
			return int64(len(content) - len(rest)), nil
		}
		if err := each(entry); err != nil {
			return 0, err
		}
		rest = behind
	}
}
