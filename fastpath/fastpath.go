// Package fastpath holds the programs that the kernel of an engine runs on packets before a socket sees them: C
// programs, one folder each, and lib/, the headers that they share. The compiled form of each program, which gen.sh
// makes, is checked in beside it. This package is what Go has to know of lib/. agent/fastpath loads the programs.
package fastpath

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// Headers in front of a packet for another engine (lib/tunnel.h): IP, UDP, and four bytes that say what kind of packet
// it is.
const (
	TunnelOverhead4 = 20 + 8 + 4
	TunnelOverhead6 = 40 + 8 + 4
)

// Load loads a compiled program into the kernel, and puts its maps and programs into a struct of its package. Without
// answerNumberAt (0) programs cannot tell this engine's handshakes from those that another engine has won
// (lib/socket.h).
func Load(compiled func() (*ebpf.CollectionSpec, error), into any, answerNumberAt uint32) error {
	spec, err := compiled()
	if err != nil {
		return err
	}
	if variable := spec.Variables["answer_number_at"]; variable != nil {
		if err := variable.Set(answerNumberAt); err != nil {
			return err
		}
	}
	return spec.LoadAndAssign(into, nil)
}

// AnswerNumberAt finds in the kernel's type information (BTF) where the kernel keeps the initial sequence number of its
// answer to a SYN. It takes 35 ms.
func AnswerNumberAt() (offset uint32, err error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return 0, err
	}
	var request *btf.Struct
	if err := kernel.TypeByName("tcp_request_sock", &request); err != nil {
		return 0, err
	}
	at := slices.IndexFunc(request.Members, func(m btf.Member) bool { return m.Name == "snt_isn" })
	if at < 0 {
		return 0, fmt.Errorf("%s has no snt_isn", request.Name)
	}
	return request.Members[at].Offset.Bytes(), nil
}
