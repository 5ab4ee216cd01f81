package fastpath

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"
)

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

// Load has the kernel take the programs. Without answerNumberAt (0) they cannot tell a handshake that another engine has won
// from one of this engine's.
func (o *DetourObjects) Load(answerNumberAt uint32) error {
	spec, err := LoadDetour()
	if err != nil {
		return err
	}
	if err := spec.Variables[DetourVarAnswerNumberAt].Set(answerNumberAt); err != nil {
		return err
	}
	return spec.LoadAndAssign(o, nil)
}
