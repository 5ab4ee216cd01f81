// Package fastpath is what an engine has the kernel do with packets before a socket sees them: programs in C, a folder
// each, and lib/, the headers that they share. Beside each program is its compiled form, which gen.sh makes and which
// is checked in; here is what Go has to know of lib/. agent/fastpath loads the programs.
package fastpath

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// What an engine puts before a packet for another one (lib/tunnel.h): IP, UDP, and four bytes that say what it is.
const (
	TunnelOverhead4 = 20 + 8 + 4
	TunnelOverhead6 = 40 + 8 + 4
)

// Load has the kernel take a compiled program, whose objects go into a struct of its package. Without answerNumberAt
// (0) programs cannot tell a handshake that another engine has won from one of this engine's (lib/socket.h).
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

// AnswerNumberAt reads out of the kernel's description of itself (BTF) where it keeps the number that its answer to a
// client's first packet began with. It takes 35 ms.
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
